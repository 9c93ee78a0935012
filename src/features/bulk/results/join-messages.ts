import type { MessagePort } from "node:worker_threads";
import type { ByteRange } from "../../../stores/objects/object-reads.ts";
import type { ObjectRef } from "../../../stores/objects/object-streams.ts";
import type { PackedError } from "../run/packed-errors.ts";
import type { ChunkOfResults } from "../schedule/job-tasks.ts";
import type { S3ObjectRef } from "../submit/grant-check.ts";
import type { JobMaterial } from "./job-results.ts";

/** A join as its thread gets it; its result is how it ended: null, the results are written. */
export interface JoinTask {
  material: JobMaterial;
  /** Of the results. */
  key: string;
  /** To the main thread, for as long as the join lasts. */
  port: MessagePort;
}

/**
 * What is asked of the main thread, which alone has Postgres, and knows how long another owner's bucket has failed;
 * `question` tells those of a join apart.
 */
export type JoinRequest = { question: number } & (
  | { of: "chunks"; after: number; limit: number }
  | { of: "granted"; teamId: string; place: S3ObjectRef }
  | { of: "range"; ref: ObjectRef; range: ByteRange }
);

export type JoinResponse = ChunkOfResults[] | boolean | Uint8Array;

/** What the main thread says of a join. */
export type MessageToJoin =
  | { type: "cancel" }
  | { type: "answer"; question: number; answer: JoinResponse }
  | { type: "failed"; question: number; error: PackedError };
