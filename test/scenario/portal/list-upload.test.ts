import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Locator, Page, Route } from "playwright-core";
import { useBrowser } from "../../support/browser.ts";
import { useLists } from "../../support/lists-on-disk.ts";
import { lookInThemes, portalVisits } from "../../support/portal-pages.ts";
import { usePortalSite } from "../../support/portal-site.ts";
import { until } from "../../support/until.ts";
import { workbookOf } from "../../support/workbook.ts";

/** From a file to a job in the portal: sending, preview, submission. */
const site = usePortalSite({ lists: true });
const browser = useBrowser();
const lists = useLists();
const { signedIn } = portalVisits(site, browser);

/** Parts on their way from the page to object storage. */
const PART = /[?&]partNumber=(\d+)/;
const MIB = 1_048_576;

const fileOf = (name: string, text: string) => ({
  name,
  mimeType: "text/csv",
  buffer: Buffer.from(text),
});

async function openNewList(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Lists", exact: true }).click();
  await page
    .getByRole("link", { name: /^(New list|Verify your first list)$/ })
    .first()
    .click();
  await page.getByRole("heading", { name: "New list" }).waitFor();
}

const choose = (page: Page, file: string | ReturnType<typeof fileOf>) =>
  page.getByLabel("Drop a file here, or choose one").setInputFiles(file);

const ROWS = Array.from({ length: 48 }, (_, i) => `exists-${i}@plain.test,${"x".repeat(MIB / 4)}`);
/** A list that is sent in three parts: of few addresses, each with a long note. */
const LARGE = lists.write("large.csv", `email,note\n${ROWS.join("\n")}\n`);

/** Holds the parts from that number on, until they are let go. */
async function holdPartsFrom(page: Page, first: number) {
  const held: Route[] = [];
  const numberOf = (route: Route) => Number(PART.exec(route.request().url())?.[1]);
  await page.route(PART, (route) => {
    if (numberOf(route) >= first) held.push(route);
    else void route.continue();
  });
  return {
    sent: () => page.unroute(PART),
    numbers: () => held.map(numberOf),
  };
}

/** Goes on to a control by the Tab key, as somebody without a mouse does. */
async function tabTo(page: Page, control: Locator): Promise<void> {
  for (let pressed = 0; pressed < 60; pressed++) {
    await page.keyboard.press("Tab");
    if (await control.evaluate((element) => element === element.ownerDocument.activeElement)) return;
  }
  throw new Error(`the Tab key does not reach ${control}`);
}

describe("by keyboard alone", () => {
  it("a list is pasted, verified and cancelled, once its dialog was closed and opened again", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page } = await signedIn(session);
    const { keyboard } = page;
    await tabTo(page, page.getByRole("link", { name: "Skip to the content" }));
    await tabTo(page, page.getByRole("link", { name: "Lists", exact: true }));
    await keyboard.press("Enter");
    const first = page.getByRole("link", { name: "Verify your first list" });
    await first.waitFor();
    await tabTo(page, first);
    await keyboard.press("Enter");
    await page.getByRole("heading", { name: "New list" }).waitFor();
    await tabTo(page, page.getByRole("textbox", { name: "Addresses" }));
    await keyboard.type("exists@plain.test\ngreylisted-keys@plain.test");
    const verify = page.getByRole("button", { name: "Verify 2" });
    await verify.waitFor();
    await tabTo(page, verify);
    await keyboard.press("Enter");
    await page.waitForURL(/\/lists\/job_\w+$/);
    await page.getByText("1 of 2 rows").waitFor();
    const opening = page.getByRole("button", { name: "Cancel the list" });
    await tabTo(page, opening);
    await keyboard.press("Enter");
    const dialog = page.getByRole("alertdialog");
    await dialog.waitFor();
    // The focus stays in the dialog, however often it goes on.
    for (let pressed = 0; pressed < 5; pressed++) {
      await keyboard.press("Tab");
      assert.equal(await dialog.locator(":focus").count(), 1);
    }
    await keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.locator("button:focus").getByText("Cancel the list").waitFor();
    await keyboard.press("Enter");
    await tabTo(page, dialog.getByRole("button", { name: "Cancel the list" }));
    await keyboard.press("Enter");
    await page.getByText("Cancelled").first().waitFor();
    await page.getByRole("row").filter({ hasText: "exists@plain.test" }).waitFor();
  });
});

