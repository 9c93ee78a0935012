import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { after, before, describe, it, type TestContext } from "node:test";
import { createControl, Interruption } from "../../../src/bulk/control.ts";
import { createEarlyJoins, type EarlyBounds } from "../../../src/bulk/early-joins.ts";
import type { JoinThread } from "../../../src/bulk/join-thread.ts";
import type { RowVerifier } from "../../../src/bulk/row-verifier.ts";
import { writeResults } from "../../../src/bulk/write-results.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import { createJobEndings } from "../../../src/services/bulk/job-endings.ts";
import { materialOf } from "../../../src/store/job-results.ts";
import { chunksOf } from "../../../src/store/job-tasks.ts";
import { findJob } from "../../../src/store/jobs.ts";
import { createJoinClaims, type JoinClaims } from "../../../src/store/join-claims.ts";
import type { Database } from "../../../src/store/postgres.ts";
import type { RedisClients } from "../../../src/store/redis.ts";
import { createScratch } from "../../../src/store/scratch.ts";
import { ALL_VALID, answered, createRunner, queueInline } from "../../support/bulk-tasks.ts";
import { createGate, quiet } from "../../support/gate.ts";
import { createMemoryObjects, type MemoryObjects } from "../../support/memory-objects.ts";
import { createClosing, openDatabase, openRedis, silentLog } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/** Results that are put together while the chunks are under way: on Postgres and Redis, objects in memory. */
const closing = createClosing();
let sql: Database;
let redis: RedisClients;

before(async () => {
  ({ sql } = await openDatabase(closing));
  redis = await openRedis(closing);
});
after(closing.close);

const CHUNKS = 3;
const ROWS = CHUNKS * LIMITS.bulk.rowsPerChunk;
/** Every fifth row of a chunk behind the first repeats one before it. */
const EMAILS = Array.from({ length: ROWS }, (_, i) => `a${i % 5 === 0 ? i % 1_000 : i}@example.com`);
const BOUNDS: EarlyBounds = { ...LIMITS.bulk.early, rows: ROWS, pollMs: 5 };

const view = { publicUrl: null, retentionDays: 30 };

/** Some of a chunk's rows wait, and are answered when they are asked again. */
const SOME_WAIT: RowVerifier = {
  ...ALL_VALID,
  verify: async (emails, _ask, { kind }) =>
    emails.map((email, i) => {
      const verified = answered(email, kind === "retry" ? "unknown" : "valid");
      if (kind === "retry" || i % 100 !== 1) return { verified };
      const last = () => verified;
      return { wait: { reason: "busy", site: "slow.example", retryAfterMs: null, parked: false, last } };
    }),
};

interface Write {
  key: string;
  after: number[];
  ended: Promise<void>;
}

interface LocalParts {
  objects: MemoryObjects;
  streams: MemoryObjects["streams"];
  /** Whatever it is given it takes no sooner than this. */
  gate: Promise<void>;
}

/** As the thread does it, and what it was asked to write. */
function createLocalThread({ objects, streams, gate }: LocalParts) {
  const writes: Write[] = [];
  const thread: JoinThread = {
    write(material, key, sources, signal) {
      const asked: number[] = [];
      const chunksOf: typeof sources.chunksOf = async (jobId, behind, limit) => {
        asked.push(behind);
        const found = await sources.chunksOf(jobId, behind, limit);
        await gate;
        return found;
      };
      const deps = { objects, streams, scratch: createScratch(tmpdir()), ...sources, chunksOf };
      const ended = writeResults(deps, material, key, signal);
      writes.push({ key, after: asked, ended });
      return ended;
    },
    close: async () => {},
  };
  return { thread, writes };
}

