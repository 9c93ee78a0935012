import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { useBrowser } from "../../support/browser.ts";
import { ended } from "../../support/bulk.ts";
import { submitAs, uploaded } from "../../support/bulk-files.ts";
import { portalVisits } from "../../support/portal-pages.ts";
import { newPerson, usePortalSite } from "../../support/portal-site.ts";
import { until } from "../../support/until.ts";
import { startReceiver, type WebhookReceiver } from "../../support/webhook-receiver.ts";

/**
 * Every text of an answer that people, servers or files wrote is shown as text. The real service answers; the texts of the
 * members in the table are replaced on their way to the page by a script that would run if one of them became markup.
 */
const site = usePortalSite({ lists: true });
const browser = useBrowser();
const visits = portalVisits(site, browser);
let receiver: WebhookReceiver;
before(async () => {
  receiver = await startReceiver();
});
after(() => receiver.close());

/** The override at its end would turn the letters that follow. */
const scriptOf = (member: string) => `<img src=x onerror="document.title='${member}'">\u202e`;

interface HostilePage {
  path: string;
  /** Members of answers whose texts are replaced, each of which must be seen on the page. */
  members: readonly string[];
  /** Makes the page show all of them. */
  open?(page: Page): Promise<void>;
}

const PAGES: readonly HostilePage[] = [
  {
    path: "/verify?email=missing%40plain.test",
    members: ["email", "did_you_mean", "host", "mx_host", "reply", "name"],
    open: (page) => page.getByRole("button", { name: "Verify", exact: true }).click(),
  },
  { path: "/lists", members: ["filename", "name", "email"] },
  { path: "/lists/{job}", members: ["filename", "name", "provider", "input", "did_you_mean"] },
  { path: "/lists/{failed}", members: ["filename", "name"] },
  { path: "/lists/{waiting}", members: ["site"] },
  { path: "/lists/new", members: ["filename"] },
  { path: "/lists/new?upload={upload}", members: ["filename", "name", "cells"] },
  { path: "/accuracy", members: ["provider", "rule", "bounce_rule", "bounce_reason"] },
  { path: "/keys", members: ["label", "name"] },
  { path: "/team", members: ["name", "email"] },
  {
    path: "/webhooks",
    members: ["url", "description"],
    open: (page) => page.getByRole("button", { name: /^Show the deliveries/ }).click(),
  },
  { path: "/blocklist", members: ["domain"] },
  { path: "/overrides", members: ["domain"] },
  { path: "/settings", members: ["name", "email"] },
  { path: "/deployment", members: ["route", "seen", "site", "reply", "domain"] },
];

/** The answer with the texts of the members replaced; `cells` are all texts of lists of texts. */
function hostile(value: unknown, members: readonly string[], name = ""): unknown {
  if (typeof value === "string") return members.includes(name) ? scriptOf(name) : value;
  if (Array.isArray(value))
    return value.map((item) => hostile(item, members, typeof item === "string" ? "cells" : name));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, own]) => [key, hostile(own, members, key)]));
}

const BREAKER = { site: "x", provider: null, route: "direct", domain: "x", reply: "x" };
const TIMES = { open_since: "2026-01-01T12:00:00.000Z", next_trial_at: "2026-01-01T12:15:00.000Z" };

const WAITING = { reason: "busy", site: "x", rows: 1 };
const PROVIDER = { provider: "x", rows: 1, verdicts: { valid: 1, invalid: 0, risky: 0, unknown: 0 } };

/** What the real service would not show at once: a site that blocks us, a named provider, an address with a better one. */
function withMore(path: string, body: Record<string, unknown>): Record<string, unknown> {
  if (path.endsWith("/v1/verify") || path.endsWith("/results")) return { ...body, did_you_mean: "x" };
  if (path.endsWith("/providers")) return { data: [PROVIDER] };
  if (path.endsWith("/deferred"))
    return { data: [{ ...WAITING, next_attempt_at: TIMES.next_trial_at }], rows: 1 };
  if (!path.endsWith("/v1/deployment")) return body;
  const egress = body.egress as Record<string, unknown>;
  return { ...body, egress: { ...egress, breakers: [{ ...BREAKER, ...TIMES }], breakers_open: 1 } };
}