describe("a file", () => {
  it("is sent to object storage, previewed with the column that is chosen, and verified", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page } = await signedIn(session);
    const sent: string[] = [];
    page.on("request", (request) => {
      if (PART.test(request.url())) sent.push(request.url());
    });
    await openNewList(page);
    const rows = Array.from(
      { length: 40 },
      (_, i) => `<b>${i}</b>,=cmd|'${i}',work${i}@plain.test,exists-home${i}@plain.test`,
    );
    await choose(
      page,
      fileOf("two\u202ecolumns.csv", `Name,Note,Work Email,Home Email\n${rows.join("\n")}\n`),
    );
    await page.getByText("Several columns may hold the addresses to verify.").waitFor();
    assert.equal(sent.length, 1);
    assert.ok(!sent[0]?.startsWith(site.url));
    await page.getByRole("button", { name: "Home Email" }).click();
    await page.getByText("your choice").waitFor();
    await page.getByRole("columnheader", { name: /^Home Email\s*addresses$/ }).waitFor();
    await page.getByRole("cell", { name: "<b>0</b>", exact: true }).waitFor();
    // A reload asks for the same upload again.
    await page.reload();
    await page.getByRole("button", { name: "Home Email" }).click();
    await page.getByText("Read the file in another way").click();
    await page.getByLabel("First row").selectOption("a header");
    await page.getByText("your choice").waitFor();
    await page
      .getByText(/^40 units at most for 40 rows\. 2,000,000 of 2,000,000 units are left today/)
      .waitFor();
    await page.getByRole("button", { name: "Verify 40 rows" }).click();
    await page.waitForURL(/\/lists\/job_\w+$/);
    await page.getByText("Completed").first().waitFor();
    await page.getByRole("row").filter({ hasText: "exists-home39@plain.test" }).waitFor();
    await page.getByRole("heading", { name: "two\ufffdcolumns.csv" }).waitFor();
  });

  it("is read as is said: delimiter, header and encoding", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page } = await signedIn(session);
    await openNewList(page);
    await choose(page, {
      name: "odd.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("N\xe4me~exists@plain.test\nZo\xeb~missing@plain.test\n", "latin1"),
    });
    await page.getByRole("columnheader", { name: "Column 1" }).waitFor();
    await page.getByText("Read the file in another way").click();
    await page.getByLabel("Encoding").selectOption("windows-1252");
    await page.getByRole("cell", { name: /Zoë/ }).waitFor();
    await page.getByLabel("Encoding").selectOption("koi8-r");
    await page.getByRole("cell", { name: /ZoК/ }).waitFor();
    await page.getByLabel("First row").selectOption("a header");
    await page
      .getByText("No column holds mail addresses.")
      .or(page.getByText("exists@plain.test"))
      .first()
      .waitFor();
  });

  it("is verified by each address of a cell on demand, and says what that costs", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page } = await signedIn(session);
    await openNewList(page);
    const rows = ["exists@plain.test", '"exists-a@plain.test, missing@plain.test"', "exists-b@plain.test"];
    await choose(page, fileOf("several.csv", `Name,Email\n${rows.map((cell) => `x,${cell}`).join("\n")}\n`));
    await page.getByText(/^1 of the first 3 rows has several addresses in the cell, 2 in all/).waitFor();
    await page.getByText(/^2 units at most for 3 rows/).waitFor();
    await page.getByLabel("Cells may hold several addresses: verify each").check();
    await page.getByText(/^4 units at most for 3 rows/).waitFor();
    await page.getByRole("button", { name: "Verify 3 rows" }).click();
    await page.getByText("Completed").first().waitFor();
    await page.getByText("4 units", { exact: true }).waitFor();
    await page.getByRole("row").filter({ hasText: "missing@plain.test" }).waitFor();
  });

  it("is paused, left, and gone on with after a reload, with the parts that are missing", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page, context } = await signedIn(session);
    await openNewList(page);
    const held = await holdPartsFrom(page, 2);
    await choose(page, LARGE);
    await page.getByText(/^Sending: 5\.2 MB of 12\.6 MB$/).waitFor();
    const otherTab = await context.newPage();
    await otherTab.goto(page.url());
    await otherTab.getByText("Another tab is sending large.csv.").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await otherTab.getByRole("region", { name: "Interrupted upload: large.csv" }).waitFor();
    await otherTab.close();
    await page.getByText(/^Paused: 5\.2 MB of 12\.6 MB$/).waitFor();
    assert.deepEqual(held.numbers().sort(), [2, 3]);
    const kept = String(await page.evaluate("JSON.stringify(localStorage)"));
    assert.match(kept, /large\.csv/);
    assert.doesNotMatch(kept, /Signature|rcpt_sess/);
    await held.sent();
    await page.reload();
    const interrupted = page.getByRole("region", { name: "Interrupted upload: large.csv" });
    await interrupted
      .getByLabel("Go on with the same file")
      .setInputFiles(fileOf("large.csv", "email\nother@plain.test\n"));
    await interrupted.getByText(/That is another file/).waitFor();
    const sent: number[] = [];
    page.on("request", (request) => {
      const part = PART.exec(request.url());
      if (part !== null && request.method() === "PUT") sent.push(Number(part[1]));
    });
    await interrupted.getByLabel("Go on with the same file").setInputFiles(LARGE);
    await page.getByText("Addresses are read from").waitFor();
    assert.deepEqual(sent.sort(), [2, 3]);
    assert.equal(await page.evaluate("localStorage.length"), 0);
    // It waits for whoever comes back, until it is verified or deleted.
    await page.getByRole("link", { name: "Another file" }).click();
    await page.getByRole("link", { name: "Continue with large.csv" }).click();
    await page.getByText("Addresses are read from").waitFor();
  });

  it("is sent again where the connection broke off, and given up on demand", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page } = await signedIn(session);
    await openNewList(page);
    const held = await holdPartsFrom(page, 3);
    let broken = 0;
    await page.route(/partNumber=2/, (route) => {
      broken += 1;
      return broken === 1 ? route.abort("connectionreset") : route.continue();
    });
    await choose(page, LARGE);
    await page.getByText(/^Sending: 10\.5 MB of 12\.6 MB$/).waitFor();
    assert.equal(broken, 2);
    assert.deepEqual(held.numbers(), [3]);
    await page.getByRole("button", { name: "Give up" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Give up" }).click();
    await page.getByLabel("Drop a file here, or choose one").waitFor();
    assert.equal(await page.evaluate("localStorage.length"), 0);
    const { body } = await site.api.send<{ data: unknown[] }>("GET", "/v1/uploads", { key: session });
    assert.deepEqual(body.data, []);
  });

  it("goes through the API where object storage is out of the browser's reach", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page } = await signedIn(session);
    await page.route(PART, (route) => route.abort("connectionrefused"));
    const through: Route[] = [];
    await page.route(/\/v1\/uploads\/small\.csv$/, (route) => {
      through.push(route);
    });
    await openNewList(page);
    await choose(page, fileOf("small.csv", "email\nexists@plain.test\n"));
    await page.getByText(/so the file goes through the API/).waitFor();
    assert.equal(await page.getByRole("button", { name: "Pause" }).count(), 0);
    await until("it is held", () => through.length > 0);
    for (const route of through) await route.continue();
    await page.getByText("Addresses are read from").waitFor();
    await page.getByRole("heading", { name: "small.csv" }).waitFor();
    assert.equal(await page.evaluate("localStorage.length"), 0);
  });
});

