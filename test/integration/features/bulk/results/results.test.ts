import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { findJob, type JobRow } from "../../../../../src/features/bulk/jobs/job-sql.ts";
import { createResults, type ResultsDeps } from "../../../../../src/features/bulk/results/results.ts";
import { createGrantCheck } from "../../../../../src/features/bulk/submit/grant-check.ts";
import type { AppError } from "../../../../../src/platform/errors.ts";
import { systemClock } from "../../../../../src/platform/time/clock.ts";
import { ObjectsOutage } from "../../../../../src/stores/objects/object-errors.ts";
import { createScratch, ScratchFull } from "../../../../../src/stores/scratch.ts";
import { ALL_VALID, createRunner, queueInline } from "../../../../support/bulk-tasks.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { createMemoryObjects } from "../../../../support/memory-objects.ts";
import { useDatabase } from "../../../../support/store.ts";
import { until } from "../../../../support/until.ts";

/** Results of jobs as the API reads them. */

const { sql } = await useDatabase();

const ALL = { verdict: null, reason: null, provider: null, limit: null };
const ASK = { format: "csv", ...ALL, range: "", ifRange: "" } as const;

/** A job whose rows are answered, and not yet put together. */
async function setUp(parts: Partial<ResultsDeps> = {}) {
  const objects = createMemoryObjects();
  const { streams } = objects;
  const scratch = createScratch(tmpdir());
  /** Clock of the grant check. */
  const clock = createFakeClock();
  const granted = createGrantCheck({ sql, clock, ownBucket: "own" });
  const results = createResults({ sql, objects, streams, scratch, granted, clock: systemClock, ...parts });
  const answeredJob = async () => {
    const { id, teamId } = await queueInline(sql, objects, ["a@example.com", "b@example.com"]);
    await createRunner({ sql, objects, rows: ALL_VALID }).run(id, 0);
    const job = await findJob(sql, teamId, id);
    assert.ok(job !== null);
    return job;
  };
  return { objects, results, clock, job: await answeredJob(), answeredJob };
}

const refused = (code: string) => (error: AppError) => {
  assert.equal(error.code, code, String(error.stack));
  return true;
};

describe("downloads that are put together while they are read", () => {
  const { joinedDownloads, teamJoinedDownloads, keptJoinedDownloads } = LIMITS.results;

  it("are so many of a team, and so many of a process, until they are released", async () => {
    const { results, job, answeredJob } = await setUp();
    const mine = await Promise.all(Array.from({ length: teamJoinedDownloads }, () => results.read(job, ASK)));
    await assert.rejects(results.read(job, ASK), refused("rate_limited"));
    const others = [];
    const another = await answeredJob();
    others.push(await results.read(another, ASK));
    for (let taken = teamJoinedDownloads + 1; taken < joinedDownloads; taken++) {
      // The last places are for teams that have none.
      if (taken === joinedDownloads - keptJoinedDownloads)
        await assert.rejects(results.read(another, ASK), refused("overloaded"));
      others.push(await results.read(await answeredJob(), ASK));
    }
    const late = await answeredJob();
    await assert.rejects(results.read(late, ASK), refused("overloaded"));
    mine[0]?.release();
    mine[0]?.release();
    (await results.read(late, ASK)).release();
    for (const body of [...mine, ...others]) body.release();
    for (let again = 0; again < 2 * joinedDownloads; again++) (await results.read(job, ASK)).release();
  });

  it("are counted apart for jobs of test keys, and so are those of completed jobs", async () => {
    const { results, job, objects } = await setUp();
    const takesApart = async (row: JobRow, most: number) => {
      const test = { ...row, livemode: !row.livemode };
      const bodies = await Promise.all(Array.from({ length: most }, () => results.read(test, ASK)));
      await assert.rejects(results.read(test, ASK), refused("rate_limited"));
      bodies.push(await results.read(row, ASK));
      for (const body of bodies) body.release();
    };
    await takesApart(job, teamJoinedDownloads);
    await createRunner({ sql, objects, rows: ALL_VALID }).run(job.id, 1);
    await takesApart((await findJob(sql, job.team_id, job.id)) ?? job, LIMITS.results.teamDownloads);
  });

  it("leave those of completed jobs alone", async () => {
    const { results, job, objects } = await setUp();
    const bodies = await Promise.all(
      Array.from({ length: teamJoinedDownloads }, () => results.read(job, ASK)),
    );
    await createRunner({ sql, objects, rows: ALL_VALID }).run(job.id, 1);
    const completed = await findJob(sql, job.team_id, job.id);
    assert.equal(completed?.status, "completed");
    if (completed !== null) bodies.push(await results.read(completed, ASK));
    for (const body of bodies) body.release();
  });
});

