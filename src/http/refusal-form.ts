import type { AppError } from "../core/errors.ts";
import { limitText } from "../services/limits-view.ts";
import { createHeadTemplate, type RateLimitNumbers } from "./head-template.ts";
import { problemReply, problemTemplateOf } from "./problem.ts";
import { statusLine } from "./reply.ts";
import type { RequestIds } from "./request-id.ts";
import { fieldsAfterRequestId } from "./respond.ts";

/** What refuses thousands of requests of one policy and origin, as bytes in which each fills in its id and its numbers: see head-template.ts. */
export interface RefusalForm {
  /** Status and fields, with the next id. Good until the next call. */
  head(numbers: RateLimitNumbers): Uint8Array;
  /** The body, with the id that was made last. Good until the next call. */
  body(): Uint8Array;
  /** Both, with an id of the caller's. */
  headFor(requestId: string, numbers: RateLimitNumbers): string;
  bodyFor(requestId: string): string;
}

/** Where the value of `RateLimit` will stand. */
const MARK = "<limit>";

/**
 * @param about `policy`: the value of `RateLimit-Policy`; `cors`: the fields of the request's origin
 */
export function createRefusalForm(
  error: AppError,
  { policy, cors }: { policy: string; cors: string },
  ids: RequestIds,
): RefusalForm {
  const fields = fieldsAfterRequestId(problemReply(error, ""), { rate: { policy, limit: MARK }, cors });
  const at = fields.indexOf(MARK);
  const [before, behind] = [fields.slice(0, at), fields.slice(at + MARK.length)];
  const status = `${statusLine(error.status)}\r\nX-Request-Id: `;
  const head = createHeadTemplate(status, before, ids, behind);
  const { start, end } = problemTemplateOf(error);
  const body = Buffer.from(`${start}"${"-".repeat(ids.length)}"${end}`);
  const idAt = Buffer.byteLength(start) + 1;
  return {
    head: head.fill,
    body() {
      ids.writeLast(body, idAt);
      return body;
    },
    headFor: (requestId, numbers) => status + requestId + before + limitText(numbers) + behind,
    bodyFor: (requestId) => `${start}"${requestId}"${end}`,
  };
}
