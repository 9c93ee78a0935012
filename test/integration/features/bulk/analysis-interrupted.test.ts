import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { ListObjectsV2Command } from "@aws-sdk/client-s3";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createControl, Interruption } from "../../../../src/features/bulk/run/control.ts";
import { ForbiddenObject, type ObjectStreams } from "../../../../src/stores/objects/object-streams.ts";
import type { Database } from "../../../../src/stores/postgres/postgres.ts";
import { type Scratch, ScratchFull } from "../../../../src/stores/scratch.ts";
import { type AnalysisBench, type FileJob, openAnalyses } from "../../../support/bulk-analysis.ts";
import { createClosing } from "../../../support/store.ts";

/** Analyses that are interrupted, or that run twice at once, on real Postgres and object storage. */
const closing = createClosing();
let bench: AnalysisBench;

before(async () => {
  bench = await openAnalyses(closing);
});
after(closing.close);

const ROWS = 20 * LIMITS.bulk.rowsPerChunk;
/** Every tenth row repeats another; several pieces of the source. */
const LIST = Buffer.from(
  `email,row\n${Array.from({ length: ROWS }, (_, i) => `u${i % 10 === 9 ? i >> 1 : i}@many.example,${i}\n`).join("")}`,
);

/** Streams that say when so many pieces of a source have been read, before the next. */
function readingStreams(pieces: number, reached: () => void | Promise<void>): ObjectStreams {
  return {
    ...bench.streams,
    async *openRead(...asked) {
      let read = 0;
      for await (const piece of bench.streams.openRead(...asked)) {
        if (read++ === pieces) await reached();
        yield piece;
      }
    },
  };
}

/** Asserts the results of exactly one analysis, whatever happened to other attempts. */
async function assertAnalysedOnce(job: FileJob): Promise<void> {
  const { status, rows_total, duplicates } = await bench.jobOf(job);
  assert.deepEqual([status, rows_total], ["processing", ROWS]);
  const chunks = await bench.chunksOf(job);
  assert.deepEqual(
    chunks.map(({ firstRow, rows }) => [firstRow, rows]),
    Array.from({ length: 20 }, (_, i) => [i * LIMITS.bulk.rowsPerChunk, LIMITS.bulk.rowsPerChunk]),
  );
  const copies = chunks.reduce((sum, { sameAs }) => sum + sameAs.size, 0);
  assert.ok(copies > 0);
  assert.equal(copies, duplicates);
  assert.equal(await bench.heldBy(job), ROWS - copies);
  const tasks = await bench.sql`
    select state, count(*)::int as count from job_tasks where job_id = ${job.id} group by state order by state`;
  assert.deepEqual(
    tasks.map(({ state, count }) => [state, count]),
    [
      ["done", 1],
      ["ready", 20],
    ],
  );
}

/** Keys of what analyses have written. */
async function writtenFor({ teamId, id }: FileJob): Promise<(string | undefined)[]> {
  const { client, bucket: Bucket } = bench.store;
  const command = new ListObjectsV2Command({ Bucket, Prefix: `teams/${teamId}/jobs/${id}/` });
  const { Contents = [] } = await client.send(command);
  return Contents.map(({ Key }) => Key);
}

describe("an analysis that is interrupted", () => {
  for (const [form, content] of [
    ["plain", LIST],
    ["gzip", gzipSync(LIST, { level: 0 })],
  ] as const)
    it(`is made again from its beginning, once: ${form}`, async () => {
      const job = await bench.queue(content);
      const control = createControl();
      const streams = readingStreams(2, () => control.cancel());
      await assert.rejects(bench.analyse(job, { streams }, control), Interruption);
      const begun = await bench.jobOf(job);
      assert.deepEqual([begun.status, begun.rows_total], ["analyzing", 0]);
      assert.equal(await bench.heldBy(job), null);
      assert.deepEqual(await writtenFor(job), []);
      await bench.analyse(job);
      await assertAnalysedOnce(job);
      assert.equal((await writtenFor(job)).length, form === "plain" ? 1 : 2);
      assert.deepEqual((await bench.jobOf(job)).started_at, begun.started_at);
    });

  it("by its team's cancelling leaves the job as it ended", async () => {
    const job = await bench.queue(LIST);
    const streams = readingStreams(2, async () => {
      const ended = await bench.sql.begin((tx) =>
        bench.endings.end(tx, job.teamId, job.id, { status: "cancelled" }),
      );
      assert.ok(ended !== null && typeof ended !== "string");
    });
    // As if the worker had learnt of the cancellation only after reading everything.
    await bench.analyse(job, { streams });
    const { status, rows_total, charged } = await bench.jobOf(job);
    assert.deepEqual([status, rows_total, charged], ["cancelled", 0, 0]);
    assert.equal(await bench.heldBy(job), null);
    assert.equal((await bench.sql`select from job_tasks where job_id = ${job.id}`).count, 1);
    assert.equal(await bench.analyse(job), false);
  });

  it("stops reading as soon as it is cancelled", async () => {
    const job = await bench.queue(LIST);
    const control = createControl();
    let later = 0;
    const streams: ObjectStreams = {
      ...bench.streams,
      async *openRead() {
        yield LIST.subarray(0, 300_000);
        control.cancel();
        for (;;) {
          later += 1;
          yield LIST.subarray(300_000, 300_100);
        }
      },
    };
    await assert.rejects(bench.analyse(job, { streams }, control), Interruption);
    assert.ok(later <= 1, `${later} pieces were read after that`);
  });
});

