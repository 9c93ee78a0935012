import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { systemClock } from "../../../../src/core/clock.ts";
import { createEndings } from "../../../../src/services/bulk/ending.ts";
import { createBulkRemoval } from "../../../../src/services/bulk/removal.ts";
import { jobPrefix, repeatsKey, sourceKey } from "../../../../src/store/job-objects.ts";
import { findJob } from "../../../../src/store/jobs.ts";
import type { Database } from "../../../../src/store/postgres.ts";
import { ALL_VALID, createRunner, queueInline } from "../../../support/bulk-tasks.ts";
import { testLog } from "../../../support/log.ts";
import { createMemoryObjects, type MemoryObjects } from "../../../support/memory-objects.ts";
import { createClosing, openDatabase } from "../../../support/store.ts";

/** What jobs that have ended leave behind. */
const closing = createClosing();
let sql: Database;

before(async () => {
  ({ sql } = await openDatabase(closing));
});
after(closing.close);

const hourAgo = (id: string) =>
  sql`update jobs set completed_at = completed_at - interval '2 hours' where id = ${id}`;

/** Removal from objects in memory, and how often it has listed them. */
function createSweep(objects: MemoryObjects, failing = "none") {
  let listings = 0;
  const removal = createBulkRemoval({
    sql,
    async deleteBelow(prefix) {
      listings += 1;
      if (prefix.includes(failing)) throw new Error("the object cannot be deleted");
      for (const key of objects.kept.keys()) if (key.startsWith(prefix)) objects.kept.delete(key);
      return true;
    },
    log: testLog,
    retentionDays: 30,
  });
  return { sweep: () => removal.sweep(() => false), listings: () => listings };
}

describe("what cannot be removed", () => {
  it("holds up nothing else", async () => {
    const objects = createMemoryObjects();
    const poison = await queueInline(sql, objects, ["a@example.com"]);
    const next = await queueInline(sql, objects, ["a@example.com"]);
    const spent = await queueInline(sql, objects, ["a@example.com"]);
    await sql`update jobs set removed_at = now() - interval '3 hours' where id = ${poison.id}`;
    await sql`update jobs set removed_at = now() - interval '2 hours' where id = ${next.id}`;
    await sql`
      update jobs set status = 'completed', completed_at = now() - interval '2 hours' where id = ${spent.id}`;
    const { sweep } = createSweep(objects, poison.id);
    await sweep();
    const keys = [...objects.kept.keys()];
    assert.ok(keys.some((key) => key.includes(poison.id)));
    assert.ok(!keys.some((key) => key.includes(next.id) || key.includes(spent.id)));
    const left = await sql`select from jobs where id in (${poison.id}, ${next.id})`;
    assert.equal(left.count, 1);
    await createSweep(objects).sweep();
    assert.equal((await sql`select from jobs where id = ${poison.id}`).count, 0);
  });
});

describe("what a job's results were made from", () => {
  it("goes when the job has ended and nobody reads it any more; the results stay", async () => {
    const objects = createMemoryObjects();
    const { sweep, listings } = createSweep(objects);
    const running = await queueInline(sql, objects, ["a@example.com"]);
    const done = await queueInline(sql, objects, ["a@example.com"]);
    const { run } = createRunner({ sql, objects, rows: ALL_VALID });
    await run(done.id, 0);
    await run(done.id, 1);
    const keys = () =>
      [...objects.kept.keys()].filter((key) => key.includes(done.id)).map((key) => key.split("/")[4]);
    assert.equal((await findJob(sql, done.teamId, done.id))?.status, "completed");
    const before = keys();
    assert.ok(before.includes("source") && before.includes("repeats") && before.includes("shards"));
    await sweep();
    assert.deepEqual(keys(), before);
    await hourAgo(done.id);
    await sweep();
    assert.equal(listings(), 3);
    assert.deepEqual(
      keys().map((key) => key?.replace(/-.*\./, ".")),
      ["results.csv", "results.jsonl"],
    );
    assert.ok(objects.kept.has(sourceKey(running.teamId, running.id)));
    await sweep();
    assert.equal(listings(), 3);
    const job = await findJob(sql, done.teamId, done.id);
    assert.ok(objects.kept.has(`${job?.results_key}.csv`));
    assert.ok(job?.results_key?.startsWith(jobPrefix(done.teamId, done.id)));
  });

  it("stays with one that was cancelled, until it goes as a whole", async () => {
    const objects = createMemoryObjects();
    const { sweep } = createSweep(objects);
    const { id, teamId } = await queueInline(sql, objects, ["a@example.com", "a@example.com"]);
    const endings = createEndings({ clock: systemClock, view: { publicUrl: null, retentionDays: 30 } });
    await sql.begin((tx) => endings.end(tx, teamId, id, { status: "cancelled" }));
    await hourAgo(id);
    await sweep();
    assert.ok(objects.kept.has(sourceKey(teamId, id)) && objects.kept.has(repeatsKey(teamId, id)));
    await sql`update jobs set completed_at = completed_at - interval '31 days' where id = ${id}`;
    await sweep();
    assert.equal(await findJob(sql, teamId, id), null);
    await sql`update jobs set removed_at = removed_at - interval '2 hours' where id = ${id}`;
    await sweep();
    assert.ok(![...objects.kept.keys()].some((key) => key.includes(id)));
    assert.equal((await sql`select from jobs where id = ${id}`).count, 0);
  });
});
