import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { extname } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { ListMultipartUploadsCommand, ListPartsCommand } from "@aws-sdk/client-s3";
import { encodeChunkRepeats } from "../../../../../src/features/bulk/analysis/repeats.ts";
import {
  createJobObjects,
  MissingObject,
  repeatsKey,
} from "../../../../../src/features/bulk/results/job-objects.ts";
import type { JobMaterial } from "../../../../../src/features/bulk/results/job-results.ts";
import { createJoinThread, type JoinSources } from "../../../../../src/features/bulk/results/join-thread.ts";
import { encodeShard } from "../../../../../src/features/bulk/results/shard.ts";
import { writeResults } from "../../../../../src/features/bulk/results/write-results.ts";
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
import { silentLog } from "../../../../support/store.ts";
import { until } from "../../../../support/until.ts";

/** Rows are wide, so that results come to several parts of an object. */
const CHUNKS = 12;
const ROWS_PER_CHUNK = 40;
const NOTE = "n".repeat(50_000);
const idle = new AbortController().signal;
const threadFile = (name: string) =>
  fileURLToPath(new URL(`../../../../support/threads/${name}${extname(import.meta.url)}`, import.meta.url));
/** The thread's file with ends of its own. To take its memory would end the whole process on Node.js 24. */
const MORTAL = threadFile("mortal-join");
const STILLBORN = threadFile("stillborn-join");

const CHECKS = { smtp: { catch_all: "unknown" }, role: {}, disposable: {}, mx: {} };
const resultOf = (row: number) =>
  ({
    email: `a${row}@example.com`,
    verdict: "valid",
    reason: "accepted",
    risk_score: 0,
    checks: CHECKS,
  }) as never;

