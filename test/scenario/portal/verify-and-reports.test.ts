import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { CLIENT } from "../../../scripts/image/client.ts";
import { useBrowser } from "../../support/browser.ts";
import { HAS_CURL } from "../../support/guide.ts";
import { portalVisits } from "../../support/portal-pages.ts";
import { newPerson, usePortalSite } from "../../support/portal-site.ts";
import { until } from "../../support/until.ts";

/** Single addresses and what teams see of many: the first page, the usage by day, and the accuracy by what became of messages. */
const site = usePortalSite();
const browser = useBrowser();
const visits = portalVisits(site, browser);

const run = promisify(execFile);

/** Programs in any folder are run from their TypeScript. */
const TSX = createRequire(import.meta.url).resolve("tsx");

/** The client library as a program in that folder finds it. */
function installClient(folder: string): void {
  const installed = join(folder, "node_modules/@rcpt/client");
  mkdirSync(installed, { recursive: true });
  writeFileSync(
    join(installed, "package.json"),
    JSON.stringify({ type: "module", exports: "./src/index.ts" }),
  );
  symlinkSync(join(CLIENT, "src"), join(installed, "src"));
}

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
    installClient(folder);
    const typeScript = join(folder, "call.mts");
    writeFileSync(typeScript, await printed("TypeScript"));
    const answer = await run(process.execPath, ["--import", TSX, typeScript], { env });
    assert.match(answer.stdout, new RegExp(`^\\w+ ${shown}\n$`));
    await page.getByRole("link", { name: "client library" }).waitFor();
    const curl = await printed("curl");
    if (HAS_CURL) {
      const body = JSON.parse((await run("sh", ["-c", curl], { env })).stdout);
      // As the page asked, with the server's reply.
      assert.deepEqual([body.reason, "evidence" in body], [shown, true]);
    } else t.diagnostic("no curl: that call was not run");
    const python = await printed("Python");
    if (spawnSync("python3", ["--version"]).status === 0)
      assert.equal((await run("python3", ["-c", python], { env })).stdout, answer.stdout);
    else t.diagnostic("no python3: that call was not run");
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
    // With the keys of bootstrap, which nobody has seen.
    const { session, teamId } = await site.owner();
    const page = await visits.open({ session, path: "/verify" });
    await steps(page).waitFor();
    const states = () => steps(page).getByRole("listitem").locator(".badge").allTextContents();
    assert.deepEqual(await states(), ["to do", "to do", "to do", "to do"]);
    await step(page, "Make a test key").getByRole("link").click();
    await page.getByLabel("Name").fill("first");
    assert.equal(await page.getByLabel("Kind").inputValue(), "test");
    await page.getByRole("button", { name: "Make the key" }).click();
    const call = page.getByRole("region", { name: "A call with it" }).locator("pre");
    assert.match((await call.textContent()) ?? "", /email=valid@example\.com/);
    await site.api.send("POST", "/v1/verify/bulk", { key: session, body: { emails: ["exists@plain.test"] } });
    await page.goto(`${site.url}/verify`);
    await step(page, "Make a test key").getByText("done").waitFor();
    assert.deepEqual(await states(), ["done", "to do", "done", "to do"]);
    const use = (env: "live" | "test") => site.deployment.sql`
      update api_keys set last_used_at = now() where team_id = ${teamId} and env = ${env}`;
    await use("test");
    await page.reload();
    await step(page, "Verify valid@example.com").getByText("done").waitFor();
    await step(page, "Call the API").getByText("to do").waitFor();
    await use("live");
    await page.reload();
    await page.getByLabel("Address").fill("shown");
    await page.waitForLoadState("networkidle");
    assert.equal(await steps(page).count(), 0);
  });

  it("count a key of bootstrap once it is used, and begin with an address for members", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session, teamId } = await site.owner();
    await site.deployment
      .sql`update api_keys set last_used_at = now() where team_id = ${teamId} and env = 'test'`;
    const page = await visits.open({ session, path: "/verify" });
    await step(page, "Make a test key").getByText("done").waitFor();
    await step(page, "Verify valid@example.com").getByText("done").waitFor();
    const member = await site.member(session, newPerson(), "member");
    const other = await visits.open({ session: member, path: "/verify" });
    await step(other, "Verify an address").getByText("to do").waitFor();
    assert.equal(await step(other, "Make a test key").count(), 0);
    await verify(other, "exists@plain.test");
    await step(other, "Verify an address").getByText("done").waitFor();
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

