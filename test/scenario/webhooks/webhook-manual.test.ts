import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { WebhookDelivery } from "../../../src/features/webhooks/deliveries.ts";
import { intervalOf } from "../../../src/stores/postgres/interval.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";
import { inSilence, startReceiver, type WebhookReceiver } from "../../support/webhook-receiver.ts";

/** Deliveries on request: their rate limit, and how old an event may be. */
const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;
let team: Team;
let receiver: WebhookReceiver;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  api = await deployment.startApi();
  await deployment.startRelay();
});
after(closing.close);

beforeEach(async () => {
  team = await deployment.team("starter", { writesBurst: 2_000, readsBurst: 2_000 });
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

async function create(): Promise<{ id: string }> {
  const body = { url: receiver.url };
  const answer = await api.send<{ id: string }>("POST", "/v1/webhooks", { key: team.session, body });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

async function ping(id: string): Promise<string> {
  const path = `/v1/webhooks/${id}/ping`;
  const answer = await api.send<{ event_id: string }>("POST", path, { key: team.session });
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return answer.body.event_id;
}

/** The delivery of an event once it is not pending any more. */
const settled = (id: string, eventId: string) =>
  until("the delivery is settled", async () => {
    const path = `/v1/webhooks/${id}/deliveries`;
    const { body } = await api.send<{ data: WebhookDelivery[] }>("GET", path, { key: team.session });
    const found = body.data.find((delivery) => delivery.event_id === eventId);
    return found !== undefined && found.status !== "pending" && found;
  });

describe("what has happened", () => {
  const events = (path: string, key = team.session) =>
    api.send<{ data: { id: string; type: string }[]; next_cursor: string | null }>("GET", path, { key });

  it("is listed newest first, each entry the very body of its deliveries", async () => {
    const { id } = await create();
    const [first, second] = [await ping(id), await ping(id)];
    await settled(id, first);
    await settled(id, second);
    const page = await events("/v1/events");
    assert.deepEqual(
      page.body.data.map((event) => event.id),
      [second, first],
    );
    const bodies = receiver.received.map(({ body }) => body).sort();
    assert.deepEqual(page.body.data.map((event) => JSON.stringify(event)).sort(), bodies);
    const newest = await events("/v1/events?limit=1");
    const rest = await events(`/v1/events?cursor=${newest.body.next_cursor}`);
    assert.deepEqual([newest.body.data[0]?.id, rest.body.data[0]?.id], [second, first]);
    const others = await events("/v1/events?type=bulk.completed");
    assert.deepEqual(others.body, { data: [], next_cursor: null });
    const unknown = await events("/v1/events?type=unheard.of");
    assert.equal(unknown.status, 400);
  });

  it("is each team's own, and of tiers with webhooks", async () => {
    await ping((await create()).id);
    const [other, free] = [await deployment.team("starter"), await deployment.team("free")];
    assert.deepEqual((await events("/v1/events", other.liveKey)).body.data, []);
    assert.equal((await events("/v1/events", free.liveKey)).status, 402);
  });
});

describe("what a team may ask for in an hour", () => {
  const send = (method: string, path: string, body?: object) =>
    api.send(method, path, { key: team.session, ...(body && { body }) });

  it("is not given back by deleting the webhook: neither pings and redeliveries nor creations", async () => {
    receiver.answer(inSilence);
    const { manualPerTeamHour, manualPerHour, createdPerHour } = LIMITS.webhooks;
    let pinged = 0;
    let made = 0;
    for (; pinged < manualPerTeamHour; made++) {
      const { id } = await create();
      const pings = Array.from({ length: manualPerHour }, () => send("POST", `/v1/webhooks/${id}/ping`));
      for (const { status } of await Promise.all(pings)) pinged += status === 202 ? 1 : 0;
      assert.equal((await send("DELETE", `/v1/webhooks/${id}`)).status, 204);
    }
    assert.equal(pinged, manualPerTeamHour);
    const next = await create();
    const more = await send("POST", `/v1/webhooks/${next.id}/ping`);
    assert.deepEqual([more.status, more.body.code], [429, "rate_limited"]);
    assert.ok(Number(more.headers.get("retry-after")) > 3_000);
    const path = `/v1/webhooks/${next.id}`;
    assert.equal((await send("DELETE", path)).status, 204);
    for (made += 1; made < createdPerHour; made++)
      assert.equal((await send("DELETE", `/v1/webhooks/${(await create()).id}`)).status, 204);
    const refused = await send("POST", "/v1/webhooks", { url: receiver.url });
    assert.deepEqual([refused.status, refused.body.code], [429, "rate_limited"]);
    await deployment.sql`update webhook_uses set since = since - interval '1 hour' where team_id = ${team.id}`;
    await ping((await create()).id);
  });
});

describe("an old event", () => {
  it("is not sent again once it is older than the log: else the log would never end", async () => {
    const hook = await create();
    const { id } = await settled(hook.id, await ping(hook.id));
    const redeliver = () =>
      api.send("POST", `/v1/webhooks/${hook.id}/deliveries/${id}/redeliver`, { key: team.session });
    const age = (ms: number) => deployment.sql`
      update events set created_at = now() - ${intervalOf(ms)}::interval where team_id = ${team.id}`;
    await age(LIMITS.webhooks.keptMs - 60_000);
    assert.equal((await redeliver()).status, 202);
    await age(LIMITS.webhooks.keptMs);
    const refused = await redeliver();
    assert.deepEqual([refused.status, refused.body.code], [410, "event_expired"]);
  });

  it("that is deleted just now is not found: no redelivery refers to it", async () => {
    const hook = await create();
    const { id } = await settled(hook.id, await ping(hook.id));
    const answer = await deployment.sql.begin(async (tx) => {
      await tx`delete from events where team_id = ${team.id}`;
      const path = `/v1/webhooks/${hook.id}/deliveries/${id}/redeliver`;
      const asked = api.send("POST", path, { key: team.session });
      await until("it waits for the deletion", async () => {
        const waits = await deployment.sql`select from pg_stat_activity
          where wait_event_type = 'Lock' and query like '%from events where id%'`;
        return waits.length > 0;
      });
      return { asked };
    });
    const { status, body } = await answer.asked;
    assert.deepEqual([status, body.code], [404, "not_found"]);
  });
});
