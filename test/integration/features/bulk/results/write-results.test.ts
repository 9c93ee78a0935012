import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { describe, it, type TestContext } from "node:test";
import { ListMultipartUploadsCommand, ListPartsCommand } from "@aws-sdk/client-s3";
import { encodeChunkRepeats } from "../../../../../src/features/bulk/analysis/repeats.ts";
import {
  createJobObjects,
  MissingObject,
  repeatsKey,
} from "../../../../../src/features/bulk/results/job-objects.ts";
import type { JobMaterial } from "../../../../../src/features/bulk/results/job-results.ts";
import { encodeShard } from "../../../../../src/features/bulk/results/shard.ts";
import {
  type WriteResultsDeps,
  writeResults,
} from "../../../../../src/features/bulk/results/write-results.ts";
import { Interruption } from "../../../../../src/features/bulk/run/control.ts";
import { SourceUnavailable } from "../../../../../src/features/bulk/run/foreign-sources.ts";
import type { ChunkOfResults } from "../../../../../src/features/bulk/schedule/job-tasks.ts";
import { SourceLost } from "../../../../../src/features/bulk/submit/source-rows.ts";
import type { VerificationResult } from "../../../../../src/features/verify/answer/verification-result.ts";
import { systemClock } from "../../../../../src/platform/time/clock.ts";
import { ObjectsOutage } from "../../../../../src/stores/objects/object-errors.ts";
import {
  ChangedObject,
  createObjectStreams,
  ForbiddenObject,
} from "../../../../../src/stores/objects/object-streams.ts";
import { createObjectStore } from "../../../../../src/stores/objects/objects.ts";
import { createScratch } from "../../../../../src/stores/scratch.ts";
import { testObjects } from "../../../../support/embedded.ts";
import { until } from "../../../../support/until.ts";

/** Rows are wide, so that the results need several parts of a multipart upload. */
const CHUNKS = 16;
const ROWS_PER_CHUNK = 40;
const NOTE = "n".repeat(50_000);
const idle = new AbortController().signal;

const CHECKS = { smtp: { catch_all: "unknown" }, role: {}, disposable: {}, mx: {} };
const resultOf = (row: number) =>
  ({
    email: `a${row}@example.com`,
    verdict: "valid",
    reason: "accepted",
    risk_score: 0,
    checks: CHECKS,
  }) as never;

