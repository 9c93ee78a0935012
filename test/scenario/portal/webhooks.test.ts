import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { useBrowser } from "../../support/browser.ts";
import { portalVisits } from "../../support/portal-pages.ts";
import { newPerson, usePortalSite } from "../../support/portal-site.ts";
import { until } from "../../support/until.ts";
import { startReceiver, type WebhookReceiver, withStatus } from "../../support/webhook-receiver.ts";

/** Webhooks in the portal: made, tried, followed and deleted by people. */
const site = usePortalSite();
const browser = useBrowser();
const visits = portalVisits(site, browser);
let receiver: WebhookReceiver;
before(async () => {
  receiver = await startReceiver();
});
after(() => receiver.close());

const HOSTILE = '<img src=x onerror="document.title=1">';

const open = async (session: string, path = "/webhooks") => {
  const page = await visits.open({ session, path });
  await page.getByRole("heading", { name: "Webhooks", exact: true }).waitFor();
  return page;
};

/** The card of a webhook. */
const cardOf = (page: Page, url = receiver.url) => page.getByRole("region", { name: url, exact: true });

async function make(session: string, body: Record<string, unknown> = {}): Promise<string> {
  const answer = await site.api.send<{ id: string }>("POST", "/v1/webhooks", {
    key: session,
    body: { url: receiver.url, ...body },
  });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id;
}

