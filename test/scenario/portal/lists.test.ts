import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import type { Page, Route } from "playwright-core";
import { useBrowser } from "../../support/browser.ts";
import { ended } from "../../support/bulk.ts";
import { submitAs, uploaded } from "../../support/bulk-files.ts";
import { lookInThemes, portalVisits } from "../../support/portal-pages.ts";
import { usePortalSite } from "../../support/portal-site.ts";
import { until } from "../../support/until.ts";

/** Lists in the portal: the jobs of a team, one of them, and its results. */
const site = usePortalSite({ lists: true });
const browser = useBrowser();
const { open, signedIn } = portalVisits(site, browser);

const HOSTILE_NAME = '<img src=x onerror="document.title=1">\u202evsc.csv';
const HOSTILE_CELL = '<img src=x onerror="document.title=2">@plain.test';

async function openLists(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Lists", exact: true }).click();
  await page.getByRole("heading", { name: "Lists" }).waitFor();
}

/** The quote of its second row, at byte 53, is never closed. */
const OPEN_QUOTE = 'email,note\nexists@plain.test,fine\nmissing@plain.test,"never\nexists-2@plain.test,x,y\n';

/** Its mail is taken by a server that is called as Google's. */
function atGoogle(domain: string): void {
  const { dns, host } = site.deployment.world;
  dns.set(domain, { mx: [[5, "gmail-smtp-in.l.google.com"]] });
  dns.set("gmail-smtp-in.l.google.com", { a: [host("mx.multiline.test").address] });
}

/** Answers a request as the API would refuse it. */
function refuse(
  route: Route,
  { status, ...problem }: { status: number; code: string; detail: string },
): Promise<void> {
  const contentType = "application/problem+json";
  return route.fulfill({
    status,
    contentType,
    headers: { "Retry-After": "0" },
    body: JSON.stringify(problem),
  });
}

/** As if the tab of the page were hidden, or shown again. */
async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(`Object.defineProperty(document, "hidden", { configurable: true, value: ${isHidden} });
    document.dispatchEvent(new Event("visibilitychange"));`);
}

/** Submits a file by the API. @returns the job's id */
async function submitFile(key: string, content: string, filename = "list.csv"): Promise<string> {
  const upload_id = await uploaded(site.api, key, content, encodeURIComponent(filename));
  const { status, body } = await submitAs(site.api, key, { upload_id });
  assert.equal(status, 202, JSON.stringify(body));
  return body.id;
}

