import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { useBrowser } from "../../support/browser.ts";
import { lookInThemes } from "../../support/portal-pages.ts";
import { usePortalSite } from "../../support/portal-site.ts";

/** The documents and the reference as people read them, below a path of the host. */
const site = usePortalSite();
const browser = useBrowser();

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