async function setUp(t: TestContext, rows: RowVerifier = ALL_VALID, bounds: Partial<EarlyBounds> = {}) {
  const objects = createMemoryObjects();
  const job = await queueInline(sql, objects, EMAILS);
  /** A process of the role: its early joins and its tasks. */
  function startProcess(claims: JoinClaims = createJoinClaims(redis.commands), gate = Promise.resolve()) {
    const { thread, writes } = createLocalThread({ objects, streams: objects.streams, gate });
    const early = createEarlyJoins({
      ...{
        sql,
        joinThread: thread,
        granted: async () => true,
        readRange: objects.streams.readRange,
        claims,
        clock: systemClock,
        log: silentLog,
      },
      endings: createJobEndings({ clock: systemClock, view }),
      bounds: { ...BOUNDS, ...bounds },
    });
    t.after(() => early.close());
    const runner = createRunner({ sql, objects, rows, joinThread: thread, earlyJoins: early });
    const run = (number: number, id = job.id) => runner.run(id, number);
    return { early, thread, writes, claims, run };
  }
  const results = () => [...objects.kept.keys()].filter((key) => key.includes("/results-")).sort();
  const stateOf = () => findJob(sql, job.teamId, job.id);
  const left = async () => {
    const tasks = await sql<{ number: number }[]>`
      select number from job_tasks where job_id = ${job.id} and state <> 'done' order by number`;
    return tasks.map(({ number }) => number);
  };
  const completed = () =>
    until("the job is completed", async () => (await stateOf())?.status === "completed");
  return { ...job, objects, startProcess, results, stateOf, left, completed };
}

type SetUp = Awaited<ReturnType<typeof setUp>>;

/** The results of a job are what an ordinary assembly makes of it. */
async function requireWhole({ id, objects, stateOf }: SetUp, thread: JoinThread): Promise<void> {
  const material = await materialOf(sql, id);
  assert.ok(material !== null);
  const sources = {
    chunksOf: (jobId: string, behind: number, limit: number) => chunksOf(sql, jobId, behind, limit),
    granted: async () => true,
    readRange: objects.streams.readRange,
  };
  await thread.write(material, "anew", sources, new AbortController().signal);
  const key = (await stateOf())?.results_key;
  for (const format of ["csv", "jsonl"]) {
    const found = objects.kept.get(`${key}.${format}`);
    assert.ok(found !== undefined && found.length > ROWS);
    assert.ok(found.equals(objects.kept.get(`anew.${format}`) ?? Buffer.alloc(0)));
  }
}