describe("the lists of a team", () => {
  it("begin with pasted addresses, and end with results", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page } = await signedIn(session);
    atGoogle("gmail.com");
    await openLists(page);
    await page.getByRole("link", { name: "Verify your first list" }).click();
    await page
      .getByRole("textbox", { name: "Addresses" })
      .fill(
        "exists@plain.test\nDoe, Jane <missing@plain.test>\n\nexists@plain.test, exists@nullmx.test, exists@gmail.com\nnothing",
      );
    await page.getByText("6 addresses, 5 of them different").waitFor();
    // The answer to the first attempt is lost, and the service still works on it when it is tried again.
    const keys: (string | undefined)[] = [];
    await page.route("**/v1/verify/bulk", async (route) => {
      keys.push(route.request().headers()["idempotency-key"]);
      if (keys.length > 2) return route.continue();
      if (keys.length === 2)
        return refuse(route, { status: 409, code: "idempotency_in_flight", detail: "It is running." });
      await route.fetch();
      return route.abort("connectionreset");
    });
    await page.getByRole("button", { name: "Verify 6" }).click();
    await page.getByText("The service cannot be reached.").waitFor();
    await page.getByRole("button", { name: "Verify 6" }).click();
    await page.waitForURL(/\/lists\/job_\w+$/);
    assert.deepEqual([keys.length, new Set(keys).size], [3, 1]);
    await page.getByText("Completed").first().waitFor();
    const results = page.getByRole("region", { name: "Results", exact: true });
    const rowOf = (text: string) => results.getByRole("row").filter({ hasText: text });
    await rowOf("exists@plain.test").first().getByText("Valid").waitFor();
    await rowOf("missing@plain.test").getByText("there is no such mailbox").waitFor();
    await rowOf("repeats row 1").waitFor();
    assert.equal(await results.getByRole("row").count(), 7);
    await page.getByText("3 units", { exact: true }).waitFor();
    const providers = page.getByRole("region", { name: "Rows by provider" }).locator("tbody tr");
    const told = "Others, or none52300, google10001";
    await until(told, async () => (await providers.allTextContents()).join(", ") === told);

    await page.getByText("1 row repeats an address. It is included").waitFor();
    // Reasons of these rows alone are offered.
    const reasons = await page.getByLabel("Reason").locator("option").allTextContents();
    assert.deepEqual(reasons, [
      "all",
      "This is no mail address.",
      "The domain says that it takes no mail.",
      "Its mail server says: there is no such mailbox.",
      "Its mail server put us off, or broke off.",
      "Its mail server accepts this address, and refused one that cannot exist.",
    ]);
    await page.getByLabel("Reason").selectOption("null_mx");
    await rowOf("The domain says that it takes no mail.").waitFor();
    await rowOf("there is no such mailbox").waitFor({ state: "detached" });
    assert.equal(await results.getByRole("row").count(), 2);
    await page.getByRole("link", { name: "Download all rows like these as CSV" }).waitFor();
    await page.getByLabel("Reason").selectOption("all");
    await page.getByLabel("Provider", { exact: true }).selectOption("google (1)");
    await rowOf("missing@plain.test").waitFor({ state: "detached" });
    assert.equal(await results.getByRole("row").count(), 2);
    await page.getByLabel("Provider", { exact: true }).selectOption("others, or none (5)");
    await rowOf("missing@plain.test").waitFor();
    assert.equal(await results.getByRole("row").count(), 6);
    await page.getByLabel("Provider", { exact: true }).selectOption("all");
    await page.getByLabel("Reason").selectOption("null_mx");
    await page.getByLabel("Verdict").selectOption("valid");
    await results.getByText("No row is like that.").waitFor();
    await page.getByLabel("Reason").selectOption("all");
    await results.getByText("repeats row 1").waitFor();
    assert.equal(await results.getByRole("row").count(), 3);

    // As of a job that a version without this count answered.
    await site.deployment.sql`delete from job_providers`;
    await page.reload();
    await results.getByText("repeats row 1").waitFor();
    await page.getByRole("region", { name: "By provider" }).waitFor({ state: "detached" });

    const downloads = page.getByRole("region", { name: "Download", exact: true });
    const asked = /\/results\?format=jsonl&limit=1$/;
    const detail = "The team has 8 downloads of results under way here.";
    await page.route(asked, (route) => refuse(route, { status: 429, code: "rate_limited", detail }));
    const link = downloads.getByRole("link", { name: "Valid as CSV", exact: true });
    await link.click();
    await downloads.getByRole("alert").getByText(detail).waitFor();
    await downloads.getByText("Other downloads of the team may be running").waitFor();
    await page.unroute(asked);
    const saved = page.waitForEvent("download");
    await link.click();
    await downloads.getByRole("alert").waitFor({ state: "detached" });
    assert.match((await saved).suggestedFilename(), /^job_\w+-valid\.csv$/);
    const text = readFileSync(await (await saved).path(), "utf8");
    assert.match(text, /^email,rcpt_verdict,.*\r\nexists@plain\.test,valid,/);
    assert.equal(text.trimEnd().split("\r\n").length, 3);

    // In a narrow window a row has all in one column, and nothing has to be scrolled.
    await page.setViewportSize({ width: 360, height: 900 });
    const narrow = page.getByRole("region", { name: "Results by row" });
    await narrow
      .getByRole("rowheader", {
        name: /^Invalid missing@plain\.test|^Invalid Doe, Jane <missing@plain\.test>/,
      })
      .waitFor();
    assert.equal(await narrow.evaluate((table) => table.scrollWidth - table.clientWidth), 0);

    await openLists(page);
    const line = page.getByRole("row").filter({ hasText: "Pasted addresses" });
    await line.getByText("Completed").waitFor();
    await line.getByRole("img", { name: /^Valid 33\.3%/ }).waitFor();
    await line.getByText("33.3% valid", { exact: true }).waitFor();
  });

  it("show names and cells of strangers as text", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const cells = [HOSTILE_CELL, "=cmd|'/C calc'!A0", "\u202emoc.elpmaxe@eno"];
    const csv = `email\r\n${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join("\r\n")}\r\nexists@plain.test\r\n`;
    await submitFile(session, csv, HOSTILE_NAME);
    const { page, context } = await signedIn(session);
    await openLists(page);
    await page.getByRole("link", { name: /onerror/ }).click();
    await page.getByText("Completed").first().waitFor();
    for (const cell of [HOSTILE_CELL, "=cmd|'/C calc'!A0", "\ufffdmoc.elpmaxe@eno"])
      await page.getByRole("row").filter({ hasText: cell }).waitFor();
    assert.match(await page.title(), /onerror.* · rcpt$/);
    assert.equal(await page.locator("main img").count(), 0);
    const saved = page.waitForEvent("download");
    await page.getByRole("link", { name: "Valid as CSV", exact: true }).click();
    assert.equal((await saved).suggestedFilename(), "img src=x onerror= document.title=1 vsc-valid.csv");

    // A file that is refused although the page has asked for it does not replace the page.
    await page.route(/\/results\?format=jsonl&limit=1$/, (route) => route.fulfill({ body: "" }));
    await context.clearCookies();
    const refused = page.waitForEvent("download");
    await page.getByRole("link", { name: "Valid as CSV", exact: true }).click();
    assert.equal(await (await refused).failure(), "canceled");
    assert.equal(await page.getByRole("heading", { name: "Results" }).count(), 1);
  });

  it("say in which row and at which byte a quote is open, and offer to read the file otherwise", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const id = await submitFile(session, OPEN_QUOTE, "notes.csv");
    const page = await open({ session, path: `/lists/${id}` });
    const reason = page.getByRole("region", { name: "Why it failed" });
    await reason.getByText("A quoted field is not closed.").waitFor();
    await reason.getByText(/^The quote at byte 53, in row 2, is never closed/).waitFor();
    await reason.getByText("quote_not_closed", { exact: true }).waitFor();
    await reason.getByRole("link", { name: "Look at the preview" }).click();
    // The preview says the same, with the ways to read the file otherwise at hand.
    await page.getByText("A quoted field is not closed.").waitFor();
    await page.getByLabel("Encoding").waitFor();
  });

  it("say why one failed, and lead to the way on", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const rows = Array.from({ length: 40 }, (_, i) => `work${i}@plain.test,home${i}@plain.test`);
    await submitFile(session, `Work Email,Home Email\n${rows.join("\n")}\n`);
    const { page } = await signedIn(session);
    await openLists(page);
    await page.getByRole("link", { name: "list.csv" }).click();
    await page.getByText("Several columns may hold the addresses to verify.").waitFor();
    await page.getByRole("link", { name: "Verify Home Email" }).waitFor();
    await page.getByRole("link", { name: "Verify Work Email" }).click();
    await page.getByText("Addresses are read from Work Email: your choice.").waitFor();
    await page.getByRole("button", { name: "Verify 40 rows" }).click();
    await page.getByText("Completed").first().waitFor();
    await page.getByRole("row").filter({ hasText: "work39@plain.test" }).waitFor();

    // The file goes with the last of its lists.
    await page.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("alertdialog");
    await dialog.getByText("The uploaded file stays: 1 other list was made of it.").waitFor();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("link", { name: "list.csv" }).click();
    await page.getByRole("heading", { name: "Why it failed" }).waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    assert.equal(await dialog.getByLabel("Also delete the uploaded file").isChecked(), true);

    // Another list is made of the file while the dialog is open.
    const { body: before } = await site.api.send<{ data: { id: string }[] }>("GET", "/v1/uploads", {
      key: session,
    });
    const again = await site.api.send<{ id: string }>("POST", "/v1/verify/bulk", {
      key: session,
      body: { upload_id: before.data[0]?.id, email_column: 1 },
    });
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.getByText("Nothing was deleted: meanwhile another list was made of the file.").waitFor();
    await dialog.getByText("The uploaded file stays: 1 other list was made of it.").waitFor();
    await ended(site.api, session, again.body.id);
    await site.api.send("DELETE", `/v1/bulk-jobs/${again.body.id}`, { key: session });
    await page.reload();
    await page.getByRole("button", { name: "Delete" }).click();
    await dialog.getByLabel("Also delete the uploaded file").waitFor();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByText("No list was verified yet.").waitFor();
    const { body } = await site.api.send<{ data: unknown[] }>("GET", "/v1/uploads", { key: session });
    assert.deepEqual(body.data, []);
  });

  it("say what is left of the day where it is too little", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.deployment.team("pro_plus", { dailyQuota: 12 });
    const rows = Array.from({ length: 10 }, (_, i) => `exists-${i}@plain.test`);
    const csv = `email\n${rows.join("\n")}\n`;
    const first = await ended(site.api, session, await submitFile(session, csv));
    assert.equal(first.units, 10);
    const id = await submitFile(session, csv);
    const page = await open({ session, path: `/lists/${id}` });
    await page.getByText("The list needs more units than today's quota has left.").waitFor();
    await page.getByText(/^2 of 12 units are left today; the next day begins/).waitFor();
    await page.getByRole("link", { name: "Look at the preview" }).click();
    await page.getByText(/^That is more than is left today/).waitFor();
    // Of pasted addresses there is no file to go back to.
    await page.route(`**/v1/bulk-jobs/${id}`, async (route) => {
      const response = await route.fetch();
      const job = { ...(await response.json()), source: { type: "inline", columns: null, warnings: [] } };
      await route.fulfill({ response, json: job });
    });
    await page.goto(`${site.url}/lists/${id}`);
    await page.getByText("To verify them again, paste the addresses once more.").waitFor();
    await page.getByRole("link", { name: "New list" }).click();
    await page.getByRole("textbox", { name: "Addresses" }).fill(rows.join("\n"));
    await page.getByText(/^Costs 10 units at most\. 2 of 12 units are left today/).waitFor();
  });

  it("are cancelled and deleted on demand", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const rows = Array.from({ length: 20 }, (_, i) => `greylisted-${i}@plain.test`);
    await submitFile(session, `email\nexists@plain.test\n${rows.join("\n")}\n`, "slow.csv");
    const { page } = await signedIn(session);
    await openLists(page);
    await page.getByRole("link", { name: "slow.csv" }).click();
    await page.getByText("1 of 21 rows").waitFor();
    const waiting = page.getByRole("region", { name: "20 rows wait for their mail servers" });
    await waiting
      .getByRole("row")
      .filter({ hasText: "Its mail server tells every new sender to come back later." })
      .waitFor();
    await page.getByRole("row", { name: /^Others, or none 1 Valid 100% 1 0 0 0$/ }).waitFor();
    // A hidden tab holds no connection, of which a browser has six.
    const events = /\/events$/;
    const dropped = page.waitForEvent("requestfailed", (request) => events.test(request.url()));
    await setHidden(page, true);
    await dropped;
    const followed = page.waitForRequest(events);
    await setHidden(page, false);
    await followed;
    await page.getByRole("button", { name: "Cancel the list" }).click();
    const dialog = page.getByRole("alertdialog");
    await dialog.getByText(/^1 row is answered: .* 20 are not, and cost nothing\. A cancelled/).waitFor();
    await dialog.getByRole("button", { name: "Cancel the list" }).click();
    await page.getByText("Cancelled").first().waitFor();
    await page.getByRole("row").filter({ hasText: "exists@plain.test" }).waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    await dialog.getByLabel("Also delete the uploaded file").uncheck();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByText("No list was verified yet.").waitFor();

    const unused = /\/v1\/uploads\?unused=true$/;
    await page.route(unused, (route) =>
      refuse(route, { status: 500, code: "internal_error", detail: "A fault." }),
    );
    await page.getByRole("link", { name: "New list" }).click();
    const files = page.getByRole("region", { name: "Files without a list" }).first();
    await files.getByRole("alert").getByText("A fault.").waitFor();
    await page.unroute(unused);
    await page.reload();
    await files.getByRole("link", { name: "Continue with slow.csv" }).waitFor();
    await files.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await files.waitFor({ state: "detached" });
  });
});