/** Results on real object storage, and a job there whose every row but the first two of a chunk has its own result. */
async function setUp(t: TestContext) {
  const { endpoint, region, bucket, ...credentials } = await testObjects();
  const settings = { endpoint, publicEndpoint: endpoint, region, bucket, credentials };
  const store = createObjectStore(settings, systemClock);
  t.after(() => store.stop());
  const objects = createJobObjects(store);
  const streams = createObjectStreams(store, systemClock);
  const material: JobMaterial = {
    ...{ jobId: "job_1", teamId: "team_1", status: "finalizing" },
    place: { bucket: null, key: "teams/team_1/jobs/job_1/source", etag: null },
    layout: { delimiter: ",", emailColumn: 0, columns: 2, header: ["email", "note"], bom: false },
    ...{ escapeFormulas: false, withEvidence: false, hasColumns: true },
    rows: CHUNKS * ROWS_PER_CHUNK,
  };
  const chunks = await storeJob(objects, material);
  const deps: WriteResultsDeps = {
    ...{ objects, streams, scratch: createScratch(tmpdir()), clock: systemClock },
    chunksOf: async (_job, after, limit) => chunks.slice(after + 1, after + 1 + limit),
    granted: async () => true,
  };
  const uploads = async () =>
    (await store.client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads ?? [];
  /** Uploads of which a part has arrived, so that their sender knows of them. */
  const begun = async () => {
    const parts = (await uploads()).map(async ({ Key, UploadId }) =>
      store.client.send(new ListPartsCommand({ Bucket: bucket, Key, UploadId })),
    );
    return (await Promise.all(parts)).filter(({ Parts = [] }) => Parts.length > 0);
  };
  return { material, chunks, objects, deps, uploads, begun };
}

type Objects = ReturnType<typeof createJobObjects>;

async function storeJob(objects: Objects, { place, teamId, jobId }: JobMaterial): Promise<ChunkOfResults[]> {
  const style = { delimiter: ",", escapeFormulas: false };
  const chunks: ChunkOfResults[] = [];
  let source = "";
  const repeats: Buffer[] = [];
  let repeatsByte = 0;
  for (let number = 0; number < CHUNKS; number++) {
    const firstRow = number * ROWS_PER_CHUNK;
    const firstByte = source.length;
    const rows: { offset: number; result: VerificationResult }[] = [];
    for (let offset = 0; offset < ROWS_PER_CHUNK; offset++) {
      source += `a${firstRow + offset}@example.com,${NOTE}\r\n`;
      if (number === 0 || offset > 1) rows.push({ offset, result: resultOf(firstRow + offset) });
    }
    const sameAs = new Map(number === 0 ? [] : [[0, 3] as const, [1, 5] as const]);
    const copies = new Map(number === 0 ? [[3, CHUNKS - 1] as const, [5, CHUNKS - 1] as const] : []);
    const own = encodeChunkRepeats({ sameAs, copies });
    repeats.push(own);
    const shardKey = `shard-${number}`;
    await objects.put(shardKey, await encodeShard(rows, style), "application/gzip");
    const bytes = source.length - firstByte;
    const place = { firstByte, bytes, repeatsByte, repeatsBytes: own.length };
    chunks.push({ number, firstRow, rows: ROWS_PER_CHUNK, ...place, shardKey, patches: [] });
    repeatsByte += own.length;
  }
  await objects.put(place.key, source, "text/csv");
  await objects.put(repeatsKey(teamId, jobId), Buffer.concat(repeats), "application/octet-stream");
  return chunks;
}

/** Like `chunksOf`, two at a time; the eighth call waits until `letGo`. */
function slowly(chunks: readonly ChunkOfResults[]) {
  let asked = 0;
  let letGo = () => {};
  const gate = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let reached = () => {};
  const atGate = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const chunksOf: WriteResultsDeps["chunksOf"] = async (_job, after) => {
    asked += 1;
    if (asked === 8) {
      reached();
      await gate;
    }
    return chunks.slice(after + 1, after + 3);
  };
  return { chunksOf, atGate, letGo };
}

describe("writing the results of a job", () => {
  it("writes every row in each format, several jobs at once", async (t) => {
    const { material, deps, objects } = await setUp(t);
    const keys = ["one", "two"];
    await Promise.all(keys.map((key) => writeResults(deps, material, key, idle)));
    const [csv = [], jsonl = []] = await Promise.all(
      ["csv", "jsonl"].map((format) => Promise.all(keys.map((key) => objects.get(`${key}.${format}`)))),
    );
    assert.ok(csv[0]?.equals(csv[1] ?? Buffer.alloc(0)) && jsonl[0]?.equals(jsonl[1] ?? Buffer.alloc(0)));
    assert.equal(String(csv[0]).split("\r\n").length, material.rows + 2);
    assert.equal(String(jsonl[0]).split("\n").length, material.rows + 1);
  });

  it("says whether to wait, or what was lost, by its error", async (t) => {
    const { material, chunks, deps, objects } = await setUp(t);
    const join = (more: Partial<WriteResultsDeps>, job = material) =>
      writeResults({ ...deps, ...more }, job, "key", idle);
    const away = Object.assign(new Error("away"), { code: "ECONNREFUSED" });
    await assert.rejects(join({ chunksOf: () => Promise.reject(away) }), (error: Error) => {
      assert.ok(error instanceof Interruption);
      return (error.cause as Error & { code: string }).code === "ECONNREFUSED";
    });
    const foreign = { ...material, place: { bucket: "theirs", key: "list.csv", etag: null } };
    await assert.rejects(join({ granted: async () => false }, foreign), (error: SourceLost) => {
      assert.ok(error instanceof SourceLost);
      return error.code === "s3_not_granted";
    });
    const theirs = (error: Error) =>
      join({ streams: { ...deps.streams, readRange: () => Promise.reject(error) } }, foreign);
    await assert.rejects(theirs(new ObjectsOutage("away")), Interruption);
    await assert.rejects(theirs(new SourceUnavailable("too long")), SourceUnavailable);
    await assert.rejects(theirs(new ForbiddenObject("no")), { code: "s3_not_granted" });
    await assert.rejects(theirs(new ChangedObject("another")), { code: "source_changed" });
    const [first, ...rest] = chunks as [ChunkOfResults, ...ChunkOfResults[]];
    const missing = [{ ...first, shardKey: "no-such-shard" }, ...rest];
    await assert.rejects(join({ chunksOf: async (_job, after) => missing.slice(after + 1) }), MissingObject);
    await assert.rejects(join({}, { ...material, rows: material.rows + 1 }), /hold 640/);
    await objects.put("newer", Buffer.from([0xfe, 1]), "application/gzip");
    const newer = [{ ...first, shardKey: "newer" }, ...rest];
    await assert.rejects(join({ chunksOf: async (_job, after) => newer.slice(after + 1) }), Interruption);
  });

  it("stops when its task is cancelled, and leaves nothing of what it had begun", async (t) => {
    const { material, chunks, deps, objects, uploads, begun } = await setUp(t);
    const { chunksOf, atGate, letGo } = slowly(chunks);
    const controller = new AbortController();
    const joined = writeResults({ ...deps, chunksOf }, material, "cancelled", controller.signal);
    await atGate;
    await until("parts are sent", async () => (await begun()).length === 2);
    controller.abort(new Interruption("cancelled"));
    letGo();
    await assert.rejects(joined, Interruption);
    assert.deepEqual(await uploads(), []);
    await assert.rejects(objects.get("cancelled.csv"), MissingObject);
    await writeResults(deps, material, "after", idle);
    await objects.get("after.csv");
  });
});