/** Made by the first test that asks, for all that only look at it. */
function once(make: () => Promise<string>): () => Promise<string> {
  let made: Promise<string> | null = null;
  return () => {
    made ??= make();
    return made;
  };
}

/** A team that used every day of the last year, and was charged 90 units on each before today. */
const busyTeam = once(async () => {
  const { session, teamId } = await site.owner();
  await site.deployment.sql`
    insert into usage_days (team_id, day, single, bulk, cached, valid, invalid, risky, unknown)
    select ${teamId}, (now() at time zone 'UTC')::date - i, 40, 60, 10, 50, 25, 15, 10 from generate_series(0, 364) as i`;
  await site.deployment.sql`
    insert into quota_days (team_id, day, used)
    select ${teamId}, (now() at time zone 'UTC')::date - i, 90 from generate_series(1, 364) as i`;
  return session;
});

const chart = (page: Page, name: string) => page.getByRole("figure", { name });
/** How many parts of bars are drawn. */
const parts = (page: Page, name: string) => chart(page, name).locator("path.recharts-rectangle");

describe("the charts of the usage", () => {
  it("show each day, or each week of a year, by verdict and by way", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const page = await visits.open({ session: await busyTeam(), path: "/usage" });
    await until("30 days of 4 verdicts", async () => (await parts(page, "Verdicts by day").count()) === 120);
    const ways = parts(page, "Where they came from, by day");
    await until("30 days of 3 ways", async () => (await ways.count()) === 90);
    await page.getByText("2,610 units were charged in these days.").waitFor();
    await page.getByLabel("Days").selectOption("365");
    await until("53 weeks", async () => (await parts(page, "Verdicts by week").count()) === 212);
    await until("365 days", async () => (await page.getByRole("row").count()) === 366);
    // What is there stays where it cannot be read again.
    await page.route("**/v1/usage/history*", (route) => route.fulfill({ status: 403, body: "" }));
    await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
    await page.getByRole("alert").getByText("The service answered 403.").waitFor();
    assert.equal(await page.getByRole("row").count(), 366);
    await page.unrouteAll();
    await page.route(/assets\/charts-/, (route) => route.abort());
    // Once more by itself.
    const loads = page.waitForEvent("domcontentloaded").then(() => page.waitForEvent("domcontentloaded"));
    await page.reload({ waitUntil: "commit" });
    await loads;
    const again = page.getByRole("button", { name: "Load the page again" });
    await again.waitFor();
    await page.unrouteAll();
    await again.click();
    await until("the charts are drawn", async () => (await parts(page, "Verdicts by day").count()) === 120);
  });

  it("are gone through by keyboard", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const page = await visits.open({ session: await busyTeam(), path: "/usage" });
    const verdicts = chart(page, "Verdicts by day");
    await verdicts.getByRole("application").focus();
    await page.keyboard.press("ArrowRight");
    await verdicts.locator(".recharts-tooltip-wrapper").getByText("Invalid : 25").waitFor();
  });

  it("are not there where nothing was used", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await visits.open({ session, path: "/usage" });
    await page.getByText("Day (UTC)").waitFor();
    assert.equal(await page.getByRole("figure").count(), 0);
  });

  it("look well", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    await visits.lookInAll({ session: await busyTeam(), path: "/usage" }, "usage-charts", async (page) => {
      await until("30 days", async () => (await parts(page, "Verdicts by day").count()) === 120);
    });
  });
});