describe("results of which a part is sent, or that are put together", () => {
  it("take a part of the event loop's time; others are as fast as their client", async () => {
    let elapsedMs = 0;
    let pausedMs = 0;
    const clock = {
      ...systemClock,
      // Each look at it takes some milliseconds.
      monotonic: () => (elapsedMs += 5),
      after(ms: number, callback: () => void) {
        if (ms === LIMITS.results.headMs) return systemClock.after(ms, callback);
        pausedMs += ms;
        return systemClock.after(0, callback);
      },
    };
    const { results, job, objects } = await setUp({ clock });
    const pausesOf = async (row: JobRow, ask: object) => {
      pausedMs = 0;
      const body = await results.read(row, { ...ASK, ...ask });
      for await (const _ of body.open(new AbortController().signal));
      body.release();
      return pausedMs;
    };
    const wait = 5 * (1 / LIMITS.results.loopPart - 1);
    assert.ok((await pausesOf(job, {})) >= wait);
    await createRunner({ sql, objects, rows: ALL_VALID }).run(job.id, 1);
    const completed = await findJob(sql, job.team_id, job.id);
    assert.ok(completed !== null);
    for (const format of ["csv", "jsonl"])
      assert.equal(await pausesOf(completed, { format, verdict: "unknown", provider: "none" }), wait);
    assert.equal(await pausesOf(completed, {}), 0);
  });
});

describe("results whose first row is long in coming", () => {
  const FEW = { ...ASK, format: "jsonl", verdict: "risky" } as const;

  /** Object storage that answers nothing until the reader has aborted. */
  async function setUpSilent() {
    let asked = 0;
    const { streams } = createMemoryObjects();
    const readRange: typeof streams.readRange = (_ref, _range, signal) =>
      new Promise((_, reject) => {
        asked += 1;
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
    const clock = createFakeClock();
    const world = await setUp({ streams: { ...streams, readRange }, clock });
    return { ...world, clock, asked: () => asked };
  }

  it("are read no further when the client leaves, whose place is free then", async () => {
    const { results, job, asked } = await setUpSilent();
    for (let again = 0; again < 2 * LIMITS.results.teamDownloads; again++) {
      const gone = new AbortController();
      const reading = results.read(job, FEW, gone.signal);
      await until("it reads", () => asked() > again);
      gone.abort(new Error("the client has gone"));
      await assert.rejects(reading);
    }
    const gone = AbortSignal.abort(new Error("the client has gone"));
    await assert.rejects(results.read(job, FEW, gone));
    assert.equal(asked(), 2 * LIMITS.results.teamDownloads);
  });

  it("have a head after a while", async () => {
    const { results, job, clock, asked } = await setUpSilent();
    const reading = results.read(job, FEW);
    await until("it reads", () => asked() > 0);
    await clock.advanceAsync(LIMITS.results.headMs);
    const body = await reading;
    const gone = new AbortController();
    const pieces = body.open(gone.signal)[Symbol.asyncIterator]();
    const next = pieces.next();
    gone.abort(new Error("the client has gone"));
    await assert.rejects(next, /the client has gone/);
    body.release();
  });
});

describe("results of a job whose list lies in a bucket of the team's", () => {
  it("are refused a second after the grant was revoked, and are there again with it", async () => {
    const { results, job, objects, clock } = await setUp();
    const { id, team_id: teamId } = job;
    const [key = ""] = [...objects.kept.keys()].filter((each) => each.endsWith("/source"));
    objects.kept.set("in/list.csv", objects.kept.get(key) ?? Buffer.alloc(0));
    await sql`update jobs set rows_bucket = 'theirs', rows_key = 'in/list.csv', rows_etag = null where id = ${id}`;
    const grant = () =>
      sql`insert into s3_grants (team_id, bucket, prefix) values (${teamId}, 'theirs', 'in/')`;
    await grant();
    (await results.read(job, ASK)).release();
    await sql`delete from s3_grants where team_id = ${teamId}`;
    clock.advance(LIMITS.bulk.grantsFreshMs);
    await assert.rejects(results.read(job, ASK), refused("s3_not_granted"));
    await grant();
    clock.advance(LIMITS.bulk.grantsFreshMs);
    (await results.read(job, ASK)).release();
  });
});

describe("results that cannot be read", () => {
  const failing = async (error: Error) => {
    const { objects } = await setUp();
    const { results, job } = await setUp({
      streams: { ...objects.streams, readRange: () => Promise.reject(error) },
    });
    return results.read(job, ASK).then(
      () => assert.fail("they were read"),
      (thrown: unknown) => thrown,
    );
  };

  it("are unavailable when storage or the disk fails, which may pass, and the cause is kept", async () => {
    for (const error of [new ObjectsOutage("away"), new ScratchFull("full", true)]) {
      const thrown = (await failing(error)) as AppError;
      assert.deepEqual([thrown.code, thrown.cause], ["unavailable", error]);
    }
  });

  it("are a fault of ours for any other reason, and not reported as an outage", async () => {
    for (const error of [new TypeError("a bug"), new ScratchFull("too long", false)])
      assert.equal(await failing(error), error);
  });
});
