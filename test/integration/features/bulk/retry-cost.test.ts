import assert from "node:assert/strict";
import { it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createPostgres } from "../../../../src/stores/postgres/postgres.ts";
import { allValid, answered, createRunner, queueInline, rowsBy } from "../../../support/bulk-tasks.ts";
import { createMemoryObjects } from "../../../support/memory-objects.ts";
import { createPostgresCounter } from "../../../support/postgres-counter.ts";
import { useDatabase } from "../../../support/store.ts";

/**
 * Calls of a retry to the stores, while other retries of its job wait: most tasks of a list that waits for mail servers
 * are such.
 */
const { url, closing } = await useDatabase();
const counter = await createPostgresCounter(url);
closing.after(() => counter.close());
const sql = createPostgres({ url: counter.url, maxConnections: 1, applicationName: "rcpt-test" });
closing.after(() => sql.end({ timeout: 1 }));

const SITES = ["a.example", "b.example", "c.example"];

/** All wait when they are asked as a chunk's. */
const rows = rowsBy(async (emails, ask, manner, control) =>
  manner.kind === "retry"
    ? allValid(emails, ask, manner, control)
    : emails.map((email) => {
        const site = email.slice(email.indexOf("@") + 1);
        const last = () => answered(email, "unknown");
        return { wait: { reason: "busy", site, retryAfterMs: null, parked: false, last } };
      }),
);

/** A chunk with rows of each site, and a worker whose reads of object storage are counted. */
async function setUp() {
  const objects = createMemoryObjects();
  const perSite = LIMITS.bulk.retryRowsPerSite;
  const emails = SITES.flatMap((site) => Array.from({ length: perSite }, (_, i) => `user${i}@${site}`));
  const { id } = await queueInline(sql, objects, emails);
  const reads = { count: 0 };
  const worker = () =>
    createRunner({
      sql,
      objects,
      rows,
      streams: {
        readRange: (...range) => {
          reads.count += 1;
          return objects.streams.readRange(...range);
        },
      },
    });
  return { id, objects, emails, reads, worker };
}

it("a retry is two statements and one object beside what its team says of domains, and one read for all of its chunk", async () => {
  const { id, objects, emails, reads, worker } = await setUp();
  const { run, clock } = worker();
  await run(id, 0);
  // By then the team's domain lists are certainly read again.
  await clock.advanceAsync(2 * LIMITS.bulk.overlaysFreshMs);
  const before = { trips: counter.roundTrips, reads: reads.count, objects: objects.kept.size };
  await run(id, 1);
  const overlay = 1;
  assert.deepEqual(
    [
      counter.roundTrips - before.trips - overlay,
      reads.count - before.reads,
      objects.kept.size - before.objects,
    ],
    [2, 1, 1],
  );
  for (const number of [2, 3]) await run(id, number);
  assert.equal(reads.count - before.reads, 1);
  await run(id, 4);
  const [job] = await sql`select status, valid from jobs where id = ${id}`;
  assert.deepEqual([job?.status, job?.valid], ["completed", emails.length]);
});

it("retries of rows that another worker put off read their chunk once", async () => {
  const { id, emails, reads, worker } = await setUp();
  await worker().run(id, 0);
  const other = worker();
  const before = reads.count;
  await Promise.all([1, 2].map((number) => other.run(id, number)));
  await other.run(id, 3);
  assert.equal(reads.count - before, 1);
  await other.run(id, 4);
  const [job] = await sql`select status, valid from jobs where id = ${id}`;
  assert.deepEqual([job?.status, job?.valid], ["completed", emails.length]);
});
