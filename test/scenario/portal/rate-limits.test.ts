import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { useBrowser } from "../../support/browser.ts";
import { ended } from "../../support/bulk.ts";
import { submitAs } from "../../support/bulk-files.ts";
import { portalVisits } from "../../support/portal-pages.ts";
import { usePortalSite } from "../../support/portal-site.ts";
import { until } from "../../support/until.ts";

/** Every page of the portal where the API asks it to wait: it says so, and goes on by itself, or ends with a failure. */
const site = usePortalSite({ lists: true });
const browser = useBrowser();
const visits = portalVisits(site, browser);

/** Pages, and what stands on each once all of it was read. `{job}`: a list that is done. */
const PAGES = [
  ["/verify", "First steps"],
  ["/lists", "Pasted addresses"],
  ["/lists/new", "Upload a file"],
  ["/lists/{job}", "exists@plain.test"],
  ["/usage", "Day (UTC)"],
  ["/accuracy", "Nothing has been reported"],
  ["/keys", "Last used"],
  ["/team", "Joined"],
  ["/webhooks", "No webhooks yet"],
  ["/blocklist", "No domain is blocked."],
  ["/overrides", "All of them are in effect."],
  ["/billing", "Units a day"],
  ["/settings", "New password"],
  ["/deployment", "Workers"],
] as const;

const WAIT_S = 30;

/** Answers requests by "too many", with so many seconds to wait. @param isRefused by the path of the URL */
async function refuse(page: Page, waitS: number, isRefused: (path: string) => boolean): Promise<string[]> {
  const refused: string[] = [];
  await page.route("**/v1/**", async (route) => {
    const { pathname } = new URL(route.request().url());
    if (!isRefused(pathname)) return route.fallback();
    refused.push(pathname);
    await route.fulfill({
      status: 429,
      headers: { "Retry-After": `${waitS}`, "Content-Type": "application/problem+json" },
      json: {
        type: "about:blank",
        title: "x",
        status: 429,
        code: "rate_limited",
        detail: "Too many requests.",
      },
    });
  });
  return refused;
}

const waiting = (page: Page) => page.getByText(/^The service is busy, or was asked too much at once/);

describe("a page that is asked to wait", () => {
  it("says how long, and goes on by itself", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session, teamId } = await site.owner();
    await site.deployment.sql`update teams set operator = true where id = ${teamId}`;
    const { body } = await submitAs(site.api, session, { emails: ["exists@plain.test"] });
    await ended(site.api, session, body.id);
    const page = await visits.open({ isAltered: true, session, path: "/settings" });
    await page.getByText("New password").waitFor();
    await page.clock.install();
    for (const [path, text] of PAGES) {
      const known = new Set<string>();
      const isFirst = (asked: string) => known.size < known.add(asked).size;
      const refused = await refuse(page, WAIT_S, isFirst);
      await page.goto(site.url + path.replace("{job}", body.id));
      await waiting(page)
        .getByText(/in \d+ s/)
        .waitFor();
      await until(`${path} is whole`, async () => {
        await page.clock.fastForward((WAIT_S + 1) * 1_000);
        return page.getByText(text).first().isVisible();
      });
      await until(`${path} waits no more`, async () => {
        await page.clock.fastForward((WAIT_S + 1) * 1_000);
        return (await waiting(page).count()) === 0;
      });
      assert.ok(refused.length > 0, path);
      assert.equal(await page.getByRole("alert").count(), 0, path);
      await page.unrouteAll({ behavior: "ignoreErrors" });
    }
  });

  it("gives up where that goes on, or would take long", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page, complaints } = await visits.signedIn(session, { isAltered: true });
    await page.clock.install();
    const refused = await refuse(page, WAIT_S, (path) => path.endsWith("/v1/blocklist"));
    await page.goto(`${site.url}/blocklist`);
    await waiting(page).waitFor();
    const alert = page.getByRole("alert").getByText(/^Too many requests\. Try again (in 30 s|now)\.$/);
    await until("it gives up", async () => {
      await page.clock.fastForward((WAIT_S + 1) * 1_000);
      return alert.isVisible();
    });
    assert.equal(refused.length, 6);
    assert.equal(await page.getByText("Loading…").count(), 0);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await refuse(page, 3_600, (path) => path.endsWith("/v1/keys"));
    await page.goto(`${site.url}/keys`);
    await page.getByRole("alert").getByText("Too many requests. Try again in 1 h.").waitFor();
    // A service that is started again behind its proxy.
    await page.unrouteAll({ behavior: "ignoreErrors" });
    let asked = 0;
    await page.route("**/v1/auth/me", (route) => {
      asked += 1;
      return route.fulfill({ status: 502, body: "" });
    });
    await page.goto(`${site.url}/keys`);
    await until("it gives up", async () => {
      await page.clock.fastForward(5_000);
      return page.getByRole("heading", { name: "This page cannot be shown" }).isVisible();
    });
    assert.equal(asked, 3);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("heading", { name: "API keys" }).waitFor();
    const others = complaints
      .splice(0)
      .filter((text) => !text.startsWith("Problem: The service answered 502."));
    assert.deepEqual(others, []);
  });
});

describe("a form that is refused for a while", () => {
  it("says until when, and that it may be sent then", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await visits.open({ isAltered: true, session, path: "/webhooks" });
    await page.getByText("No webhooks yet").waitFor();
    await page.clock.install();
    await refuse(page, 40, () => true);
    await page.getByLabel("URL").fill("https://hooks.example.com/");
    await page.getByRole("button", { name: "Make the webhook" }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("Too many requests. Try again in 40 s.").waitFor();
    await page.clock.fastForward(41_000);
    await alert.getByText("Too many requests. Try again now.").waitFor();
  });
});