/** The thread on real object storage, and a job there whose every row but the first two of a chunk has its own result. */
async function setUp(t: TestContext, file?: string) {
  const { endpoint, region, bucket, ...credentials } = await testObjects();
  const settings = { endpoint, publicEndpoint: endpoint, region, bucket, credentials };
  const store = createObjectStore(settings, systemClock);
  t.after(() => store.stop());
  const objects = createJobObjects(store);
  const streams = createObjectStreams(store, systemClock);
  const setup = { objects: settings, scratchDir: tmpdir() };
  const thread = createJoinThread(setup, silentLog, file);
  t.after(() => thread.close());
  const material: JobMaterial = {
    ...{ jobId: "job_1", teamId: "team_1", status: "finalizing" },
    place: { bucket: null, key: "teams/team_1/jobs/job_1/source", etag: null },
    layout: { delimiter: ",", emailColumn: 0, columns: 2, header: ["email", "note"], bom: false },
    ...{ escapeFormulas: false, withEvidence: false, hasColumns: true },
    rows: CHUNKS * ROWS_PER_CHUNK,
  };
  const chunks = await storeJob(objects, material);
  const sources: JoinSources = {
    chunksOf: async (_job, after, limit) => chunks.slice(after + 1, after + 1 + limit),
    granted: async () => true,
    readRange: (...asked) => streams.readRange(...asked),
  };
  const written = async (key: string) =>
    Promise.all([objects.get(`${key}.csv`), objects.get(`${key}.jsonl`)]);
  const uploads = async () =>
    (await store.client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads ?? [];
  /** Uploads of which a part has arrived: whoever sends them knows of them. */
  const begun = async () => {
    const parts = (await uploads()).map(async ({ Key, UploadId }) =>
      store.client.send(new ListPartsCommand({ Bucket: bucket, Key, UploadId })),
    );
    return (await Promise.all(parts)).filter(({ Parts = [] }) => Parts.length > 0);
  };
  const local = { objects, streams, scratch: createScratch(tmpdir()), ...sources };
  return { thread, setup, material, chunks, sources, objects, local, written, uploads, begun };
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

/** As `chunksOf`, two at a time; the sixth asking waits until it is let go. */
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
  const chunksOf: JoinSources["chunksOf"] = async (_job, after) => {
    asked += 1;
    if (asked === 6) {
      reached();
      await gate;
    }
    return chunks.slice(after + 1, after + 3);
  };
  return { chunksOf, atGate, letGo };
}

describe("the thread that puts results together", () => {
  it("writes what is written without it, several at once", async (t) => {
    const { thread, material, sources, local, written } = await setUp(t);
    await writeResults(local, material, "here", idle);
    const keys = ["there-1", "there-2"];
    await Promise.all(keys.map((key) => thread.write(material, key, sources, idle)));
    const [csv, jsonl] = await written("here");
    assert.equal(String(jsonl).split("\n").length, material.rows + 1);
    for (const key of keys) {
      const [ours, ourLines] = await written(key);
      assert.ok(ours?.equals(csv ?? Buffer.alloc(0)) && ourLines?.equals(jsonl ?? Buffer.alloc(0)));
    }
  });

  it("tells what went wrong as it would be told without it", async (t) => {
    const { thread, material, chunks, sources, objects } = await setUp(t);
    const join = (more: Partial<JoinSources>, job = material) =>
      thread.write(job, "key", { ...sources, ...more }, idle);
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
    const theirs = (error: Error) => join({ readRange: () => Promise.reject(error) }, foreign);
    await assert.rejects(theirs(new ObjectsOutage("away")), Interruption);
    await assert.rejects(theirs(new SourceUnavailable("too long")), SourceUnavailable);
    await assert.rejects(theirs(new ForbiddenObject("no")), { code: "s3_not_granted" });
    await assert.rejects(theirs(new ChangedObject("another")), { code: "source_changed" });
    const [first, ...rest] = chunks as [ChunkOfResults, ...ChunkOfResults[]];
    const missing = [{ ...first, shardKey: "no-such-shard" }, ...rest];
    await assert.rejects(join({ chunksOf: async (_job, after) => missing.slice(after + 1) }), MissingObject);
    await assert.rejects(join({}, { ...material, rows: material.rows + 1 }), /hold 480/);
    await objects.put("newer", Buffer.from([0xfe, 1]), "application/gzip");
    const newer = [{ ...first, shardKey: "newer" }, ...rest];
    await assert.rejects(join({ chunksOf: async (_job, after) => newer.slice(after + 1) }), Interruption);
  });

  it("reads somebody else's bucket by the main thread's hand, who knows for how long it has failed", async (t) => {
    const { thread, material, sources, written } = await setUp(t);
    const foreign = { ...material, place: { bucket: "theirs", key: "list.csv", etag: null } };
    const readRange: typeof sources.readRange = ({ bucket, key }, range) => {
      assert.deepEqual([bucket, key], ["theirs", "list.csv"]);
      return sources.readRange({ bucket: null, key: material.place.key }, range);
    };
    await thread.write(material, "ours", sources, idle);
    await thread.write(foreign, "theirs", { ...sources, readRange }, idle);
    assert.deepEqual(await written("theirs"), await written("ours"));
  });

  it("stops when its task is cancelled, and leaves nothing of what it had begun", async (t) => {
    const { thread, material, chunks, sources, objects, uploads, begun } = await setUp(t);
    const { chunksOf, atGate } = slowly(chunks);
    const controller = new AbortController();
    const joined = thread.write(material, "cancelled", { ...sources, chunksOf }, controller.signal);
    await atGate;
    await until("parts are sent", async () => (await begun()).length === 2);
    controller.abort(new Interruption("cancelled"));
    await assert.rejects(joined, Interruption);
    assert.deepEqual(await uploads(), []);
    await assert.rejects(objects.get("cancelled.csv"), MissingObject);
    await thread.write(material, "after", sources, idle);
    await objects.get("after.csv");
  });

  it("that dies fails what it had in hand, and nothing that comes after", async (t) => {
    const { thread, material, chunks, sources, objects } = await setUp(t, MORTAL);
    const { chunksOf, atGate, letGo } = slowly(chunks);
    const beside = thread.write(material, "beside", { ...sources, chunksOf }, idle);
    await atGate;
    const died = { name: "Error", message: "the thread that puts results together died" };
    await Promise.all([
      assert.rejects(thread.write(material, "die", sources, idle), died),
      assert.rejects(beside, died),
    ]);
    // What it had asked for is answered to nobody.
    letGo();
    await thread.write(material, "again", sources, idle);
    await objects.get("again.jsonl");
  });

  it("that does not even begin fails whoever waits for it, and the next begins another", async (t) => {
    const { thread, setup, material, sources, objects } = await setUp(t);
    const { objects: settings } = setup;
    // Its modules do not load.
    setup.objects = null as never;
    const died = { name: "Error", message: "the thread that puts results together died" };
    const waiting = ["one", "two"].map((key) => thread.write(material, key, sources, idle));
    await Promise.all(waiting.map((joined) => assert.rejects(joined, died)));
    await assert.rejects(thread.write(material, "three", sources, idle), died);
    setup.objects = settings;
    await thread.write(material, "again", sources, idle);
    await objects.get("again.csv");
  });

  it("that dies as it begins fails whoever waits for it, and keeps nobody who is cancelled", async (t) => {
    const { thread, material, sources } = await setUp(t, STILLBORN);
    const controller = new AbortController();
    const waiting = assert.rejects(thread.write(material, "waiting", sources, idle), /died/);
    const cancelled = thread.write(material, "cancelled", sources, controller.signal);
    controller.abort(new Interruption("cancelled"));
    await assert.rejects(cancelled, { name: "Interruption", message: "cancelled" });
    await waiting;
    await assert.rejects(thread.write(material, "next", sources, idle), /died/);
  });

  it("is not waited for by a join that it has not begun when that is cancelled, and serves the others", async (t) => {
    const { thread, material, sources, objects, uploads } = await setUp(t);
    const controller = new AbortController();
    let asked = 0;
    const chunksOf: JoinSources["chunksOf"] = async () => {
      asked += 1;
      return [];
    };
    const cancelled = thread.write(material, "cancelled", { ...sources, chunksOf }, controller.signal);
    const beside = thread.write(material, "beside", sources, idle);
    controller.abort(new Interruption("cancelled"));
    await assert.rejects(cancelled, Interruption);
    await beside;
    await objects.get("beside.csv");
    assert.deepEqual([asked, await uploads()], [0, []]);
    await assert.rejects(objects.get("cancelled.csv"), MissingObject);
  });

  it("takes nothing once it was closed", async (t) => {
    const { thread, material, sources } = await setUp(t);
    await thread.close();
    await assert.rejects(thread.write(material, "key", sources, idle), Interruption);
  });
});
