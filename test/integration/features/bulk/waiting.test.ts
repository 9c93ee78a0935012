import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { findJob, type JobRow } from "../../../../src/features/bulk/jobs/job-sql.ts";
import { sourceKey } from "../../../../src/features/bulk/results/job-objects.ts";
import { createControl } from "../../../../src/features/bulk/run/control.ts";
import type { RowVerifier, RowWait, RowWaitPolicy } from "../../../../src/features/bulk/run/row-verifier.ts";
import { ObjectsOutage } from "../../../../src/stores/objects/object-errors.ts";
import { ForbiddenObject } from "../../../../src/stores/objects/object-streams.ts";
import { countedRows, shownRows } from "../../../support/bulk-counts.ts";
import {
  ALL_VALID,
  type AnswerEmails,
  allValid,
  answered,
  createRunner,
  EGRESS,
  queueInline,
  type RunnerParts,
  rowsBy,
} from "../../../support/bulk-tasks.ts";
import { createMemoryObjects } from "../../../support/memory-objects.ts";
import { useDatabase } from "../../../support/store.ts";
import { until } from "../../../support/until.ts";

/** Retries: tasks of rows that had to wait, in the hands of workers. */

const { sql } = await useDatabase();

const isSlow = (email: string) => email.startsWith("slow");

const waiting = (email: string, reason: RowWait["reason"]) => ({
  wait: {
    reason,
    site: "slow.example",
    retryAfterMs: null,
    parked: false,
    last: () => answered(email, "unknown"),
  },
});

/** Rows of slow servers wait when they are asked as a chunk's; `retry` answers them later. */
function slowRows(retry: AnswerEmails): RowVerifier {
  return rowsBy(async (emails, ask, manner, control) =>
    manner.kind === "retry"
      ? retry(emails, ask, manner, control)
      : emails.map((email) =>
          isSlow(email) ? waiting(email, "busy") : { verified: answered(email, "valid") },
        ),
  );
}

const EMAILS = ["a@x.example", "slow1@x.example", "b@x.example", "slow2@x.example", "slow1@x.example"];

async function setUp(rows: RowVerifier, rest: Partial<RunnerParts> = {}) {
  const objects = createMemoryObjects();
  const job = await queueInline(sql, objects, EMAILS);
  const runner = createRunner({ sql, objects, rows, ...rest });
  const ended = async (): Promise<JobRow> => {
    const row = await findJob(sql, job.teamId, job.id);
    assert.ok(row !== null);
    return row;
  };
  const tasks = () => sql`
    select number, kind, state, site, egress, reason, attempts, row_count, chunk from job_tasks
    where job_id = ${job.id} order by number`;
  return { ...job, ...runner, objects, ended, tasks };
}

