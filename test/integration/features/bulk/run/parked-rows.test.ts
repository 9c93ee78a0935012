import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { findJob } from "../../../../../src/features/bulk/jobs/job-sql.ts";
import type { SiteParking } from "../../../../../src/features/bulk/run/chunk.ts";
import { createParkedRows } from "../../../../../src/features/bulk/run/parked-rows.ts";
import type { RowWait } from "../../../../../src/features/bulk/run/row-verifier.ts";
import {
  type RetryCursor,
  releaseBlockedRetries,
} from "../../../../../src/features/bulk/schedule/job-retries.ts";
import { systemClock } from "../../../../../src/platform/time/clock.ts";
import { answered, createRunner, EGRESS, queueInline, rowsBy } from "../../../../support/bulk-tasks.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { createMemoryObjects } from "../../../../support/memory-objects.ts";
import { silentLog, useDatabase } from "../../../../support/store.ts";

/** Rows of jobs at sites that block us: set aside, and called when theirs lets us in again. */

const { sql } = await useDatabase();

const EMAILS = [
  "p1@shut.example",
  "p2@shut.example",
  "o1@other.example",
  "g1@shut.example",
  "r1@shut.example",
];
const WAIT_MS = 900_000;

/** `p` and `o` are parked, `g` is greylisted, `r` was itself refused as blocked. */
const rows = rowsBy(async (emails) =>
  emails.map((email) => {
    const parked = email.startsWith("p") || email.startsWith("o");
    const reason: RowWait["reason"] = email.startsWith("g") ? "greylisted" : "sender_blocked";
    const site = email.slice(email.indexOf("@") + 1);
    return { wait: { reason, site, retryAfterMs: null, parked, last: () => answered(email, "unknown") } };
  }),
);

async function setUp(parking: SiteParking) {
  const objects = createMemoryObjects();
  const deferral = { firstMs: 600_000, maxMs: 3_600_000, queueMaxMs: 86_400_000 };
  const { id, teamId } = await queueInline(sql, objects, EMAILS);
  const { run } = createRunner({ sql, objects, rows, parking, deferral });
  /** Waiting tasks: reason, site, number of refusals, rows, and whether they are due. */
  const waiting = async () =>
    (
      await sql<{ reason: string; site: string; attempts: number; rows: number; due: boolean }[]>`
        select reason, site, attempts, row_count as rows, due_at <= clock_timestamp() as due from job_tasks
        where job_id = ${id} and kind = 'retry' and state = 'ready' order by reason, site, attempts`
    ).map(({ reason, site, attempts, rows: count, due }) => [reason, site, attempts, count, due]);
  return { id, teamId, run, waiting };
}

const open: SiteParking = { waitMs: () => WAIT_MS, tryRelease: async () => {} };

describe("rows at a site that blocks us", () => {
  it("wait for that site alone, shown as deferred, and are due at once when it lets us in", async () => {
    const { id, teamId, run, waiting } = await setUp(open);
    await run(id, 0);
    assert.equal((await findJob(sql, teamId, id))?.deferred, EMAILS.length);
    const before = [
      ["greylisted", "shut.example", 1, 1, false],
      ["sender_blocked", "other.example", 0, 1, false],
      ["sender_blocked", "shut.example", 0, 2, false],
      ["sender_blocked", "shut.example", 1, 1, false],
    ];
    assert.deepEqual(await waiting(), before);
    const elsewhere = createParkedRows({ sql, egress: "another", clock: systemClock, log: silentLog });
    assert.equal(await elsewhere.release("shut.example"), 0);
    assert.deepEqual(await waiting(), before);
    const parkedRows = createParkedRows({ sql, egress: EGRESS, clock: systemClock, log: silentLog });
    assert.equal(await parkedRows.release("shut.example"), 3);
    assert.deepEqual(
      (await waiting()).map(([reason, site, , , due]) => [reason, site, due]),
      [
        ["greylisted", "shut.example", false],
        ["sender_blocked", "other.example", false],
        ["sender_blocked", "shut.example", true],
        ["sender_blocked", "shut.example", true],
      ],
    );
    assert.equal(await parkedRows.release("shut.example"), 0, "once");
  });

  it("are released once for all simultaneous reports, and no more often for one site", async () => {
    const { id, run } = await setUp(open);
    await run(id, 0);
    const clock = createFakeClock();
    const parkedRows = createParkedRows({ sql, egress: EGRESS, clock, log: silentLog });
    const shut = () => parkedRows.release("shut.example");
    assert.deepEqual(await Promise.all([shut(), shut(), shut()]), [3, 3, 3]);
    const again = [shut(), shut()];
    assert.equal(clock.pending, 1, "they wait for their turn together");
    assert.notEqual(await parkedRows.release("other.example"), 0, "another site's turn is now");
    clock.advance(LIMITS.breaker.releaseEveryMs);
    assert.deepEqual(await Promise.all(again), [0, 0]);
  });

  it("are called in pieces that go on where the last one ended", async () => {
    const { id, run, waiting } = await setUp(open);
    await run(id, 0);
    const pieces: [number, number][] = [];
    let after: RetryCursor | null = null;
    do {
      const called: Awaited<ReturnType<typeof releaseBlockedRetries>> = await releaseBlockedRetries(
        sql,
        { egress: EGRESS, site: "shut.example", after },
        1,
      );
      pieces.push([called.retries, called.rows]);
      after = called.last;
    } while (after !== null);
    assert.deepEqual(
      pieces.map(([retries]) => retries),
      [1, 1, 0],
    );
    assert.equal(
      pieces.reduce((sum, [, count]) => sum + count, 0),
      3,
    );
    const due = (await waiting()).filter(
      ([reason, site]) => reason === "sender_blocked" && site === "shut.example",
    );
    assert.ok(due.every(([, , , , isDue]) => isDue === true));
  });

  it("are released by the worker that parked them too late to be released with the others", async () => {
    let isOpen = true;
    const called: string[] = [];
    const parkedRows = createParkedRows({ sql, egress: EGRESS, clock: systemClock, log: silentLog });
    const { id, run, waiting } = await setUp({
      // It recovers between the look at it and the end of the transaction.
      waitMs: (site) => {
        const waitMs = isOpen ? WAIT_MS : null;
        if (site === "shut.example") isOpen = false;
        return waitMs;
      },
      async tryRelease(site) {
        called.push(site);
        await parkedRows.tryRelease(site);
      },
    });
    await run(id, 0);
    assert.ok(called.includes("shut.example"), String(called));
    const ofSite = (await waiting()).filter(
      ([reason, site]) => reason === "sender_blocked" && site === "shut.example",
    );
    assert.ok(ofSite.length > 0 && ofSite.every(([, , , , due]) => due === true), JSON.stringify(ofSite));
  });
});
