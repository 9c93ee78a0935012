import { randomBytes } from "node:crypto";
import { GetObjectCommand, NoSuchKey, PutObjectCommand } from "@aws-sdk/client-s3";
import { MissingObject } from "../../../stores/objects/object-errors.ts";
import type { ByteRange } from "../../../stores/objects/object-reads.ts";
import { httpStatus, type ObjectStore } from "../../../stores/objects/objects.ts";

export { MissingObject } from "../../../stores/objects/object-errors.ts";

/**
 * The objects of bulk jobs. Those of a job are below `teams/<team>/jobs/<job>/`, those of a team below `teams/<team>/`:
 *
 * - `source`: the rows as given, until the job has ended; for an upload or another bucket's object that cannot be read in
 * parts, `source-<attempt>`: its converted form;
 * - `repeats`: the index of repeated rows, the same for every writer with the same division into chunks; kept as long as
 * the source;
 * - `shards/<chunk>-<attempt>`: a worker's results of a chunk, kept as long; the task names the attempt that counts;
 * - `results-<attempt>.jsonl`, `.csv`: the assembled results; the job names the attempt that counts.
 *
 * Other attempts are deleted LIMITS.bulk.spentRestMs after the job's end, even if the source is kept, as for a cancelled job.
 *
 * An object is written whole or not at all. Every operation ends within LIMITS.objects.operationMs, or as soon as it is
 * cancelled: then it rejects with the signal's reason.
 */
export interface JobObjects {
  put(key: string, body: string | Uint8Array, contentType: string, cancelled?: AbortSignal): Promise<void>;
  /** The whole object. @throws MissingObject */
  get(key: string, cancelled?: AbortSignal): Promise<Buffer>;
  /** A range of it, at least one byte. @throws MissingObject also when the object ends before the range */
  getRange(key: string, range: ByteRange, cancelled?: AbortSignal): Promise<Buffer>;
}

export function jobPrefix(teamId: string, jobId: string): string {
  return `teams/${teamId}/jobs/${jobId}/`;
}

export function sourceKey(teamId: string, jobId: string): string {
  return `${jobPrefix(teamId, jobId)}source`;
}

/** A new key for the rows that an analysis converts from a source that cannot be read in parts. */
export function newRowsKey(teamId: string, jobId: string): string {
  return `${sourceKey(teamId, jobId)}-${newAttempt()}`;
}

export function repeatsKey(teamId: string, jobId: string): string {
  return `${jobPrefix(teamId, jobId)}repeats`;
}

/** Random, so that two workers on one task never overwrite each other. */
function newAttempt(): string {
  return randomBytes(8).toString("hex");
}

export function shardsPrefix(teamId: string, jobId: string): string {
  return `${jobPrefix(teamId, jobId)}shards/`;
}

/** A new key for the shard of a chunk. */
export function newShardKey(teamId: string, jobId: string, chunk: number): string {
  return `${shardsPrefix(teamId, jobId)}${String(chunk).padStart(8, "0")}-${newAttempt()}`;
}

/** The key prefix of all results of a job, by any attempt. */
export function resultsPrefix(teamId: string, jobId: string): string {
  return `${jobPrefix(teamId, jobId)}results-`;
}

/** A new key prefix for assembled results; `.` and the format follow. */
export function newResultsKey(teamId: string, jobId: string): string {
  return `${resultsPrefix(teamId, jobId)}${newAttempt()}`;
}

function isMissing(error: unknown): boolean {
  return error instanceof NoSuchKey || httpStatus(error) === 416;
}

export function createJobObjects(store: Pick<ObjectStore, "client" | "bucket" | "within">): JobObjects {
  const { client, bucket: Bucket } = store;

  async function read(Key: string, range: ByteRange | null, cancelled?: AbortSignal): Promise<Buffer> {
    const Range =
      range === null ? {} : { Range: `bytes=${range.firstByte}-${range.firstByte + range.bytes - 1}` };
    try {
      return await store.within(async (abortSignal) => {
        const { Body } = await client.send(new GetObjectCommand({ Bucket, Key, ...Range }), { abortSignal });
        const { buffer, byteOffset, byteLength } = (await Body?.transformToByteArray()) ?? new Uint8Array();
        return Buffer.from(buffer, byteOffset, byteLength);
      }, cancelled);
    } catch (error) {
      if (isMissing(error)) throw new MissingObject("no such object", { cause: error });
      throw error;
    }
  }

  return {
    async put(Key, Body, ContentType, cancelled) {
      const command = new PutObjectCommand({ Bucket, Key, Body, ContentType });
      await store.within((abortSignal) => client.send(command, { abortSignal }), cancelled);
    },
    get: (key, cancelled) => read(key, null, cancelled),
    getRange: (key, range, cancelled) => read(key, range, cancelled),
  };
}
