import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createFanOut } from "../../../../src/features/webhooks/fan-out.ts";
import { recordEvent } from "../../../../src/features/webhooks/outbox.ts";
import { countBacklog, pruneEvents } from "../../../../src/features/webhooks/webhook-queue.ts";
import { useDatabase } from "../../../support/store.ts";
import { deliveriesOf, fanOutAll, record, teamWithWebhooks } from "./webhook-fixture.ts";

const { sql } = await useDatabase();

const waiting = async () => (await sql`select from events where fanned_out_at is null`).length;

describe("the fan-out", () => {
  it("makes one delivery for each event and webhook, though many do it at once", async () => {
    const { teamId, ids } = await teamWithWebhooks(sql, 3);
    const events = await record(sql, teamId, 250);
    const fanOut = createFanOut(sql);
    while ((await waiting()) > 0) await Promise.all(Array.from({ length: 6 }, () => fanOut()));
    for (const id of ids) {
      const eventIds = (await deliveriesOf(sql, id)).map((delivery) => delivery.event_id);
      assert.deepEqual(eventIds.sort(), [...events].sort());
    }
  });

  it("is all or nothing", async () => {
    const { teamId, ids } = await teamWithWebhooks(sql, 1);
    await record(sql, teamId, 3);
    await sql`alter table webhook_deliveries add constraint broken check (team_id <> ${sql.unsafe(`'${teamId}'`)})`;
    await assert.rejects(createFanOut(sql)());
    assert.equal(await waiting(), 3);
    await sql`alter table webhook_deliveries drop constraint broken`;
    await fanOutAll(sql);
    assert.equal((await deliveriesOf(sql, ids[0] ?? "")).length, 3);
  });

  it("lets no more wait for a webhook than it may, and says so of the rest", async () => {
    const { teamId, ids } = await teamWithWebhooks(sql, 1);
    const { pendingPerWebhook } = LIMITS.webhooks;
    await record(sql, teamId, pendingPerWebhook + 5);
    await fanOutAll(sql);
    const deliveries = await deliveriesOf(sql, ids[0] ?? "");
    const count = (status: string) => deliveries.filter((delivery) => delivery.status === status).length;
    assert.deepEqual([count("pending"), count("failed")], [pendingPerWebhook, 5]);
    assert.ok(
      deliveries.every(({ status, error }) => error === (status === "failed" ? "backlog_full" : null)),
    );
    assert.ok((await countBacklog(sql)) >= pendingPerWebhook);
  });

  it("sends a webhook the events written after it was created, however early the transaction began", async () => {
    const { teamId, ids } = await teamWithWebhooks(sql, 1);
    await sql.begin(async (tx) => {
      await tx`select now()`;
      await sql`update webhooks set created_at = clock_timestamp() where id = ${ids[0] ?? ""}`;
      await recordEvent(tx, { teamId, type: "bulk.completed", livemode: true, data: {} });
    });
    await fanOutAll(sql);
    assert.equal((await deliveriesOf(sql, ids[0] ?? "")).length, 1);
  });

  it("goes on while teams and webhooks are deleted under it, and neither waits for the other in a ring", async () => {
    const teams = await Promise.all(Array.from({ length: 8 }, () => teamWithWebhooks(sql, 2)));
    for (const { teamId } of teams) await record(sql, teamId, 40);
    const fanOut = createFanOut(sql);
    const deletions = teams.map(({ teamId, ids }, i) =>
      i % 2 === 0
        ? sql`delete from teams where id = ${teamId}`
        : sql`delete from webhooks where id = ${ids[0] ?? ""}`,
    );
    await Promise.all([...deletions, ...Array.from({ length: 4 }, () => fanOut())]);
    await fanOutAll(sql);
    assert.equal(await waiting(), 0);
    for (const [i, { ids }] of teams.entries())
      assert.equal((await deliveriesOf(sql, ids[1] ?? "")).length, i % 2 === 0 ? 0 : 40);
  });
});

describe("old events", () => {
  it("go with their deliveries, but not while one waits", async () => {
    await sql`delete from events`;
    const { teamId, ids } = await teamWithWebhooks(sql, 1);
    const [done = "", waits = "", young = ""] = await record(sql, teamId, 3);
    await fanOutAll(sql);
    await sql`update events set created_at = now() - interval '31 days' where id <> ${young}`;
    await sql`update webhook_deliveries set status = 'succeeded', next_attempt_at = null where event_id = ${done}`;
    assert.equal(await pruneEvents(sql, LIMITS.webhooks.keptMs, 10), 1);
    assert.equal(await pruneEvents(sql, LIMITS.webhooks.keptMs, 10), 0);
    const left = (await deliveriesOf(sql, ids[0] ?? "")).map((delivery) => delivery.event_id);
    assert.deepEqual(left.sort(), [waits, young].sort());
  });
});
