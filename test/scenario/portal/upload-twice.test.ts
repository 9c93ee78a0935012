import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page, Route } from "playwright-core";
import { useBrowser } from "../../support/browser.ts";
import { useLists } from "../../support/lists-on-disk.ts";
import { fillSignIn, portalVisits } from "../../support/portal-pages.ts";
import { usePortalSite } from "../../support/portal-site.ts";

/** Uploads of which the page knows less than object storage: answers that were lost, and two pages with one upload. */
const site = usePortalSite();
const browser = useBrowser();
const lists = useLists();
const { signedIn } = portalVisits(site, browser);

const PARTS = /[?&]partNumber=/;
const LAST_PART = /[?&]partNumber=2/;
const MIB = 1_048_576;

const ROWS = Array.from({ length: 24 }, (_, i) => `exists-${i}@plain.test,${"x".repeat(MIB / 4)}`);
/** A list that is sent in two parts. Written once: a browser reads no file that has changed since it was chosen. */
const LARGE = lists.write("large.csv", `email,note\n${ROWS.join("\n")}\n`);

async function chooseOn(page: Page, label: string): Promise<void> {
  await page.goto(`${site.url}/lists/new`);
  await page.getByLabel(label).setInputFiles(LARGE);
}

describe("an upload that the page knows too little of", () => {
  it("is completed where the answer to its last part was lost, and its URL expired then", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page } = await signedIn(session);
    let attempts = 0;
    await page.route(LAST_PART, async (route) => {
      attempts += 1;
      if (attempts > 1)
        return route.fulfill({ status: 403, headers: { "Access-Control-Allow-Origin": "*" } });
      await route.fetch();
      return route.abort("connectionreset");
    });
    await chooseOn(page, "Drop a file here, or choose one");
    await page.getByText("Addresses are read from").waitFor();
    assert.equal(attempts, 2);
  });

  it("ends in both of two pages that go on with it, where they cannot see each other", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page: first, context } = await signedIn(session, { isAltered: true });
    // As on a page without TLS.
    await context.addInitScript("Object.defineProperty(navigator, 'locks', { value: undefined })");
    const held: Route[] = [];
    await first.route(LAST_PART, (route) => {
      held.push(route);
    });
    const [request] = await Promise.all([
      first.waitForRequest(LAST_PART),
      chooseOn(first, "Drop a file here, or choose one"),
    ]);
    assert.match(request.url(), PARTS);
    const second = await context.newPage();
    await chooseOn(second, "Go on with the same file");
    await second.getByText("Addresses are read from").waitFor();
    for (const route of held) await route.continue();
    await first.getByText("Addresses are read from").waitFor();
    assert.equal(await first.evaluate("localStorage.length"), 0);
  });

  it("goes on where the same person signs in anew in another page", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email, session } = await site.owner();
    const { page, context } = await signedIn(session);
    const held: Route[] = [];
    await page.route(LAST_PART, (route) => {
      held.push(route);
    });
    await Promise.all([page.waitForRequest(LAST_PART), chooseOn(page, "Drop a file here, or choose one")]);
    const other = await context.newPage();
    const looked = page.waitForResponse(/\/v1\/auth\/me$/);
    await other.goto(`${site.url}/sign-in`);
    await fillSignIn(other, email);
    await looked;
    for (const route of held) await route.continue();
    await page.getByText("Addresses are read from").waitFor();
  });
});
