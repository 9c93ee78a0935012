import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { billingPeriodicTasks } from "../../../../src/features/billing/billing-tasks.ts";
import { pruneStripeEvents } from "../../../../src/features/billing/subscription-sql.ts";
import { intervalOf } from "../../../../src/stores/postgres/interval.ts";
import { useDatabase } from "../../../support/store.ts";

/** Events are forgotten when Stripe repeats them no more, a bounded number in a statement. */

const { sql } = await useDatabase();

const { eventsKeptMs, prunedPerRound } = LIMITS.billing;

async function insertEvents(name: string, count: number, ageMs: number): Promise<void> {
  await sql`
    insert into stripe_events (id, type, created_s, received_at)
    select ${name} || n, 'ping', 1, now() - ${intervalOf(ageMs)}::interval from generate_series(1, ${count}::int) n`;
}

async function kept(): Promise<number> {
  const [row] = await sql<[{ count: number }]>`select count(*)::int as count from stripe_events`;
  return row.count;
}

describe("events that Stripe repeats no more", () => {
  it("are forgotten in rounds that are bounded, the younger ones kept", async () => {
    await insertEvents("old", prunedPerRound + 3, eventsKeptMs + 60_000);
    await insertEvents("young", 2, eventsKeptMs - 60_000);
    assert.equal(await pruneStripeEvents(sql), prunedPerRound);
    assert.equal(await kept(), 5);
    await insertEvents("more", prunedPerRound, eventsKeptMs + 60_000);
    const rounds: number[] = [];
    const prune = async () => {
      const count = await pruneStripeEvents(sql);
      rounds.push(count);
      return count;
    };
    const [task] = billingPeriodicTasks({ rereads: null, events: { prune } });
    await task?.run(() => false);
    assert.deepEqual([rounds, await kept()], [[prunedPerRound, 3], 2]);
  });

  it("do not wait for a relay that deletes the same ones", async () => {
    await insertEvents("both", 10, eventsKeptMs + 60_000);
    await sql.begin(async (tx) => {
      await tx`select from stripe_events where id = 'both1' for update`;
      assert.equal(await pruneStripeEvents(sql), 9);
    });
    assert.equal(await pruneStripeEvents(sql), 1);
  });

  it("wait when the relay stops", async () => {
    await insertEvents("late", 1, eventsKeptMs + 60_000);
    const [task] = billingPeriodicTasks({ rereads: null, events: { prune: () => pruneStripeEvents(sql) } });
    await task?.run(() => true);
    assert.equal(await kept(), 3);
  });
});
