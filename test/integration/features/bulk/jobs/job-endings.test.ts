import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createJobEndings } from "../../../../../src/features/bulk/jobs/job-endings.ts";
import { findJob } from "../../../../../src/features/bulk/jobs/job-sql.ts";
import { type BulkJobsDeps, createBulkJobs } from "../../../../../src/features/bulk/jobs/jobs.ts";
import type { Database } from "../../../../../src/stores/postgres/postgres.ts";
import { queueInline } from "../../../../support/bulk-tasks.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { createMemoryObjects } from "../../../../support/memory-objects.ts";
import { useDatabase } from "../../../../support/store.ts";

/** Listeners for the end of a job are called once, after it has been committed. */

const { sql } = await useDatabase();

const VIEW = { publicUrl: null, retentionDays: 30 };
const CANCELLED = { status: "cancelled" } as const;

/** A job, and the events of its end in order. `database` reports commits. */
async function setUp() {
  const { id, teamId } = await queueInline(sql, createMemoryObjects(), ["a@example.com"]);
  const order: string[] = [];
  const clock = createFakeClock();
  const endings = createJobEndings({
    ...{ clock, view: VIEW },
    onEnded: (job) => void order.push(`${job.id === id ? "told" : "told of another"}: ${job.status}`),
  });
  const database = new Proxy(sql, {
    get(target, name) {
      if (name !== "begin") return Reflect.get(target, name);
      return async (...transaction: Parameters<Database["begin"]>) => {
        const result = await target.begin(...transaction);
        order.push("committed");
        return result;
      };
    },
  });
  const unasked = {} as Pick<BulkJobsDeps, "submit" | "results" | "followers">;
  const jobs = createBulkJobs({ ...unasked, sql: database, clock, view: VIEW, endings });
  const actor = { teamId, livemode: true } as Parameters<typeof jobs.cancel>[0];
  return { id, teamId, order, endings, database, jobs, actor };
}

describe("a listener for a job's end", () => {
  it("is called after its commit, and not again when it is ended again", async () => {
    const { id, teamId, order, endings, database } = await setUp();
    await endings.endAlone(database, teamId, id, CANCELLED);
    assert.deepEqual(order, ["committed", "told: cancelled"]);
    assert.equal(await endings.endAlone(database, teamId, id, CANCELLED), "cancelled");
    assert.deepEqual(order, ["committed", "told: cancelled", "committed"]);
  });

  it("is not called for one that was rolled back", async () => {
    const { id, teamId, order, endings } = await setUp();
    const broken = sql.begin(async (tx) => {
      await endings.end(tx, teamId, id, CANCELLED);
      throw new Error("of its own");
    });
    await assert.rejects(broken, /of its own/);
    assert.deepEqual(order, []);
    assert.equal((await findJob(sql, teamId, id))?.status, "queued");
  });

  it("is called for one that its team cancels, and for one that it removes", async () => {
    const cancelled = await setUp();
    await cancelled.jobs.cancel(cancelled.actor, cancelled.id);
    assert.deepEqual(cancelled.order, ["committed", "told: cancelled"]);
    await cancelled.jobs.remove(cancelled.actor, cancelled.id);
    assert.deepEqual(cancelled.order, ["committed", "told: cancelled", "committed"]);
    const removed = await setUp();
    await removed.jobs.remove(removed.actor, removed.id);
    assert.deepEqual(removed.order, ["committed", "told: cancelled"]);
  });
});
