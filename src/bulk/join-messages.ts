import type { S3Place } from "../services/bulk/granted.ts";
import type { JobMaterial } from "../store/job-results.ts";
import type { ChunkOfResults } from "../store/job-tasks.ts";
import type { PackedError } from "./packed-errors.ts";

/*
 * What the main thread and the one that puts results together say to each other. A join has a number that no other has had
 * in this process; what its thread asks has one too, within the join.
 */

/** Of what only the main thread knows, which alone has Postgres. */
export type JoinQuestion =
  | { of: "chunks"; after: number; limit: number }
  | { of: "granted"; teamId: string; place: S3Place };

export type JoinAnswer = ChunkOfResults[] | boolean;

export type ToJoinThread =
  | { type: "begin"; join: number; material: JobMaterial; key: string }
  | { type: "cancel"; join: number }
  | { type: "answer"; join: number; question: number; answer: JoinAnswer }
  | { type: "failed"; join: number; question: number; error: PackedError };

export type FromJoinThread =
  | { type: "asked"; join: number; question: number; asked: JoinQuestion }
  /** `error` null: the results are written. Nothing comes of the join after this. */
  | { type: "ended"; join: number; error: PackedError | null };