async function replaceTexts(page: Page, members: readonly string[]): Promise<void> {
  await page.route("**/v1/**", async (route) => {
    // A stream without an end.
    if (route.request().url().endsWith("/events")) return route.continue();
    const response = await route.fetch();
    const type = response.headers()["content-type"] ?? "";
    if (!type.includes("json")) return route.fulfill({ response });
    const { pathname } = new URL(route.request().url());
    // Results have a line for each row.
    const lines = (await response.text()).trimEnd().split("\n");
    const replaced = lines.map((line) =>
      JSON.stringify(hostile(withMore(pathname, JSON.parse(line)), members)),
    );
    return route.fulfill({ response, body: `${replaced.join("\n")}\n` });
  });
}

/** A team that has something of everything. @returns what stands for the names in paths */
async function fullTeam(): Promise<{ session: string; names: Record<string, string> }> {
  const { session, teamId, email } = await site.owner();
  const send = (path: string, body: object) =>
    site.api.send<{ id: string }>("POST", path, { key: session, body });
  await site.deployment.sql`update teams set operator = true where id = ${teamId}`;
  const submit = async (csv: string) => {
    const upload_id = await uploaded(site.api, session, csv, "list.csv");
    return (await submitAs(site.api, session, { upload_id })).body.id;
  };
  const twoColumns = Array.from({ length: 40 }, (_, i) => `a${i}@plain.test,b${i}@plain.test`).join("\n");
  const job = await submit("Name,Email\nJane,exists@plain.test\nJoe,missing@plain.test\n");
  const failed = await submit(`Work Email,Home Email\n${twoColumns}\n`);
  const waiting = await submit("email\nexists@plain.test\ngreylisted-hostile@plain.test\n");
  for (const id of [job, failed]) await ended(site.api, session, id);
  const upload = await uploaded(site.api, session, "Name,Email\nJane,exists@plain.test,x\n", "list.csv");
  const webhook = await send("/v1/webhooks", { url: receiver.url, description: "x" });
  await send(`/v1/webhooks/${webhook.body.id}/ping`, {});
  await send("/v1/blocklist", { domain: "blocked.example" });
  await send("/v1/admin/disposable", { domains: ["throwaway.example"] });
  await send("/v1/team/invites", { email: newPerson(), role: "member" });
  const gone = { outcome: "bounced", reply: "550 5.1.1 User unknown" };
  const answered = {
    verdict: "valid",
    reason: "accepted_mailbox",
    provider: "google",
    rule: "rcpt.accepted",
  };
  await send("/v1/feedback", { events: [{ address: "gone@customer.example", ...gone, ...answered }] });
  const other = await site.owner();
  await site.member(other.session, email, "admin");
  return { session, names: { job, failed, waiting, upload } };
}

describe("texts of people, servers and files", () => {
  it("are shown as texts on every page", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session, names } = await fullTeam();
    const page = await visits.open({ session, path: "/settings" });
    await page.getByText("New password").waitFor();
    for (const { path, members, open } of PAGES) {
      await replaceTexts(page, members);
      await page.goto(site.url + path.replace(/\{(\w+)\}/, (_, name: string) => names[name] ?? ""));
      await open?.(page);
      const body = page.locator("body");
      for (const member of members) await body.filter({ hasText: `document.title='${member}'` }).waitFor();
      assert.doesNotMatch((await body.textContent()) ?? "", /\u202e/, path);
      assert.equal(await page.locator("img").count(), 0, path);
      // The title follows the page's texts.
      await until(`the title of ${path}`, async () => / · rcpt$/.test(await page.title()));
      await page.unrouteAll({ behavior: "ignoreErrors" });
    }
  });
});
