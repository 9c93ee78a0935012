import type * as v from "valibot";
import type { TaskOwner } from "../../platform/request-thread.ts";
import { validate } from "../request/validate.ts";
import { SubmitBulkSchema } from "../schemas/bulk.ts";
import { RecordFeedbackSchema } from "../schemas/feedback.ts";
import { SubmitOverridesSchema } from "../schemas/override.ts";
import { parseJson } from "./json-body.ts";

/** The bodies that may be over LIMITS.http.bodies.parsedHereBytes, by `operationId`: a thread looks their schemas up. */
export const LARGE_BODIES = {
  submitBulk: SubmitBulkSchema,
  recordFeedback: RecordFeedbackSchema,
  submitDisposable: SubmitOverridesSchema,
} as const satisfies Record<string, v.GenericSchema>;

export type LargeBodyName = keyof typeof LARGE_BODIES;
export type LargeBody<N extends LargeBodyName> = v.InferOutput<(typeof LARGE_BODIES)[N]>;

/** Parses and validates such a body off the event loop. @param bytes given away */
export type ParseLargeBody = <N extends LargeBodyName>(
  name: N,
  bytes: Buffer,
  owner: TaskOwner,
) => Promise<LargeBody<N>>;

/** The thread's side of it. @throws AppError `malformed_json`, `validation_failed` */
export function parseLargeBody<N extends LargeBodyName>(name: N, bytes: Uint8Array): LargeBody<N> {
  const schema: v.GenericSchema<unknown, unknown> = LARGE_BODIES[name];
  return validate(schema, parseJson(bytes), "body") as LargeBody<N>;
}
