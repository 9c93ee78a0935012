import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { useBrowser } from "../../support/browser.ts";
import { portalVisits } from "../../support/portal-pages.ts";
import { usePortalSite } from "../../support/portal-site.ts";

/** The first page: calls that give the same as it, and what leads an account that is still empty. */
const site = usePortalSite();
const browser = useBrowser();
const visits = portalVisits(site, browser);
const run = promisify(execFile);

async function verify(page: Page, email: string): Promise<void> {
  await page.getByLabel("Address").fill(email);
  await page.getByRole("button", { name: "Verify", exact: true }).click();
  await page.getByRole("region", { name: "Result" }).waitFor();
}

describe("the calls beside a verdict", () => {
  it("give the same as the page, as they are printed", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await visits.open({ session, path: "/verify" });
    await verify(page, `o'"\`\${x}neil@plain.test`);
    const shown = await page.getByRole("region", { name: "Result" }).locator("code").first().textContent();
    const printed = async (language: string) => {
      await page.getByLabel("With").selectOption(language);
      return (await page.locator("pre").textContent()) ?? "";
    };
    const env = { ...process.env, RCPT_KEY: session };
    const folder = mkdtempSync(join(tmpdir(), "rcpt-call-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const typeScript = join(folder, "call.mts");
    writeFileSync(typeScript, await printed("TypeScript"));
    const answer = await run(process.execPath, ["--import", "tsx", typeScript], { env });
    assert.match(answer.stdout, new RegExp(`^\\w+ ${shown}\n$`));
    assert.match(await printed("curl"), /^curl -G /);
    const python = await printed("Python");
    if (spawnSync("python3", ["--version"]).status !== 0)
      return t.diagnostic("no python3: that call was not run");
    assert.equal((await run("python3", ["-c", python], { env })).stdout, answer.stdout);
  });
});

describe("the first page", () => {
  it("is at most 200 KB of script, compressed", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await visits.open({ session, path: "/verify" });
    await page.getByLabel("Address").waitFor();
    await page.waitForLoadState("networkidle");
    const bytes = await page.evaluate(() =>
      (performance.getEntriesByType("resource") as unknown as { name: string; encodedBodySize: number }[])
        .filter(({ name }) => name.endsWith(".js"))
        .map(({ encodedBodySize }) => encodedBodySize),
    );
    const sum = bytes.reduce((total, each) => total + each, 0);
    t.diagnostic(`${sum} bytes in ${bytes.length} files`);
    assert.ok(sum > 50_000 && sum <= 200_000, `${sum} bytes`);
  });
});

describe("the first steps", () => {
  const steps = (page: Page) => page.getByRole("region", { name: "First steps" });
  const step = (page: Page, text: string) => steps(page).getByRole("listitem").filter({ hasText: text });

  it("tick themselves, and go when all are done", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session, teamId } = await site.owner();
    await site.deployment.sql`delete from api_keys where team_id = ${teamId}`;
    const page = await visits.open({ session, path: "/verify" });
    await step(page, "Make a key").getByText("to do").waitFor();
    await verify(page, "exists@plain.test");
    await step(page, "Verify an address").getByText("done").waitFor();
    const key = await site.api.send<{ secret: string }>("POST", "/v1/keys", {
      key: session,
      body: { label: "first", env: "test" },
    });
    await site.api.send("POST", "/v1/verify/bulk", { key: session, body: { emails: ["exists@plain.test"] } });
    await page.reload();
    await step(page, "Make a key").getByText("done").waitFor();
    await step(page, "Verify a list").getByText("done").waitFor();
    await step(page, "Call the API").getByText("to do").waitFor();
    await site.api.verify(key.body.secret, "valid@example.com");
    await site.deployment.sql`update api_keys set last_used_at = now() where team_id = ${teamId}`;
    await page.reload();
    await page.getByLabel("Address").fill("shown");
    await page.waitForLoadState("networkidle");
    assert.equal(await steps(page).count(), 0);
  });

  it("are hidden by who does not want them, and stay so", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner("free");
    const page = await visits.open({ session, path: "/verify" });
    await steps(page).waitFor();
    assert.equal(await step(page, "Verify a list").count(), 0);
    await steps(page).getByRole("button", { name: "Hide" }).click();
    await steps(page).waitFor({ state: "detached" });
    await page.reload();
    await page.waitForLoadState("networkidle");
    assert.equal(await steps(page).count(), 0);
  });

  it("look well", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    await visits.lookInAll({ session, path: "/verify" }, "first-steps", (page) => steps(page).waitFor());
  });
});