/** A team that has reported enough to tell, with answers that were wrong. */
const reportingTeam = once(async () => {
  const { session } = await site.owner();
  const many = (count: number, name: string, event: object) =>
    Array.from({ length: count }, (_, i) => ({ address: `${name}${i}@customer.example`, ...event }));
  const valid = { verdict: "valid", reason: "accepted_mailbox", provider: "google" };
  const gone = { outcome: "bounced", reply: "550 5.1.1 User unknown" };
  const events = [
    ...many(195, "good", { outcome: "delivered", ...valid }),
    ...many(5, "gone", { ...gone, ...valid, rule: "rcpt.accepted" }),
    ...many(2, "full", { outcome: "bounced", reply: "552 5.2.2 mailbox full", ...valid }),
    ...many(1, "angry", { outcome: "complained", ...valid }),
    ...many(12, "maybe", {
      outcome: "delivered",
      verdict: "risky",
      reason: "catch_all",
      provider: "microsoft365",
    }),
    ...many(2, "there", {
      ...{ outcome: "delivered", verdict: "invalid", reason: "mailbox_not_found", rule: "text.unknown" },
    }),
    ...many(40, "unasked", gone),
  ];
  const { status } = await site.api.send("POST", "/v1/feedback", { key: session, body: { events } });
  assert.equal(status, 200);
  return session;
});

const rowOf = (table: string, words: RegExp) => ({ table, words });

describe("the page Accuracy", () => {
  it("says how to begin where nothing was reported, then counts what is pasted and brought as a file", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await visits.open({ session, path: "/accuracy" });
    await page.getByText("Nothing has been reported").waitFor();
    await page.getByText("rcpt feedback bounces.mbox").waitFor();
    await page.getByLabel("Outcome").selectOption("bounced");
    await page.getByLabel("Or paste").fill("jane@customer.example\njoe@customer.example");
    await page.getByRole("button", { name: "Report" }).click();
    await page.getByText("2 counted, 0 known before, 0 ignored.").waitFor();
    await page.getByRole("region", { name: "By verdict" }).getByText("Not reported").waitFor();
    assert.equal(await page.getByLabel("Or paste").inputValue(), "");
    await page.getByLabel("Outcome").selectOption("");
    await page.getByLabel("Drop a file of bounces here").setInputFiles({
      name: "bounces.csv",
      mimeType: "text/csv",
      buffer: Buffer.from(
        "email,status,rcpt_verdict\njane@customer.example,bounced,valid\nann@customer.example,delivered,valid\n",
      ),
    });
    await page.getByText("1 counted, 1 known before, 0 ignored.").waitFor();
    await page.getByRole("region", { name: "By verdict" }).getByText("Valid").waitFor();
  });

  it("says what is wrong with a file", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await visits.open({ session, path: "/accuracy" });
    await page.getByLabel("Or paste").fill("jane@customer.example");
    await page.getByRole("button", { name: "Report" }).click();
    await page
      .getByRole("alert")
      .getByText(/has no column that says what became of the messages/)
      .waitFor();
    assert.equal(await page.getByLabel("Or paste").inputValue(), "jane@customer.example");
  });

  it("shows rates where there are enough messages, and which answers were wrong", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const page = await visits.open({ session: await reportingTeam(), path: "/accuracy" });
    for (const { table, words } of [
      rowOf("By verdict", /^Valid2021957512\.5%$/),
      rowOf("By verdict", /^Risky1212000too few to tell$/),
      rowOf("Each reason and provider", /^Not reported––4004040/),
      rowOf(
        "Wrong answers",
        /^Validaccepted_mailboxgoogleIt bounced: mailbox_not_foundrcpt\.acceptedenhanced\.unknown_said_so5$/,
      ),
      rowOf("Wrong answers", /^Invalidmailbox_not_found–It was deliveredtext\.unknown–2$/),
    ])
      await page.getByRole("region", { name: table }).locator("tr").filter({ hasText: words }).waitFor();
    await page.getByLabel("Days").selectOption("7");
    await page.getByRole("region", { name: "Wrong answers" }).waitFor();
  });

  it("looks well, empty and full", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    await visits.lookInAll({ session, path: "/accuracy" }, "accuracy-empty", (page) =>
      page.getByText("Nothing has been reported").waitFor(),
    );
    await visits.lookInAll({ session: await reportingTeam(), path: "/accuracy" }, "accuracy", (page) =>
      page.getByRole("region", { name: "Wrong answers" }).waitFor(),
    );
  });
});
