import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PORTAL_PATHS } from "../../../src/api/pages/portal-page.ts";
import { useBrowser } from "../../support/browser.ts";
import { PASSWORD } from "../../support/portal.ts";
import { fillSignIn, portalVisits } from "../../support/portal-pages.ts";
import { usePortalSite } from "../../support/portal-site.ts";

/** The ways into the portal, between its pages, and out. */
const site = usePortalSite();
const browser = useBrowser();
const { signedIn } = portalVisits(site, browser);

describe("the portal", () => {
  it("lets a person sign in, leads to where they wanted to go, keeps them, and lets them out", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email } = await site.owner();
    const { page, context } = await browser.visitor();
    await page.goto(`${site.url}/keys`);
    await page.waitForURL(/sign-in/);
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password").fill("not this one");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page
      .getByRole("alert")
      .getByText(/Wrong address or password/)
      .waitFor();
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "API keys" }).waitFor();
    const [cookie] = await context.cookies();
    assert.deepEqual(
      [cookie?.name, cookie?.httpOnly, cookie?.secure, cookie?.sameSite],
      ["__Host-rcpt_session", true, true, "Strict"],
    );
    assert.equal(await page.evaluate("document.cookie + localStorage.length + sessionStorage.length"), "00");
    await page.reload();
    await page.getByRole("heading", { name: "API keys" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(/sign-in/);
    assert.deepEqual(await context.cookies(), []);
    await page.goto(`${site.url}/keys`);
    await page.waitForURL(/sign-in/);
  });

  it("has a page at each of its addresses", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email } = await site.owner();
    const { page } = await signedIn(email);
    for (const path of PORTAL_PATHS) {
      await page.goto(site.url + path);
      await page.getByRole("heading").first().waitFor();
      assert.equal(await page.getByText("There is no such page").count(), 0, path);
    }
  });

  it("tells what the plan lacks where it matters", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const free = await signedIn((await site.owner("free")).email);
    await free.page.getByText("Your plan (Free) does not ask mail servers").waitFor();
    for (const path of ["/lists", "/lists/new"]) {
      await free.page.goto(site.url + path);
      await free.page.getByText("Your plan (Free) has no lists").waitFor();
    }
    await free.page.getByRole("link", { name: "See the plans." }).click();
    await free.page.getByRole("heading", { name: "Billing" }).waitFor();
    const starter = await signedIn((await site.owner("starter")).email);
    await starter.page.goto(`${site.url}/lists/new`);
    await starter.page.getByText("Your plan (Starter) does not ask mail servers").waitFor();
    assert.equal(await starter.page.getByText("has no lists").count(), 0);
  });

  it("leads nowhere else from signing in", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email } = await site.owner();
    const { page } = await browser.visitor();
    await page.goto(`${site.url}/sign-in?next=${encodeURIComponent("//evil.example/")}`);
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Verify an address" }).waitFor();
    assert.ok(page.url().startsWith(site.url));
  });

  it("leads from signing in to the whole address, query included", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email } = await site.owner();
    const { page } = await browser.visitor();
    await page.goto(`${site.url}/verify?email=jane%40plain.test`);
    await page.waitForURL(/sign-in/);
    await fillSignIn(page, email);
    assert.equal(await page.getByLabel("Address").inputValue(), "jane@plain.test");
  });

  it("says by title and focus that a link led to another page", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email } = await site.owner();
    const { page } = await signedIn(email);
    assert.equal(await page.title(), "Verify an address · rcpt");
    await page.getByRole("link", { name: "Blocklist" }).click();
    await page.getByRole("heading", { name: "Blocklist" }).waitFor();
    assert.equal(await page.title(), "Blocklist · rcpt");
    await page.locator("h1:focus", { hasText: "Blocklist" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Verify an address" }).waitFor();
    assert.equal(await page.title(), "Verify an address · rcpt");
  });

  it("shows in no page what an earlier person could see", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const [first, second] = [await site.owner(), await site.owner()];
    const { page, context } = await signedIn(first.email);
    const other = await context.newPage();
    await other.goto(`${site.url}/settings`);
    await other.getByText(first.email).first().waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await other.waitForURL(/sign-in/);
    await other.goto(`${site.url}/sign-in`);
    await page.goto(`${site.url}/sign-in?next=/settings`);
    await page.getByLabel("Email").fill(first.email);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText(first.email).first().waitFor();
    await fillSignIn(other, second.email);
    await page.getByText(second.email).first().waitFor();
    assert.equal(await page.getByText(first.email).count(), 0);
  });

  it("shows nothing that the browser kept of a page, once its person has left", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email } = await site.owner();
    const { page } = await signedIn(email);
    const comeBack = () =>
      page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
    await page.getByText(email).first().waitFor();
    await Promise.all([page.waitForResponse(/\/v1\/auth\/me$/), comeBack()]);
    assert.match(page.url(), /\/verify$/);
    await page.context().clearCookies();
    await Promise.all([page.waitForURL(/sign-in/), comeBack()]);
    assert.equal(await page.getByText(email).count(), 0);
  });

  it("loads itself anew where a newer version has other files", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email } = await site.owner();
    const { page } = await signedIn(email);
    let gone = 0;
    await page.route(/assets\/keys-/, (route) => {
      gone += 1;
      return gone === 1 ? route.fulfill({ status: 404, body: "" }) : route.continue();
    });
    await page.getByRole("link", { name: "API keys" }).click();
    await page.getByText("No keys yet").or(page.getByText("Last used")).first().waitFor();
    assert.ok(gone >= 2);
  });
});