describe("a retry", () => {
  it("asks about its own rows and no others, and ends the job when it was the last", async () => {
    const asked: [string[], RowWaitPolicy][] = [];
    const { id, run, tasks, ended, objects, teamId, told } = await setUp(
      slowRows(async (emails, ask, manner, control) => {
        asked.push([[...emails], manner]);
        return allValid(emails, ask, manner, control);
      }),
    );
    await run(id, 0);
    assert.equal((await ended()).status, "deferred");
    assert.equal(told.length, 2);
    const [, retry] = await tasks();
    assert.deepEqual(
      [retry?.kind, retry?.site, retry?.egress, retry?.reason, retry?.row_count, retry?.chunk],
      ["retry", "slow.example", EGRESS, "busy", 2, 0],
    );
    await run(id, 1);
    assert.deepEqual(asked, [
      [["slow1@x.example", "slow2@x.example"], { kind: "retry", site: "slow.example" }],
    ]);
    assert.deepEqual(await countedRows(sql, teamId, id), await shownRows(sql, objects, id));
    await run(id, 2);
    const { status, valid, charged } = await ended();
    assert.deepEqual([status, valid, charged, told.length], ["completed", 5, 4, 4]);
  });

  it("has the same rows in the process that put them off and in another", async () => {
    for (const isAnother of [false, true]) {
      const asked: string[][] = [];
      const rows = slowRows(async (emails, ask, manner, control) => {
        asked.push([...emails]);
        return allValid(emails, ask, manner, control);
      });
      const { id, run, ended, objects } = await setUp(rows);
      await run(id, 0);
      const another = createRunner({ sql, objects, rows });
      await (isAnother ? another.run(id, 1) : run(id, 1));
      assert.deepEqual(asked, [["slow1@x.example", "slow2@x.example"]]);
      await run(id, 2);
      const { valid, charged } = await ended();
      assert.deepEqual([valid, charged], [5, 4]);
    }
  });

  it("of two workers counts once", async () => {
    const { id, run, ended } = await setUp(slowRows(allValid));
    await run(id, 0);
    await Promise.all([run(id, 1), run(id, 1), run(id, 1)]);
    const { valid, charged, deferred } = await ended();
    assert.deepEqual([valid, charged, deferred], [5, 4, 0]);
  });

  it("leaves what waits again to another, and gives it up when its time is over", async () => {
    const deferral = { firstMs: 1_000, maxMs: 60_000, queueMaxMs: 3_600_000 };
    const { id, run, tasks, ended } = await setUp(
      slowRows(async (emails) => emails.map((email) => waiting(email, "greylisted"))),
      { deferral },
    );
    await run(id, 0);
    await run(id, 1);
    const [, , next] = await tasks();
    assert.deepEqual([next?.kind, next?.reason, next?.attempts, next?.chunk], ["retry", "greylisted", 1, 0]);
    await sql`update job_tasks set deferred_at = now() - interval '1 minute' where job_id = ${id} and number = 2`;
    await run(id, 2);
    await run(id, 3);
    const { status, valid, unknown, charged } = await ended();
    assert.deepEqual([status, valid, unknown, charged], ["completed", 2, 3, 2]);
  });

  it("that fails for itself is given up in the end: its rows are unknown and free, the others stay", async () => {
    const { id, run, ended, buried } = await setUp(
      slowRows(() => {
        throw new TypeError("undefined is no result");
      }),
    );
    await run(id, 0);
    await run(id, 1);
    await run(id, 2);
    const { status, valid, unknown, charged } = await ended();
    assert.deepEqual([buried, status, valid, unknown, charged], [[1], "completed", 2, 3, 2]);
  });

  it("that is cancelled is left to another worker, and costs no delivery", async () => {
    const control = createControl();
    let isAsked = false;
    const { id, run } = await setUp(
      slowRows((_emails, _ask, _manner, { signal }) => {
        isAsked = true;
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      }),
    );
    await run(id, 0);
    const outcome = run(id, 1, control);
    await until("its rows are asked about", () => isAsked);
    control.cancel();
    assert.equal(await outcome, false);
    const [retry] = await sql`select state, deliveries from job_tasks where job_id = ${id} and number = 1`;
    assert.deepEqual([retry?.state, retry?.deliveries], ["ready", 0]);
  });

  it("has nothing to do when its job has ended", async () => {
    const { id, run } = await setUp(slowRows(() => assert.fail("somebody was asked")));
    await run(id, 0);
    await sql`update jobs set status = 'cancelled', completed_at = now() where id = ${id}`;
    assert.equal(await run(id, 1), true);
  });
});