describe("the results of a long job", () => {
  it("are put together as its chunks end, and complete it without its assembly", async (t) => {
    const job = await setUp(t);
    const { run, writes, thread } = job.startProcess();
    for (const number of [0, 2]) await run(number);
    await until("the first chunk is taken, not the third", () => writes[0]?.after.at(-1) === 0);
    assert.equal((await job.stateOf())?.status, "processing");
    await run(1);
    await job.completed();
    assert.equal(writes.length, 1);
    // Its assembly has become nobody's to do.
    assert.deepEqual(await job.left(), []);
    assert.equal(await run(CHUNKS), true);
    const { valid, charged } = (await job.stateOf()) ?? {};
    assert.deepEqual([valid, charged], [ROWS, new Set(EMAILS).size]);
    assert.deepEqual([writes.length, job.results().length], [1, 2]);
    await requireWhole(job, thread);
  });

  it("have the next chunks of their process wait where they are behind, unless another job has a task there", async (t) => {
    const [joinGate, otherGate] = [createGate(), createGate()];
    t.after(() => otherGate.open());
    let begun = 0;
    const rows: RowVerifier = {
      ...ALL_VALID,
      async verify(...asked) {
        begun += 1;
        if (asked[0].includes("other@example.com")) await otherGate.opened;
        return ALL_VALID.verify(...asked);
      },
    };
    const job = await setUp(t, rows, { behindBytes: 1, behindMs: 600_000 });
    const other = await queueInline(sql, job.objects, ["other@example.com"]);
    const { run, early, writes, thread } = job.startProcess(undefined, joinGate.opened);
    await run(0);
    await until("the join has its first chunk", () => early.turn(job.id) !== null);
    const second = run(1);
    await quiet(sql);
    assert.equal(begun, 1, "the second waits");
    const others = run(0, other.id);
    await until("another job has a task", () => begun === 2);
    await run(2);
    assert.equal(begun, 3, "the third does not");
    joinGate.open();
    await second;
    assert.equal(begun, 4);
    await job.completed();
    otherGate.open();
    await others;
    assert.equal(writes.length, 1);
    await requireWhole(job, thread);
  });

  it("wait for rows that had to wait, and have them", async (t) => {
    const job = await setUp(t, SOME_WAIT);
    const { run, writes, thread } = job.startProcess();
    for (let number = 0; number < CHUNKS; number++) await run(number);
    const retries = await job.left();
    assert.deepEqual([(await job.stateOf())?.status, retries.length > 0], ["deferred", true]);
    await until("it was begun", () => writes.length === 1);
    assert.deepEqual(writes[0]?.after, [-1]);
    for (const number of retries) await run(number);
    await job.completed();
    const { valid = 0, unknown = 0 } = (await job.stateOf()) ?? {};
    assert.equal(valid + unknown, ROWS);
    assert.ok(unknown >= retries.length);
    assert.equal(writes.length, 1);
    await requireWhole(job, thread);
  });

  it("are left to the assembly when rows wait for too long, and begun early by nobody else", async (t) => {
    const job = await setUp(t, SOME_WAIT, { patienceMs: 0 });
    const { run, writes, thread } = job.startProcess();
    await run(0);
    await until("it was begun", () => writes.length === 1);
    await assert.rejects(writes[0]?.ended ?? Promise.resolve(), Interruption);
    const other = job.startProcess();
    await run(1);
    await other.run(2);
    for (const number of await job.left()) await run(number);
    assert.deepEqual([(await job.stateOf())?.status, job.results()], ["finalizing", []]);
    const [assembly = -1] = await job.left();
    await other.run(assembly);
    assert.equal((await job.stateOf())?.status, "completed");
    assert.deepEqual([writes.length, other.writes.length, job.results().length], [1, 0, 2]);
    await requireWhole(job, thread);
  });

  it("are one process' to put together; the assembly of another waits for it", async (t) => {
    const job = await setUp(t);
    const [one, two] = [job.startProcess(), job.startProcess()];
    await one.run(0);
    await until("one has begun", () => one.writes.length === 1);
    for (let number = 1; number < CHUNKS; number++) await two.run(number);
    await two.run(CHUNKS);
    assert.equal((await job.stateOf())?.status, "completed");
    assert.deepEqual([one.writes.length, two.writes.length, job.results().length], [1, 0, 2]);
    await requireWhole(job, one.thread);
  });

  it("are put together by the assembly when the process that had begun is no more", async (t) => {
    const job = await setUp(t);
    const dead = createJoinClaims(redis.commands);
    assert.equal(await dead.claim(job.id, 60_000, BOUNDS), true);
    let looks = 0;
    const claims = createJoinClaims(redis.commands);
    const isClaimed = (id: string) => {
      looks += 1;
      return claims.isClaimed(id);
    };
    const { run, writes } = job.startProcess({ ...claims, isClaimed });
    for (let number = 0; number < CHUNKS; number++) await run(number);
    const assembled = run(CHUNKS);
    await until("the assembly waits", () => looks > 1);
    assert.deepEqual([writes.length, (await job.stateOf())?.status], [0, "finalizing"]);
    // As its lease ends.
    await dead.release(job.id);
    await assembled;
    assert.deepEqual([(await job.stateOf())?.status, job.results().length], ["completed", 2]);
  });

  it("are put together by the assembly when another process has them for too long", async (t) => {
    const job = await setUp(t, ALL_VALID, { awaitElsewhereMs: 20 });
    const other = createJoinClaims(redis.commands);
    assert.equal(await other.claim(job.id, 600_000, BOUNDS), true);
    const { run } = job.startProcess();
    for (let number = 0; number <= CHUNKS; number++) await run(number);
    assert.deepEqual([(await job.stateOf())?.status, job.results().length], ["completed", 2]);
    assert.equal(await other.isClaimed(job.id), true);
  });

  it("are put together by the assembly when Redis cannot be asked", async (t) => {
    const job = await setUp(t);
    const away = () => Promise.reject(new Error("away"));
    const claims = { claim: away, renew: away, release: away, giveUp: away, isClaimed: away };
    const { run, writes } = job.startProcess(claims);
    for (let number = 0; number < CHUNKS; number++) await run(number);
    assert.equal(writes.length, 0);
    await run(CHUNKS);
    assert.equal((await job.stateOf())?.status, "completed");
  });

  it("are dropped when the job is cancelled or removed meanwhile", async (t) => {
    for (const end of [
      (id: string) => sql`update jobs set status = 'cancelled', completed_at = now() where id = ${id}`,
      (id: string) => sql`update jobs set removed_at = now() where id = ${id}`,
    ]) {
      const job = await setUp(t);
      const { run, writes } = job.startProcess();
      await run(0);
      await until("the first chunk is taken", () => writes[0]?.after.at(-1) === 0);
      await end(job.id);
      await assert.rejects(writes[0]?.ended ?? Promise.resolve(), Interruption);
      assert.deepEqual(job.results(), []);
    }
  });

  it("are dropped when the job has ended though all chunks were taken", async (t) => {
    const job = await setUp(t, ALL_VALID, { renewMs: 5 });
    const { run, thread } = job.startProcess();
    let cancelled = false;
    let begun = false;
    // As one that has the last page, and long to write it.
    thread.write = (_material, _key, _sources, signal) =>
      new Promise((_, reject) => {
        begun = true;
        signal.addEventListener("abort", () => {
          cancelled = true;
          reject(signal.reason as Error);
        });
      });
    await run(0);
    await until("it was begun", () => begun);
    assert.equal(cancelled, false);
    await sql`update jobs set status = 'cancelled', completed_at = now() where id = ${job.id}`;
    await until("it was cancelled", () => cancelled);
  });

  it("are asked for no more by a join that failed", async (t) => {
    const job = await setUp(t);
    const { run, thread } = job.startProcess();
    let asked: Promise<unknown> | undefined;
    // A thread that dies leaves what it had asked for.
    thread.write = async (_material, _key, { chunksOf: finalChunks }) => {
      asked = finalChunks(job.id, CHUNKS - 2, 1);
      asked.catch(() => {});
      throw new Error("the thread died");
    };
    await run(0);
    await until("it was asked", () => asked !== undefined);
    // Not for want of patience.
    await assert.rejects(asked ?? Promise.resolve(), { name: "Interruption", message: "cancelled" });
  });

  it("are the assembly's when the thread that had begun them dies", async (t) => {
    const job = await setUp(t);
    const { run, thread, writes } = job.startProcess();
    const { write } = thread;
    let deaths = 0;
    thread.write = async () => {
      thread.write = write;
      deaths += 1;
      throw new Error("the thread died");
    };
    for (let number = 0; number < CHUNKS; number++) await run(number);
    await run(CHUNKS);
    assert.deepEqual([(await job.stateOf())?.status, deaths, writes.length], ["completed", 1, 0]);
  });

  it("are given up when the process stops, for another to begin", async (t) => {
    const job = await setUp(t);
    const [one, two] = [job.startProcess(), job.startProcess()];
    await one.run(0);
    await until("one has begun", () => one.writes.length === 1);
    await one.early.close();
    await assert.rejects(one.writes[0]?.ended ?? Promise.resolve(), Interruption);
    assert.equal(await one.claims.isClaimed(job.id), false);
    await two.run(1);
    await until("two has begun", () => two.writes.length === 1);
    await two.run(2);
    await job.completed();
    assert.equal(job.results().length, 2);
  });

  it("are begun by no chunk that may have ended its process, nor once two processes that began them are no more", async (t) => {
    const job = await setUp(t);
    const { run, writes } = job.startProcess();
    await sql`update job_tasks set deliveries = 1 where job_id = ${job.id} and number = 0`;
    await run(0);
    assert.equal(writes.length, 0);
    for (let death = 0; death < BOUNDS.begins; death++) {
      const dead = createJoinClaims(redis.commands);
      assert.equal(await dead.claim(job.id, 20, BOUNDS), true);
      await until("its claim has ended", async () => !(await dead.isClaimed(job.id)));
    }
    for (let number = 1; number <= CHUNKS; number++) await run(number);
    assert.equal((await job.stateOf())?.status, "completed");
    // A list as short as this is put together without the thread.
    assert.deepEqual([writes.length, job.results().length], [0, 2]);
  });

  it("keep no assembly waiting that nobody wants any more", async (t) => {
    const job = await setUp(t);
    const { early, run, writes } = job.startProcess();
    await run(0);
    await until("it was begun", () => writes.length === 1);
    const control = createControl();
    const settled = assert.rejects(early.settled(job.id, control), Interruption);
    control.cancel();
    await settled;
  });
});