describe("what is no file of text", () => {
  it("is read by the sheet that is chosen", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page } = await signedIn(session);
    await openNewList(page);
    const sheets = ["Leads", "Customers"].map((name) => ({
      name,
      rows: [["Email"], [`exists-${name.toLowerCase()}@plain.test`]],
    }));
    const mimeType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    await choose(page, { name: "contacts.xlsx", mimeType, buffer: Buffer.from(workbookOf({ sheets })) });
    await page.getByRole("cell", { name: "exists-leads@plain.test" }).waitFor();
    await page.getByText("Read the file in another way").click();
    await page.getByLabel("Sheet", { exact: true }).selectOption("Customers");
    await page.getByRole("cell", { name: "exists-customers@plain.test" }).waitFor();
    await page.getByRole("button", { name: "Verify 1 row" }).click();
    await page.getByText("Completed").first().waitFor();
    await page.getByRole("row").filter({ hasText: "exists-customers@plain.test" }).waitFor();
  });

  it("becomes one where a table is pasted, or more addresses than a request holds", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page } = await signedIn(session);
    await openNewList(page);
    const pasted = page.getByRole("textbox", { name: "Addresses" });
    await pasted.fill("Name\tEmail\nJane\tjane@plain.test");
    await page.getByText("This is a table.").waitFor();
    // It remains until it is stored.
    const made = /\/v1\/uploads$/;
    await page.route(made, (route) => route.fulfill({ status: 403, body: "" }));
    await page.getByRole("button", { name: "Upload the table" }).click();
    await page.getByText("The service answered 403.").waitFor();
    await page.getByRole("button", { name: "Give up" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Give up" }).click();
    assert.equal(await pasted.inputValue(), "Name\tEmail\nJane\tjane@plain.test");
    await page.unroute(made);
    await page.getByRole("button", { name: "Upload the table" }).click();
    await page.getByText("Addresses are read from Email").waitFor();
    await page.getByRole("link", { name: "Another file" }).click();
    assert.equal(await pasted.inputValue(), "");
    const addresses = Array.from({ length: 10_001 }, (_, i) => `p${i}@plain.test`);
    const text = `Doe, "Jane" <jane@plain.test>\n${addresses.join(", ")}`;
    await page.getByRole("textbox", { name: "Addresses" }).fill(text);
    await page.getByText("10,002 addresses").waitFor();
    await page.getByRole("button", { name: "Upload them as a file" }).click();
    await page.getByRole("button", { name: "Verify 10,002 rows" }).waitFor();
    await page.getByRole("cell", { name: 'Doe, "Jane" <jane@plain.test>' }).waitFor();
  });
});

describe("for everybody", () => {
  it("nothing of a new list stands in the way, in either theme and any width", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const people = Array.from(
      { length: 30 },
      (_, i) => `Person ${i},exists-${i}@plain.test,owner@corp.test,${i},"A note"`,
    );
    const file = fileOf("customers.csv", `Name,Business Email,Owner,Orders,Note\n${people.join("\n")}\n`);
    const { page } = await signedIn(session);
    await openNewList(page);
    await lookInThemes(page, "List new");
    await holdPartsFrom(page, 1);
    await choose(page, file);
    await page
      .getByText(/^Sending/)
      .first()
      .waitFor();
    await lookInThemes(page, "List sending");
    await page.getByRole("button", { name: "Pause" }).click();
    await page.unrouteAll();
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByText("Addresses are read from").waitFor();
    await page.getByText("Read the file in another way").click();
    await lookInThemes(page, "List preview");
  });
});