describe("webhooks", () => {
  it("are made with chosen events, and show their secret once", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await open(session);
    await page.getByText("No webhooks yet").waitFor();
    await page.getByLabel("URL").fill("https://user@example.com/");
    await page.getByRole("button", { name: "Make the webhook" }).click();
    await page.locator(".fault").waitFor();
    await page.getByLabel("URL").fill(receiver.url);
    await page.getByLabel("Description").fill(HOSTILE);
    await page.getByLabel(/^Everything/).uncheck();
    await page.getByText("Choose an event, or all.").waitFor();
    await page.getByLabel(/bulk\.completed/).check();
    await page.getByRole("button", { name: "Make the webhook" }).click();
    assert.match((await page.locator(".secret").textContent()) ?? "", /^whsec_/);
    const card = cardOf(page);
    await card.getByText(HOSTILE).waitFor();
    await card.getByText("bulk.completed", { exact: true }).waitFor();
    assert.match(await page.title(), / · rcpt$/);
    await page.reload();
    await card.getByText("enabled", { exact: true }).waitFor();
    assert.equal(await page.locator(".secret").count(), 0);
  });

  it("are pinged, tell what was answered, and are sent an event again", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    await make(session);
    const page = await open(session);
    const card = cardOf(page);
    receiver.answer(withStatus(503));
    await card.getByRole("button", { name: "Send a ping" }).click();
    const rows = card.getByRole("row").filter({ hasText: "ping" });
    await rows.getByText("HTTP 503").waitFor();
    await rows.getByText("Next attempt").waitFor();
    receiver.answer(withStatus(204));
    const before = receiver.received.length;
    await rows.first().getByRole("button", { name: "Send again" }).click();
    await rows.getByText("HTTP 204").first().waitFor();
    await card.getByText("never", { exact: true }).waitFor({ state: "detached" });
    const [sent] = receiver.received.slice(before);
    assert.equal(JSON.parse(sent?.body ?? "{}").type, "ping");
    await card.getByLabel("State").selectOption("delivered");
    await until("only those are shown", async () => (await rows.getByText("HTTP 503").count()) === 0);
    receiver.answer(withStatus(410));
    await card.getByRole("button", { name: "Send a ping" }).click();
    await until("it is disabled", async () => {
      await page.reload();
      await card.waitFor();
      return (await card.getByText(/It answered 410 Gone/).count()) > 0;
    });
    receiver.answer(withStatus(204));
    await card.getByRole("button", { name: "Enable" }).click();
    await card.getByText("enabled", { exact: true }).waitFor();
  });

  it("show what was sent and what was answered, as text, to members too", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const id = await make(session);
    receiver.answer(
      (_, response) => void response.writeHead(503).end(`{"error":${JSON.stringify(HOSTILE)}}`),
    );
    await site.api.send("POST", `/v1/webhooks/${id}/ping`, { key: session });
    const page = await open(await site.member(session, newPerson(), "member"));
    const card = cardOf(page);
    await card.getByRole("button", { name: "Show the deliveries" }).click();
    const row = card.getByRole("row").filter({ hasText: "ping" });
    await row.getByText("HTTP 503").waitFor();
    const look = row.getByRole("button", { name: "Request and answer" });
    await look.focus();
    await page.keyboard.press("Enter");
    assert.equal(await look.getAttribute("aria-expanded"), "true");
    const request = card.getByRole("region", { name: "Request", exact: true });
    assert.deepEqual(JSON.parse((await request.locator("pre").textContent()) ?? "").data, { webhook_id: id });
    const answer = card.getByRole("region", { name: "Answer", exact: true });
    await answer.getByText(JSON.stringify(HOSTILE)).waitFor();
    assert.match(await page.title(), / · rcpt$/);
    await look.click();
    await request.waitFor({ state: "detached" });
  });

  it("are followed by their newest deliveries alone, while one is under way", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const id = await make(session);
    receiver.answer(withStatus(204));
    await site.api.send("POST", `/v1/webhooks/${id}/ping`, { key: session });
    const { sql } = site.deployment;
    await until("it is delivered", async () => {
      const done = await sql`
        select from webhook_deliveries where webhook_id = ${id} and status = 'succeeded'`;
      return done.length === 1;
    });
    await sql`
      insert into webhook_deliveries (id, team_id, event_id, webhook_id, lane, status, attempts, response_status,
        next_attempt_at)
      select left(id, 4) || lpad(n::text, length(id) - 4, '0'), team_id, event_id, webhook_id, lane, status, attempts,
        response_status, null
      from webhook_deliveries, generate_series(1, 50) n where webhook_id = ${id}`;
    const page = await open(session);
    const card = cardOf(page);
    await card.getByRole("button", { name: "Show the deliveries" }).click();
    const rows = card.locator("tbody tr");
    await until("all are delivered", async () => (await rows.getByText("delivered").count()) === 50);
    await card.getByRole("button", { name: "Older ones" }).click();
    await until("all are listed", async () => (await rows.count()) === 51);
    const asked: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/deliveries")) asked.push(new URL(request.url()).search);
    });
    await card.getByRole("button", { name: "Send a ping" }).click();
    await until("the new one is listed", async () => (await rows.getByText("delivered").count()) === 52);
    assert.ok(asked.length > 0);
    assert.deepEqual(
      asked.filter((search) => search !== ""),
      [],
    );
  });

  it("are changed", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    await make(session, { events: ["bulk.failed"], description: "old" });
    const page = await open(session);
    await cardOf(page).getByRole("button", { name: "Change" }).click();
    const form = page.getByRole("form", { name: "Change the webhook" });
    assert.equal(await form.getByLabel(/bulk\.failed/).isChecked(), true);
    await form.getByLabel(/^Everything/).check();
    await form.getByLabel("Description").fill(HOSTILE);
    await form.getByLabel("URL").fill(`${receiver.url}/new`);
    await form.getByRole("button", { name: "Save" }).click();
    const card = cardOf(page, `${receiver.url}/new`);
    await card.getByText("everything", { exact: true }).waitFor();
    await card.getByText(HOSTILE).waitFor();
    assert.equal(await form.count(), 0);
  });

  it("get new secrets, are disabled, and deleted", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    await make(session);
    const page = await open(session);
    const card = cardOf(page);
    const dialog = page.getByRole("alertdialog");
    await card.getByRole("button", { name: "New secret" }).click();
    await dialog.getByRole("button", { name: "New secret" }).click();
    await card.getByText(/^whsec_/).waitFor();
    const answered = page.waitForResponse(/\/v1\/team\/webhook-secret$/);
    await page.getByRole("button", { name: "Make or replace them" }).click();
    await dialog.getByRole("button", { name: "Make them" }).click();
    const { secret, test_secret } = await (await answered).json();
    const ofTeam = page.getByRole("region", { name: "Signing secrets of the team" });
    await ofTeam
      .getByText(/^whsec_/)
      .first()
      .waitFor();
    assert.deepEqual(await ofTeam.locator("h3, .secret").allTextContents(), [
      "For live lists",
      secret,
      "For lists of test keys; do not give it to a production receiver",
      test_secret,
    ]);
    await card.getByRole("button", { name: "Disable" }).click();
    await card.getByText("A member of the team disabled it.").waitFor();
    assert.equal(await card.getByRole("button", { name: "Send a ping" }).isDisabled(), true);
    await card.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByText("No webhooks yet").waitFor();
  });

  it("are read by members, and changed by admins and owners alone", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    await make(session);
    const page = await open(await site.member(session, newPerson(), "member"));
    await page.getByText(/you are a member/).waitFor();
    const card = cardOf(page);
    await card.getByRole("button", { name: "Show the deliveries" }).click();
    await card.getByText("team.member_joined").waitFor();
    for (const name of ["Send a ping", "Delete", "Make the webhook", "Make or replace them"])
      assert.equal(await page.getByRole("button", { name }).count(), 0, name);
    const admin = await open(await site.member(session, newPerson(), "admin"));
    await cardOf(admin).getByRole("button", { name: "Delete" }).waitFor();
  });

  it("are offered with the tiers that have them", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner("free");
    const page = await open(session);
    await page.getByText("Your plan (Free) has no webhooks.").waitFor();
    await page.getByText("No webhooks yet").waitFor();
    // The API would refuse both.
    for (const name of ["Make the webhook", "Make or replace them"])
      assert.equal(await page.getByRole("button", { name }).count(), 0, name);
    await page.getByRole("link", { name: "See the plans." }).click();
    await page.getByRole("heading", { name: "Billing" }).waitFor();
  });

  it("look well", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    receiver.answer((_, response) => void response.writeHead(200).end('{"received":true}'));
    const id = await make(session, { description: HOSTILE, url: `${receiver.url}/${"long".repeat(40)}` });
    await site.api.send("POST", `/v1/webhooks/${id}/ping`, { key: session });
    await visits.lookInAll({ session, path: "/webhooks" }, "webhooks", async (page) => {
      await page.getByLabel(/^Everything/).uncheck();
      await page.getByRole("button", { name: "Show the deliveries" }).click();
      await page.getByText("HTTP 200").waitFor();
      await page.getByRole("button", { name: "Request and answer" }).click();
      await page.getByText('"received": true').waitFor();
    });
  });
});
