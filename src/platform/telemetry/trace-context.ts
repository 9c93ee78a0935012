import { createHash } from "node:crypto";

/** The identity of a span in W3C Trace Context: lower-case hex, 32 and 16 digits, neither all zero. */
export interface SpanRef {
  traceId: string;
  spanId: string;
}

/** The content of a `traceparent`: the parent of the request, and whether its sender records it. */
export interface RemoteParent extends SpanRef {
  sampled: boolean;
}

/**
 * Any version but ff (W3C Trace Context §3.2): later versions append more after a dash. Reads only the first 55 characters
 * of whatever the client sends.
 */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/s;
const TRACEPARENT_CHARS = 55;
/** Later versions may be longer; no real one is. */
const TRACEPARENT_CHARS_MAX = 256;
const ZEROS = /^0+$/;

/** @returns null for an invalid header: the request then starts a trace of its own */
export function parseTraceparent(header: string): RemoteParent | null {
  if (header.length < TRACEPARENT_CHARS || header.length > TRACEPARENT_CHARS_MAX) return null;
  const parts = TRACEPARENT.exec(header);
  if (parts === null) return null;
  const [, version = "", traceId = "", spanId = "", flags = "", rest] = parts;
  if (version === "ff" || (version === "00" && rest !== undefined)) return null;
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/**
 * The trace of a job, and the span for the whole job. Every process that works on the job must use the same ids, and the
 * same decision whether to record it: both follow from the job's id, so that nothing is stored or sent along.
 */
export function jobSpanRef(jobId: string): SpanRef {
  const digest = createHash("sha256").update(`rcpt job ${jobId}`).digest("hex");
  return { traceId: notZero(digest.slice(0, 32)), spanId: notZero(digest.slice(32, 48)) };
}

function notZero(hex: string): string {
  return ZEROS.test(hex) ? `${hex.slice(1)}1` : hex;
}

/**
 * Whether a trace is among the recorded `ratio` of all, by its id alone: the same rule as OpenTelemetry's
 * TraceIdRatioBased, so that all services agree.
 */
export function isInRatio(traceId: string, ratio: number): boolean {
  let folded = 0;
  for (let at = 0; at < 32; at += 8) folded ^= Number.parseInt(traceId.slice(at, at + 8), 16);
  return folded >>> 0 < (ratio >= 1 ? 2 ** 32 : Math.floor(ratio * 0xffffffff));
}