describe("two analyses of a job at once", () => {
  it("make one index, and one hold", async () => {
    const job = await bench.queue(gzipSync(LIST));
    // Both have read everything before either settles.
    let waiting = 0;
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const streams: ObjectStreams = {
      ...bench.streams,
      async *openRead(...asked) {
        yield* bench.streams.openRead(...asked);
        waiting += 1;
        if (waiting === 2) open();
        await gate;
      },
    };
    await Promise.all([bench.analyse(job, { streams }), bench.analyse(job, { streams })]);
    assert.equal(waiting, 2);
    await assertAnalysedOnce(job);
  });
});

describe("a dependency that fails during an analysis", () => {
  const away = Object.assign(new Error("away"), { code: "ECONNREFUSED" });

  it("is waited for: nothing has changed", async () => {
    const job = await bench.queue(LIST);
    const lost = () => Promise.reject(away);
    await assert.rejects(bench.analyse(job, { streams: readingStreams(2, lost) }), Interruption);
    const scratch: Scratch = {
      open() {
        throw new ScratchFull("no space is left", true);
      },
    };
    await assert.rejects(bench.analyse(job, { scratch }), Interruption);
    assert.equal((await bench.jobOf(job)).status, "analyzing");
    await bench.analyse(job);
    await assertAnalysedOnce(job);
  });

  it("after the commit leaves the job analysed", async () => {
    const job = await bench.queue(LIST);
    const sql = new Proxy(bench.sql, {
      get(target, property, receiver) {
        if (property !== "begin") return Reflect.get(target, property, receiver);
        return async (...transaction: Parameters<Database["begin"]>) => {
          await target.begin(...transaction);
          throw Object.assign(new Error("connection lost"), { code: "CONNECTION_CLOSED" });
        };
      },
    });
    await assert.rejects(bench.analyse(job, { sql }), Interruption);
    await assertAnalysedOnce(job);
    assert.equal(await bench.analyse(job), false);
  });

  it("by refusing us fails the job", async () => {
    const job = await bench.queue(LIST);
    const refuse = () => Promise.reject(new ForbiddenObject("no"));
    await bench.analyse(job, { streams: readingStreams(0, refuse) });
    const { status, error_code, error_detail } = await bench.jobOf(job);
    assert.deepEqual([status, error_code], ["failed", "s3_not_granted"]);
    assert.match(error_detail ?? "", /deployment's credentials/);
  });
});

describe("a list that changes while it is read", () => {
  it("fails its job", async () => {
    const job = await bench.queue(LIST);
    // The first connection ends early, and the next one meets another object.
    const streams: ObjectStreams = {
      ...bench.streams,
      async *openRead(ref, span = {}, cancelled) {
        yield* bench.streams.openRead(ref, { ...span, bytes: 200_000 }, cancelled);
        await bench.put(job.place.key, Buffer.from(LIST.toString().replaceAll("many", "more")));
        yield* bench.streams.openRead(ref, { firstByte: 200_000 }, cancelled);
      },
    };
    await bench.analyse(job, { streams });
    const { status, error_code, rows_total } = await bench.jobOf(job);
    assert.deepEqual([status, error_code, rows_total], ["failed", "source_changed", 0]);
  });
});
