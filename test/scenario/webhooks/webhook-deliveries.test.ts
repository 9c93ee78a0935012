import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { Webhook } from "standardwebhooks";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { WebhookDelivery, WebhookDeliveryExchange } from "../../../src/features/webhooks/deliveries.ts";
import { recordEvent } from "../../../src/features/webhooks/outbox.ts";
import { askAgain } from "../../support/ask-again.ts";
import { createProcesses } from "../../support/processes.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { createTcpGate, throughGate } from "../../support/tcp-gate.ts";
import { until } from "../../support/until.ts";
import {
  inSilence,
  type Received,
  startReceiver,
  type WebhookReceiver,
  withStatus,
} from "../../support/webhook-receiver.ts";

/** Deliveries to webhooks, by two relays: signed, logged, retried, redelivered, stopped. */
const closing = createClosing();
const processes = createProcesses();
let deployment: TestDeployment;
let api: TestApi;
let team: Team;
let receiver: WebhookReceiver;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  closing.after(() => processes.close());
  api = await deployment.startApi();
  await Promise.all([deployment.startRelay(), deployment.startRelay()]);
});
after(closing.close);

beforeEach(async () => {
  // More than may be sent by hand in an hour.
  team = await deployment.team("starter", { writesBurst: 2 * LIMITS.webhooks.manualPerHour });
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

type Hook = { id: string; secret: string };

async function create(url = receiver.url, key = team.session): Promise<Hook> {
  const answer = await api.send<Hook>("POST", "/v1/webhooks", { key, body: { url } });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

async function ping(id: string, key = team.session): Promise<string> {
  const answer = await api.send<{ event_id: string }>("POST", `/v1/webhooks/${id}/ping`, { key });
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return answer.body.event_id;
}

async function logOf(id: string, query = ""): Promise<WebhookDelivery[]> {
  const path = `/v1/webhooks/${id}/deliveries${query}`;
  const answer = await api.send<{ data: WebhookDelivery[] }>("GET", path, { key: team.session });
  assert.equal(answer.status, 200);
  return answer.body.data;
}

/** The delivery of an event once it is not pending any more. */
const settled = (id: string, eventId: string) =>
  until("the delivery is settled", async () => {
    const found = (await logOf(id)).find((delivery) => delivery.event_id === eventId);
    return found !== undefined && found.status !== "pending" && found;
  });

async function webhookOf(id: string): Promise<Record<string, unknown>> {
  const answer = await api.send<{ data: Record<string, unknown>[] }>("GET", "/v1/webhooks", {
    key: team.session,
  });
  return answer.body.data.find((webhook) => webhook.id === id) ?? assert.fail("not listed");
}

/** State of the webhook itself, which a relay writes after the delivery's outcome, in a statement of its own. */
const noted = (id: string, holds: (webhook: Record<string, unknown>) => boolean) =>
  until("it is noted at the webhook", async () => holds(await webhookOf(id)));

/** As if the time to the next attempt had passed. */
const hasten = (id: string) => deployment.sql`
  update webhook_deliveries set next_attempt_at = now() where lane = ${id} and status = 'pending'`;

function verified(secret: string, { body, headers }: Received): Record<string, unknown> {
  return new Webhook(secret).verify(body, headers as Record<string, string>) as Record<string, unknown>;
}

const arrived = (count: number, at = receiver) =>
  until(`${count} arrived`, () => at.received.length >= count && at.received);

describe("a ping", () => {
  it("arrives signed, is logged, and sent again when asked", async () => {
    const hook = await create();
    const bystander = await create();
    const eventId = await ping(hook.id);
    const [first] = await arrived(1);
    assert.ok(first);
    const told = verified(hook.secret, first);
    const { timestamp, ...rest } = told;
    assert.deepEqual(rest, { id: eventId, type: "ping", livemode: true, data: { webhook_id: hook.id } });
    assert.match(String(timestamp), /^20\d\d-\d\d-\d\dT.*Z$/);
    assert.equal(first.headers["webhook-id"], eventId);
    assert.throws(() => verified(bystander.secret, first), /signature/);

    const { id, duration_ms, created_at, last_attempt_at, ...logged } = await settled(hook.id, eventId);
    assert.ok((duration_ms ?? -1) >= 0 && created_at <= (last_attempt_at ?? ""));
    assert.deepEqual(logged, {
      event_id: eventId,
      event_type: "ping",
      status: "succeeded",
      attempts: 1,
      response_status: 204,
      error: null,
      next_attempt_at: null,
    });

    const path = `/v1/webhooks/${hook.id}/deliveries/${id}/redeliver`;
    const again = await api.send<WebhookDelivery>("POST", path, { key: team.session });
    assert.deepEqual([again.status, again.body.event_id, again.body.attempts], [202, eventId, 0]);
    const [, second] = await arrived(2);
    assert.ok(second && second.body === first.body && second.headers["webhook-id"] === eventId);
    verified(hook.secret, second);
    await until("both are logged", async () => (await logOf(hook.id, "?status=succeeded")).length === 2);
    assert.deepEqual(await logOf(bystander.id), []);
    await noted(hook.id, ({ last_success_at }) => last_success_at !== null);
  });

  it("is shown with what was sent, and the beginning of what was answered", async () => {
    const hook = await create();
    receiver.answer((_, response) => void response.writeHead(500).end("out of\0 order"));
    const eventId = await ping(hook.id);
    const tried = await until("it was tried", async () => {
      const [delivery] = await logOf(hook.id);
      return delivery?.event_id === eventId && delivery.attempts === 1 && delivery;
    });
    const path = `/v1/webhooks/${hook.id}/deliveries/${tried.id}`;
    const find = () => api.send<WebhookDeliveryExchange>("GET", path, { key: team.session });
    const { request_body, response_body, ...rest } = (await find()).body;
    assert.deepEqual(rest, tried);
    assert.deepEqual([request_body, response_body], [receiver.received[0]?.body, "out of order"]);
    await receiver.close();
    await hasten(hook.id);
    await until("no answer came the second time", async () => (await find()).body.response_body === null);
    assert.equal((await find()).body.request_body, request_body);
    const { id: other } = await create();
    for (const wrong of [`${hook.id}/deliveries/${eventId}`, `${other}/deliveries/${tried.id}`])
      assert.equal(
        (await api.send("GET", `/v1/webhooks/${wrong}`, { key: team.session })).status,
        404,
        wrong,
      );
  });

  it("of a test key's webhook says that it is a test event", async () => {
    const hook = await create(receiver.url, team.testKey);
    await ping(hook.id, team.session);
    const [first] = await arrived(1);
    assert.equal(first && verified(hook.secret, first).livemode, false);
  });

  it("is refused when there were many in an hour", async () => {
    const { id } = await create();
    receiver.answer(inSilence);
    const path = `/v1/webhooks/${id}/ping`;
    const { manualPerHour } = LIMITS.webhooks;
    const ask = () => askAgain(() => api.send("POST", path, { key: team.session }));
    const answers = await Promise.all(Array.from({ length: manualPerHour + 10 }, ask));
    const refused = answers.filter(({ status }) => status === 429);
    assert.equal(refused.length, 10);
    assert.ok(
      refused.every(({ body, headers }) => body.code === "rate_limited" && headers.has("retry-after")),
    );
    assert.equal(answers.filter(({ status }) => status === 202).length, manualPerHour);
  });
});

describe("a delivery that fails", () => {
  it("is tried again until it succeeds, with the same id and a new signature", async () => {
    const hook = await create();
    receiver.answer(withStatus(500));
    const eventId = await ping(hook.id);
    await arrived(1);
    const waits = await until("it waits", async () => {
      const [last] = await logOf(hook.id);
      return last?.response_status === 500 && last;
    });
    assert.deepEqual([waits.status, waits.error, waits.attempts], ["pending", "refused", 1]);
    assert.ok(Date.parse(waits.next_attempt_at ?? "") > Date.parse(waits.last_attempt_at ?? ""));
    await noted(hook.id, ({ failing_since }) => failing_since !== null);
    receiver.answer(withStatus(302, { Location: "http://127.0.0.1:1/" }));
    await hasten(hook.id);
    await arrived(2);
    await until("it is logged", async () => (await logOf(hook.id))[0]?.error === "redirected");
    receiver.answer(withStatus(200));
    await hasten(hook.id);
    const done = await settled(hook.id, eventId);
    assert.deepEqual([done.status, done.attempts, done.error], ["succeeded", 3, null]);
    for (const request of receiver.received) assert.equal(verified(hook.secret, request).id, eventId);
    await noted(hook.id, ({ failing_since }) => failing_since === null);
  });

  it("by 410 disables the webhook, until it is enabled again", async () => {
    const hook = await create();
    receiver.answer(withStatus(410));
    assert.equal((await settled(hook.id, await ping(hook.id))).error, "gone");
    await until("it is disabled", async () => (await webhookOf(hook.id)).disabled_reason === "gone");
    const key = team.session;
    const refused = await api.send("POST", `/v1/webhooks/${hook.id}/ping`, { key });
    assert.deepEqual([refused.status, refused.body.code], [409, "webhook_disabled"]);
    await deployment.sql.begin((tx) =>
      recordEvent(tx, { teamId: team.id, type: "bulk.completed", livemode: true, data: {} }),
    );
    receiver.answer(withStatus(204));
    await until("the event was fanned out", async () => {
      const left = await deployment.sql`
        select from events where team_id = ${team.id} and fanned_out_at is null`;
      return left.length === 0;
    });
    assert.equal((await logOf(hook.id)).length, 1);
    await api.send("PATCH", `/v1/webhooks/${hook.id}`, { key, body: { status: "enabled" } });
    assert.equal((await settled(hook.id, await ping(hook.id))).status, "succeeded");
  });

  it("to a receiver in silence does not hold up another's", async () => {
    const silent = await startReceiver();
    const other = await deployment.team("starter");
    silent.answer(inSilence);
    const slow = await create(silent.url, other.session);
    for (let i = 0; i < 12; i++) await ping(slow.id, other.session);
    await until(
      "the silent one holds its places",
      () => silent.received.length >= LIMITS.webhooks.inFlightPerWebhook,
    );
    const hook = await create();
    for (let i = 0; i < 12; i++) await ping(hook.id);
    await arrived(12);
    await silent.close();
  });
});

describe("who is told", () => {
  it("are the webhooks subscribed to the event, each by its own secret, and no other team's", async () => {
    const otherTeam = await deployment.team("starter");
    await create(receiver.url, otherTeam.session);
    const all = await create();
    const some = await api.send<Hook>("POST", "/v1/webhooks", {
      key: team.session,
      body: { url: receiver.url, events: ["bulk.failed"] },
    });
    const data = { job_id: "job_1", rows: 3 };
    for (const type of ["bulk.completed", "bulk.failed"] as const)
      await deployment.sql.begin((tx) => recordEvent(tx, { teamId: team.id, type, livemode: true, data }));
    await arrived(3);
    await until("all is settled", async () => (await logOf(all.id, "?status=succeeded")).length === 2);
    assert.equal(receiver.received.length, 3);
    const bySome = receiver.received.filter((request) => {
      try {
        return verified(some.body.secret, request).type === "bulk.failed";
      } catch {
        return false;
      }
    });
    assert.equal(bySome.length, 1);
    assert.deepEqual(
      (await logOf(some.body.id)).map((delivery) => delivery.event_type),
      ["bulk.failed"],
    );
  });
});

describe("a relay", () => {
  it("that may not reach private addresses reaches none by name either, whatever was allowed before", async () => {
    const own = await createDeployment();
    const strictTeam = await own.team("starter");
    const ownApi = await own.startApi({ WEBHOOK_PRIVATE_ADDRESSES: "false" });
    await own.startRelay({ WEBHOOK_PRIVATE_ADDRESSES: "false" });
    own.world.dns.set("inside.test", { a: ["127.0.0.1"] });
    own.world.dns.set("mixed.test", { a: ["8.8.8.8", "127.0.0.1"] });
    own.world.dns.set("mapped.test", { aaaa: ["::ffff:127.0.0.1"] });
    for (const [host, error] of [
      ["inside.test", "address_not_allowed"],
      ["mixed.test", "address_not_allowed"],
      ["mapped.test", "address_not_allowed"],
      ["missing.test", "host_not_found"],
    ] as const) {
      const key = strictTeam.session;
      const made = await ownApi.send<Hook>("POST", "/v1/webhooks", {
        key,
        body: { url: `https://${host}:${receiver.port}/` },
      });
      await ownApi.send("POST", `/v1/webhooks/${made.body.id}/ping`, { key });
      const path = `/v1/webhooks/${made.body.id}/deliveries`;
      await until(`${host} ends as ${error}`, async () => {
        const { body } = await ownApi.send<{ data: WebhookDelivery[] }>("GET", path, { key });
        const text = JSON.stringify(body);
        assert.ok(!text.includes("127.0.0.1") && !text.includes("8.8.8.8"), text);
        return body.data[0]?.error === error;
      });
    }
    assert.equal(receiver.received.length, 0);
    await own.stop();
  });

  it("does not show whether something listens at an address: what refused and what was silent are logged alike", async () => {
    const silent = await startReceiver();
    const hook = await create(`${silent.url}/private`);
    await silent.close();
    const eventId = await ping(hook.id);
    const tried = () =>
      until("it was tried", async () => {
        const [delivery] = await logOf(hook.id);
        return delivery?.event_id === eventId && delivery.attempts > 0 && delivery;
      });
    const refused = await tried();
    assert.deepEqual([refused.error, refused.response_status], ["connection_failed", null]);
    // The operator finds it where it is written down.
    const [row] = await deployment.sql<[{ error: string }]>`
      select error from webhook_deliveries where id = ${refused.id}`;
    assert.equal(row.error, "connection_refused");
    await deployment.sql`update webhook_deliveries set error = 'connect_timeout' where id = ${refused.id}`;
    assert.equal((await tried()).error, "connection_failed");
  });

  it("goes on when the database was away: what was sent but not written down is sent once more", async () => {
    const own = await createDeployment();
    const ownTeam = await own.team("starter");
    const ownApi = await own.startApi();
    const key = ownTeam.session;
    const hook = await ownApi.send<Hook>("POST", "/v1/webhooks", { key, body: { url: receiver.url } });
    const { id, secret } = hook.body;
    const gate = await createTcpGate(own.settings.DATABASE_URL);
    await own.startRelay({ DATABASE_URL: throughGate(own.settings.DATABASE_URL, gate) });
    receiver.answer((_, response) => {
      gate.shut();
      response.writeHead(204).end();
    });
    await ownApi.send("POST", `/v1/webhooks/${id}/ping`, { key });
    await arrived(1);
    receiver.answer(withStatus(204));
    gate.open();
    await until("it is written down", async () => {
      // As if the lease had ended.
      await own.sql`update webhook_deliveries set next_attempt_at = now() where lane = ${id} and status = 'pending'`;
      const [row] = await own.sql<
        [{ status: string }]
      >`select status from webhook_deliveries where lane = ${id}`;
      return row.status === "succeeded";
    });
    for (const request of receiver.received)
      assert.deepEqual(verified(secret, request), verified(secret, receiver.received[0] ?? request));
    await own.stop();
    await gate.close();
  });

  it("killed in the middle of a delivery leaves it to the next: the same event once more", async () => {
    const own = await createDeployment();
    const ownTeam = await own.team("starter");
    const ownApi = await own.startApi();
    const key = ownTeam.session;
    receiver.answer(inSilence);
    const hook = await ownApi.send<Hook>("POST", "/v1/webhooks", { key, body: { url: receiver.url } });
    const { id, secret } = hook.body;
    const killed = processes.start({ ...own.settings, ROLE: "relay" });
    await killed.ready;
    await ownApi.send("POST", `/v1/webhooks/${id}/ping`, { key });
    await arrived(1);
    killed.kill("SIGKILL");
    await killed.exited;
    receiver.answer(withStatus(204));
    const [claim] = await own.sql<[{ status: string; attempts: number; claims: number; left_s: number }]>`
      select status, attempts, claims, extract(epoch from next_attempt_at - now())::float8 as left_s
      from webhook_deliveries where lane = ${id}`;
    assert.deepEqual([claim.status, claim.attempts, claim.claims], ["pending", 0, 1]);
    assert.ok(claim.left_s <= LIMITS.webhooks.leaseMs / 1_000);
    await own.startRelay();
    await own.sql`update webhook_deliveries set next_attempt_at = now() where lane = ${id}`;
    const [first, second] = await arrived(2);
    assert.ok(first && second);
    assert.deepEqual(verified(secret, first), verified(secret, second));
    await own.stop();
  });
});