describe("a source that is not ours", () => {
  /** As if the list lay in a bucket of the team's. */
  async function lendSource(setup: Awaited<ReturnType<typeof setUp>>) {
    const { id, teamId, objects } = setup;
    const content = objects.kept.get(sourceKey(teamId, id)) ?? Buffer.alloc(0);
    objects.kept.delete(sourceKey(teamId, id));
    objects.kept.set("theirs.csv", content);
    const etag = (await objects.streams.head({ bucket: "theirs", key: "theirs.csv" }))?.etag ?? "";
    await sql`update jobs set rows_bucket = 'theirs', rows_key = 'theirs.csv', rows_etag = ${etag}, day = current_date where id = ${id}`;
    await sql`insert into s3_grants (team_id, bucket, prefix) values (${teamId}, 'theirs', '')`;
    return content;
  }

  /** Asserts that the job failed with `code`, and that its two answered rows are charged, as in a cancelled job. */
  async function assertLost({ teamId, ended }: Awaited<ReturnType<typeof setUp>>, code: string) {
    const { status, error_code, error_detail, charged } = await ended();
    assert.deepEqual([status, error_code, charged], ["failed", code, 2]);
    assert.match(error_detail ?? "", /rows that were answered are charged/);
    const [usage] = await sql`select bulk, valid from usage_days where team_id = ${teamId}`;
    assert.deepEqual([usage?.bulk, usage?.valid], [2, 2]);
  }

  it("fails the job when it is forbidden, at once, and what was answered is charged", async () => {
    let isForbidden = false;
    const setup = await setUp(slowRows(allValid), {
      streams: {
        async readRange(...asked) {
          if (isForbidden) throw new ForbiddenObject("no");
          return setup.objects.streams.readRange(...asked);
        },
      },
    });
    await lendSource(setup);
    await setup.run(setup.id, 0);
    isForbidden = true;
    await setup.run(setup.id, 1);
    await assertLost(setup, "s3_not_granted");
  });

  it("fails the job when its bucket fails for hours, and what was answered is charged", async () => {
    let isAway = false;
    const setup = await setUp(slowRows(allValid), {
      streams: {
        async readRange(...asked) {
          if (isAway) throw new ObjectsOutage("again and again");
          return setup.objects.streams.readRange(...asked);
        },
      },
    });
    await lendSource(setup);
    await setup.run(setup.id, 0);
    isAway = true;
    const { sourceAwayMs, sourceForgottenMs } = LIMITS.bulk;
    for (let waitedMs = 0; waitedMs < sourceAwayMs; waitedMs += sourceForgottenMs / 2) {
      assert.equal(await setup.run(setup.id, 1), false);
      setup.clock.advance(sourceForgottenMs / 2);
    }
    assert.equal(await setup.run(setup.id, 1), true);
    await assertLost(setup, "source_unavailable");
  });

  it("fails the job when it was lost while the results were put together", async () => {
    const setup = await setUp(ALL_VALID);
    await lendSource(setup);
    await setup.run(setup.id, 0);
    setup.objects.kept.set("theirs.csv", Buffer.from("another\n"));
    await setup.run(setup.id, 1);
    const { status, error_code, charged } = await setup.ended();
    assert.deepEqual([status, error_code, charged], ["failed", "source_changed", 4]);
  });

  it("fails the job when it was replaced, at once, and what was answered is charged", async () => {
    const setup = await setUp(slowRows(allValid));
    const content = await lendSource(setup);
    await setup.run(setup.id, 0);
    setup.objects.kept.set("theirs.csv", Buffer.concat([content, Buffer.from("more\n")]));
    await setup.run(setup.id, 1);
    await assertLost(setup, "source_changed");
    const [retry] = await sql`select from job_tasks where job_id = ${setup.id} and kind = 'retry'`;
    assert.equal(retry, undefined);
  });

  it("fails the job when it has disappeared for good, and not before", async () => {
    const setup = await setUp(slowRows(allValid));
    await lendSource(setup);
    setup.objects.kept.delete("theirs.csv");
    await setup.run(setup.id, 0);
    const { status, error_code } = await setup.ended();
    assert.deepEqual([status, error_code], ["failed", "source_missing"]);
    const [chunk] = await sql`select deliveries from job_tasks where job_id = ${setup.id} and number = 0`;
    assert.equal(chunk?.deliveries, LIMITS.bulk.missingTries);
  });
});
