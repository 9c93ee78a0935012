import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { useBrowser } from "../../support/browser.ts";
import { portalVisits } from "../../support/portal-pages.ts";
import { newPerson, usePortalSite } from "../../support/portal-site.ts";
import { until } from "../../support/until.ts";

/** Many domains at once in the portal: disposable overrides and the blocklist. */
const site = usePortalSite();
const browser = useBrowser();
const visits = portalVisits(site, browser);
const HOSTILE = "<img/src=x/onerror=document.title=1>";

const open = (session: string, path: string) => visits.open({ session, path });
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `number-${i}.example`);

describe("disposable overrides", () => {
  it("are pasted, told apart, merged, found and taken back", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await open(session, "/overrides");
    await page.getByText("No domain has been submitted.").waitFor();
    const wrong = Array.from({ length: 25 }, (_, i) => `no_domain${i}`);
    const pasted = [...numbered(510), "Number-1.Example.", HOSTILE, ...wrong, "münchen.example"];
    await page.getByRole("textbox", { name: "Domains" }).fill(pasted.join("\n"));
    await page.getByRole("button", { name: "Submit" }).click();
    await page.getByText("511 new, 1 known already, 26 not taken.").waitFor();
    await page.getByRole("region", { name: "Not taken" }).getByText(HOSTILE).waitFor();
    const left = await page.getByRole("textbox", { name: "Domains" }).inputValue();
    assert.deepEqual(left.split("\n").sort(), [HOSTILE, ...wrong].sort());
    assert.match(await page.title(), / · rcpt$/);
    await page.getByText("All of them are in effect.").waitFor();
    const rows = page.getByRole("region", { name: "Overrides", exact: true }).locator("tbody tr");
    await page.getByRole("button", { name: "Older ones" }).waitFor();
    await until("those shown count", async () => (await rows.getByText("in effect").count()) === 100);
    await page.getByLabel(/^Find a domain/).fill("München");
    await page.getByText("1 found.").waitFor();
    const row = rows.filter({ hasText: "xn--mnchen-3ya.example" });
    await row.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click();
    await page.getByText("0 found.").waitFor();
    await page.getByLabel(/^Find a domain/).fill("number-0.");
    await page.getByText("1 found.").waitFor();
    const answer = await site.api.verify(session, "jane@number-0.example");
    assert.equal(answer.body.reason, "disposable_domain");
  });

  it("are for owners alone, and others are told", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    for (const role of ["member", "admin"] as const) {
      const page = await open(await site.member(session, newPerson(), role), "/overrides");
      await page.getByText(`your role is ${role}`).waitFor();
      assert.equal(await page.getByRole("button", { name: "Submit" }).count(), 0);
    }
  });

  it("look well", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const domains = ["throwaway.example", `${"long-".repeat(12)}x.example`];
    await site.api.send("POST", "/v1/admin/disposable", { key: session, body: { domains } });
    await visits.lookInAll({ session, path: "/overrides" }, "overrides", async (page) => {
      await page.getByText("All of them are in effect.").waitFor();
      await page.getByRole("textbox", { name: "Domains" }).fill("throwaway.example\nno_domain");
      await page.getByRole("button", { name: "Submit" }).click();
      await page.getByText("0 new, 1 known already, 1 not taken.").waitFor();
    });
  });
});

describe("the blocklist", () => {
  it("looks well", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const domain = `${"long-".repeat(12)}x.example`;
    await site.api.send("POST", "/v1/blocklist", { key: session, body: { domain } });
    await visits.lookInAll({ session, path: "/blocklist" }, "blocklist-many", async (page) => {
      await page.getByRole("textbox", { name: "Domains" }).fill(`${domain} no_domain`);
      await page.getByRole("button", { name: "Block", exact: true }).click();
      await page.getByText("0 blocked, 1 blocked already, 1 not taken.").waitFor();
    });
  });

  it("takes many domains, no faster than the API does, and finds one", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.deployment.team("pro_plus", { writesPerS: 1, writesBurst: 3 });
    await site.api.send("POST", "/v1/blocklist", { key: session, body: { domain: "number-3.example" } });
    const page = await open(session, "/blocklist");
    let refused = 0;
    page.on("response", (response) => {
      if (response.status() === 429) refused += 1;
    });
    await page.getByRole("textbox", { name: "Domains" }).fill(`${numbered(6).join(", ")} ${HOSTILE}`);
    await page.getByRole("button", { name: "Block", exact: true }).click();
    await page.getByText("5 blocked, 1 blocked already, 1 not taken.").waitFor();
    assert.ok(refused > 0);
    await page.getByRole("region", { name: "Not taken" }).getByText(HOSTILE).waitFor();
    assert.match(await page.title(), / · rcpt$/);
    await page.getByLabel(/^Find a domain/).fill("number-5");
    await page.getByText("1 found.").waitFor();
    assert.equal(await page.getByRole("row").filter({ hasText: "number-4" }).count(), 0);
  });
});
