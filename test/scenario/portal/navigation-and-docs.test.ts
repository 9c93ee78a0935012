import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PORTAL_PATHS } from "../../../src/api/pages/portal-page.ts";
import { useBrowser } from "../../support/browser.ts";
import { PASSWORD } from "../../support/portal.ts";
import { fillSignIn, lookInThemes, portalVisits } from "../../support/portal-pages.ts";
import { usePortalSite } from "../../support/portal-site.ts";
import { until } from "../../support/until.ts";

/** How people get into the portal, between its pages and out; and the documents and the reference below a path of the host. */
const site = usePortalSite();
const browser = useBrowser();
const { open, signedIn } = portalVisits(site, browser);

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
    const { session } = await site.owner();
    const { page } = await signedIn(session);
    for (const path of PORTAL_PATHS) {
      await page.goto(site.url + path);
      await page.getByRole("heading").first().waitFor();
      assert.equal(await page.getByText("There is no such page").count(), 0, path);
    }
  });

  it("keeps the page that is open in sight where its bar is narrower than all pages", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page } = await signedIn(session);
    const width = 360;
    await page.setViewportSize({ width, height: 900 });
    for (const path of ["/settings", "/verify"]) {
      await page.goto(site.url + path);
      await page.getByRole("heading").first().waitFor();
      const link = page.locator('nav [aria-current="page"]');
      await until(`${path} is in sight`, async () => {
        const box = await link.boundingBox();
        return box !== null && box.x >= 0 && box.x + box.width <= width;
      });
    }
  });

  it("tells what the plan lacks where it matters", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const free = await signedIn((await site.owner("free")).session);
    await free.page.getByText("Your plan (Free) does not ask mail servers").waitFor();
    for (const path of ["/lists", "/lists/new"]) {
      await free.page.goto(site.url + path);
      await free.page.getByText("Your plan (Free) has no lists").waitFor();
      // Neither a form that the service would refuse, nor a way to it.
      await free.page.getByRole("link", { name: "New list" }).waitFor({ state: "detached" });
      await free.page.locator("main").getByRole("textbox").waitFor({ state: "detached" });
    }
    await free.page.getByRole("link", { name: "See the plans." }).click();
    await free.page.getByRole("heading", { name: "Billing" }).waitFor();
    const { session } = await site.owner("starter");
    const starter = await open({ session, path: "/lists/new" });
    await starter.getByText("Your plan (Starter) does not ask mail servers").waitFor();
    await starter.getByRole("textbox", { name: "Addresses" }).waitFor();
    assert.equal(await starter.getByText("has no lists").count(), 0);
  });

  it("offers what the operator has given a team beyond its plan, and not what was taken", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { deployment } = site;
    const more = await deployment.team("free", { bulkBytes: 5_000_000, webhooks: true, probing: true });
    const page = await open({ session: more.session, path: "/lists/new" });
    await page.getByRole("textbox", { name: "Addresses" }).waitFor();
    assert.equal(await page.getByText("Your plan").count(), 0);
    await page.getByRole("link", { name: "Webhooks" }).click();
    await page.getByRole("button", { name: "Make the webhook" }).waitFor();
    const less = await deployment.team("pro_plus", { bulkBytes: 0 });
    const other = await open({ session: less.session, path: "/lists/new" });
    await other.getByText("Your plan (Pro+) has no lists").waitFor();
    assert.equal(await other.locator("main").getByRole("textbox").count(), 0);
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
    const { session } = await site.owner();
    const { page } = await signedIn(session);
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
    const { page, context } = await signedIn(first.session);
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
    const { email, session } = await site.owner();
    const { page } = await signedIn(session);
    const comeBack = () =>
      page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
    await page.getByText(email).first().waitFor();
    await Promise.all([page.waitForResponse(/\/v1\/auth\/me$/), comeBack()]);
    assert.match(page.url(), /\/verify$/);
    await page.context().clearCookies();
    await Promise.all([page.waitForURL(/sign-in/), comeBack()]);
    assert.equal(await page.getByText(email).count(), 0);
  });

  it("keeps what was typed when its session ends, until its person has signed in again", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email, session } = await site.owner();
    const { page, context } = await signedIn(session);
    await page.getByRole("link", { name: "Blocklist" }).click();
    const domains = page.getByRole("textbox", { name: "Domains" });
    await domains.fill("typed.example");
    await context.clearCookies();
    await page.getByRole("button", { name: "Block", exact: true }).click();
    await page.getByRole("cell", { name: "You are signed out." }).waitFor();
    const notice = page.getByRole("alert").filter({ hasText: "You were signed out." });
    // A service that is busy does not say that another person has signed in.
    let checks = 0;
    await page.route("**/v1/auth/me", (route) => {
      checks += 1;
      return checks === 1 ? route.fulfill({ status: 503, body: "" }) : route.continue();
    });
    const opened = context.waitForEvent("page");
    await notice.getByRole("link").click();
    await fillSignIn(await opened, email);
    await notice.waitFor({ state: "detached" });
    assert.ok(checks > 1);
    assert.equal(await domains.inputValue(), "typed.example");
    await page.getByRole("button", { name: "Block", exact: true }).click();
    await page.getByText("1 blocked, 0 blocked already, 0 not taken.").waitFor();
  });

  it("keeps what was typed in one team when its person signs in to another, and sends it to neither", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const [first, second] = [await site.owner(), await site.owner()];
    const { page, context } = await signedIn(await site.member(second.session, first.email, "admin"));
    await page.getByRole("link", { name: "Blocklist" }).click();
    const domains = page.getByRole("textbox", { name: "Domains" });
    const block = page.getByRole("button", { name: "Block", exact: true });
    await domains.fill("typed.example");
    await context.clearCookies();
    await block.click();
    const alerts = page.getByRole("alert");
    await alerts.filter({ hasText: "You were signed out." }).waitFor();
    const other = await context.newPage();
    await other.goto(`${site.url}/sign-in`);
    await fillSignIn(other, first.email);
    const notice = alerts.filter({ hasText: "You are signed in to another team now" });
    await notice.waitFor();
    await block.click();
    await page.getByRole("cell", { name: "You are signed in to another team." }).waitFor();
    const blockedIn = async ({ session }: { session: string }) =>
      (await site.api.send<{ data: unknown[] }>("GET", "/v1/blocklist", { key: session })).body.data.length;
    assert.deepEqual([await blockedIn(first), await blockedIn(second)], [0, 0]);
    const opened = context.waitForEvent("page");
    await notice.getByRole("link", { name: "Sign in in a new tab" }).click();
    await fillSignIn(await opened, first.email);
    await notice.waitFor({ state: "detached" });
    await block.click();
    await page.getByText("1 blocked, 0 blocked already, 0 not taken.").waitFor();
    assert.deepEqual([await blockedIn(first), await blockedIn(second)], [0, 1]);
  });

  it("does not show for long what may be another person's, where the service does not say who is signed in", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email, session } = await site.owner();
    const { page } = await signedIn(session, { isAltered: true });
    await page.getByText(email).first().waitFor();
    let isBusy = false;
    await page.route("**/v1/auth/me", (route) =>
      isBusy ? route.fulfill({ status: 503, body: "" }) : route.continue(),
    );
    const reloaded = async (act: () => Promise<unknown>) => {
      isBusy = true;
      page.once("domcontentloaded", () => {
        isBusy = false;
      });
      await Promise.all([page.waitForEvent("domcontentloaded"), act()]);
      await page.getByText(email).first().waitFor();
    };
    await reloaded(() =>
      page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))"),
    );
    await page.clock.install();
    await reloaded(async () => {
      const asked = page.waitForResponse(/\/v1\/auth\/me$/);
      await page.evaluate("new BroadcastChannel('rcpt session').postMessage(null)");
      await asked;
      await page.clock.fastForward(31_000);
    });
  });

  it("loads itself anew where a newer version has other files, once by itself, then on demand", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page, complaints } = await signedIn(session);
    let isOld = true;
    let isCut = true;
    await page.route(/assets\/keys-/, (route) =>
      isOld ? route.fulfill({ status: 404, body: "" }) : route.continue(),
    );
    await page.route(/assets\/usage-/, (route) => (isCut ? route.abort() : route.continue()));
    // The page before may have loaded the files of others by itself; this one gets neither, however soon it asks.
    await page.reload();
    await page.getByRole("heading", { name: "Verify an address" }).waitFor();
    page.once("domcontentloaded", () => {
      isOld = false;
    });
    await page.getByRole("link", { name: "API keys" }).click();
    await page.getByText("No keys yet").or(page.getByText("Last used")).first().waitFor();
    assert.equal(isOld, false);
    const reloaded = page.waitForEvent("domcontentloaded");
    await page.getByRole("link", { name: "Usage" }).click();
    await reloaded;
    await page.getByRole("heading", { name: "This page cannot be shown" }).waitFor();
    await page.getByRole("navigation").waitFor();
    const again = page.getByRole("button", { name: "Load the page again" });
    // Where the service does not answer, the page is not left for the browser's own.
    await page.context().setOffline(true);
    await again.click();
    await page.getByRole("alert").getByText("The service cannot be reached.").waitFor();
    await page.context().setOffline(false);
    isCut = false;
    await again.click();
    await page.getByText("Day (UTC)").waitFor();
    const others = complaints
      .splice(0)
      .filter((text) => !/dynamically imported module|MissingFile/.test(text));
    assert.deepEqual(others, []);
  });
});