describe("for everybody", () => {
  it("nothing of the lists stands in the way, in either theme and any width", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const people = Array.from(
      { length: 12 },
      (_, i) => `Person ${i},${i % 3 ? "exists" : "missing"}-${i}@plain.test`,
    );
    atGoogle("gmail.com");
    const atProvider = Array.from({ length: 3 }, (_, i) => `Friend ${i},exists-friend${i}@gmail.com`);
    const cells = ["exists-1@plain.test", '"exists-a@plain.test, exists-b@plain.test"', ""];
    const odd = cells.map((cell) => `Someone,${cell}`);
    await submitFile(
      session,
      `Name,Email\n${[...people, ...atProvider, ...odd].join("\n")}\n`,
      "customers of the spring campaign.csv",
    );
    await submitFile(
      session,
      `a,b,c\n${people.map((line, i) => `${line},x${i}@y.test`).join("\n")}`,
      "broken.csv",
    );
    const greylisted = Array.from({ length: 9 }, (_, i) => `greylisted-look${i}@plain.test`);
    await submitFile(session, `email\nexists@plain.test\n${greylisted.join("\n")}\n`, "slow.csv");
    const { page } = await signedIn(session);
    await openLists(page);
    const quoted = await submitFile(session, OPEN_QUOTE, "notes.csv");
    await page.getByRole("link", { name: "broken.csv" }).waitFor();
    await lookInThemes(page, "Lists");
    await page.getByRole("link", { name: /customers/ }).click();
    await page.getByText("Verify the list again with “Cells may hold several addresses”.").waitFor();
    await page.getByRole("row").filter({ hasText: "missing-0@plain.test" }).waitFor();
    await lookInThemes(page, "List", { isWideToo: true });
    await page.getByRole("link", { name: "All lists" }).click();
    await page.getByRole("link", { name: "broken.csv" }).click();
    await page.getByRole("heading", { name: "Why it failed" }).waitFor();
    await lookInThemes(page, "List failed");
    await page.goto(`${site.url}/lists/${quoted}`);
    await page.getByText("A quoted field is not closed.").waitFor();
    await lookInThemes(page, "List with an open quote");
    await page.getByRole("link", { name: "All lists" }).click();
    await page.getByRole("link", { name: "slow.csv" }).click();
    await page.getByRole("img", { name: "Valid 10%, not answered 90%" }).waitFor();
    await page.getByText("Cost so far").waitFor();
    await page
      .getByRole("region", { name: /rows wait for their mail servers/ })
      .getByRole("row")
      .first()
      .waitFor();
    await page.getByRole("cell", { name: "plain.test", exact: true }).waitFor();
    await lookInThemes(page, "List under way");
    const busy = { reason: "busy", site: null, rows: 9, next_attempt_at: "2026-01-01T12:00:00.000Z" };
    const groups = [busy, { ...busy, reason: "greylisted" }];
    await page.route("**/deferred", (route) => route.fulfill({ json: { data: groups, rows: 18 } }));
    await page.reload();
    for (const name of ["several servers, or not known yet", "several servers, few rows each"])
      await page.getByRole("cell", { name, exact: true }).waitFor();
  });
});
