import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { useBrowser } from "../../support/browser.ts";
import { portalVisits } from "../../support/portal-pages.ts";
import { usePortalSite } from "../../support/portal-site.ts";

/** What became of messages, in the portal: brought in as a file or a text, and shown by what had been answered. */
const site = usePortalSite();
const browser = useBrowser();
const visits = portalVisits(site, browser);

/** A team that has reported enough to tell, with answers that were wrong. */
async function reportingTeam(): Promise<string> {
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
}

const rowOf = (table: string, words: RegExp) => ({ table, words });

describe("the page Accuracy", () => {
  it("says how to begin where nothing was reported, then counts what is pasted and brought as a file", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await visits.open({ session, path: "/accuracy" });
    await page.getByText("Nothing has been reported").waitFor();
    await page.getByText("rcpt feedback bounces.mbox").waitFor();
    await page.getByLabel("The file or text").selectOption("bounced");
    await page.getByLabel("Or paste").fill("jane@customer.example\njoe@customer.example");
    await page.getByRole("button", { name: "Report" }).click();
    await page.getByText("2 counted, 0 known before, 0 ignored.").waitFor();
    await page.getByRole("region", { name: "By verdict" }).getByText("Not reported").waitFor();
    assert.equal(await page.getByLabel("Or paste").inputValue(), "");
    await page.getByLabel("The file or text").selectOption("");
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