/** Addresses that a page's links and pictures lead to, and the ids that it has. */
function partsOf(html: string, at: string): { links: URL[]; ids: Set<string> } {
  const links = [...html.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, link = ""]) => new URL(link, at));
  const ids = [...html.matchAll(/ id="([^"]*)"/g)].map(([, id = ""]) => id);
  return { links, ids: new Set(ids) };
}

describe("the documents", () => {
  it("are pages whose every link leads somewhere in the service, to a heading that is there", async () => {
    const pages = new Map<string, ReturnType<typeof partsOf>>();
    const waiting = [`${site.url}/docs`];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (pages.has(at)) continue;
      const response = await fetch(at);
      assert.equal(response.status, 200, at);
      const isPage = response.headers.get("content-type")?.startsWith("text/html") === true;
      const parts = isPage ? partsOf(await response.text(), at) : { links: [], ids: new Set<string>() };
      if (!isPage) await response.arrayBuffer();
      pages.set(at, parts);
      const own = parts.links.filter(({ href }) => href.startsWith(`${site.url}/docs`));
      waiting.push(...own.map(({ origin, pathname }) => origin + pathname));
    }
    const html = [...pages].filter(([, { ids }]) => ids.size > 0);
    assert.ok(html.length > 40, `${html.length} pages`);
    for (const [at, { links }] of html)
      for (const { href, hash, origin, pathname } of links) {
        if (!href.startsWith(site.url)) assert.match(href, /^https:\/\//, `${at} leads to ${href}`);
        const target = pages.get(origin + pathname);
        if (hash !== "" && target)
          assert.ok(target.ids.has(decodeURIComponent(hash.slice(1))), `${at}: ${href}`);
      }
  });

  it("are read in every width and both themes, and found by their words", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { page } = await browser.visitor();
    await page.goto(`${site.url}/docs`);
    await page.getByRole("heading", { name: "Documents", level: 1 }).waitFor();
    await lookInThemes(page, "Docs");
    await page.getByLabel("Search the documents").fill("greylist");
    const found = page.getByRole("listitem").filter({ hasText: "Verdicts" }).getByRole("link").first();
    await found.waitFor();
    await lookInThemes(page, "Docs search");
    await found.click();
    await page.waitForURL(/\/base\/docs\/verdicts/);
    assert.equal(await page.locator('a[aria-current="page"]').textContent(), "Verdicts");
    await lookInThemes(page, "Docs page");
    await page.getByLabel("Search the documents").fill("xyzzyxyzzy");
    await page.getByText("Nothing found.").waitFor();
  });

  it("say that the search cannot be loaded, and load it later", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { page } = await browser.visitor();
    await page.route("**/search.json", (route) => route.abort());
    await page.goto(`${site.url}/docs`);
    const field = page.getByLabel("Search the documents");
    await field.fill("greylist");
    await page.getByText("The search cannot be loaded.").waitFor();
    await page.unroute("**/search.json");
    await field.fill("greylisting");
    await page.getByText(/^\d+ found\.$/).waitFor();
  });

  it("lead to the reference, which shows every operation", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { page } = await browser.visitor();
    await page.goto(`${site.url}/docs`);
    await page.getByRole("link", { name: "API reference" }).click();
    await page.getByText("/v1/verify/bulk").first().waitFor();
    assert.equal(new URL(page.url()).pathname, "/base/docs/reference");
  });

  it("are sent compressed, and again only when they have changed", async () => {
    const headers = { "Accept-Encoding": "br" };
    const first = await fetch(`${site.url}/docs/api`, { headers });
    assert.equal(first.headers.get("content-encoding"), "br");
    assert.match(
      first.headers.get("content-security-policy") ?? "",
      /^default-src 'none'; script-src 'self'; style-src 'self';/,
    );
    await first.arrayBuffer();
    const again = await fetch(`${site.url}/docs/api`, {
      headers: { ...headers, "If-None-Match": first.headers.get("etag") ?? "" },
    });
    assert.equal(again.status, 304);
    for (const path of ["/docs/nothing", "/docs/assets/nothing.css", "/docs/..%2findex", "/docs/__proto__"])
      assert.equal((await fetch(site.url + path)).status, 404, path);
  });
});
