import { createHash } from "node:crypto";

/** Where a span stands, as W3C Trace Context names it: lower-case hex, 32 and 16 digits, neither all zero. */
export interface SpanPlace {
  traceId: string;
  spanId: string;
}

/** What a `traceparent` says: whose part the request is, and whether its sender records it. */
export interface RemoteParent extends SpanPlace {
  sampled: boolean;
}

/**
 * Of any version but ff (W3C Trace Context §3.2): what later versions put behind the flags comes after a dash. As long as
 * the first 55 characters of what a stranger sends, whatever that is.
 */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/s;
const TRACEPARENT_CHARS = 55;
/** Later versions may be longer; nobody sends so much. */
const TRACEPARENT_CHARS_MAX = 256;
const ZEROS = /^0+$/;

/** @returns null for what is not one: the request then begins a trace of its own, as if nothing had been sent */
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
 * The trace of a job, and the span in it that stands for the whole of it. Every process that works on a job has to name
 * the same, and whether it is recorded: both follow from its id, so that nothing need be stored or sent along.
 */
export function jobPlace(jobId: string): SpanPlace {
  const digest = createHash("sha256").update(`rcpt job ${jobId}`).digest("hex");
  return { traceId: notZero(digest.slice(0, 32)), spanId: notZero(digest.slice(32, 48)) };
}

function notZero(hex: string): string {
  return ZEROS.test(hex) ? `${hex.slice(1)}1` : hex;
}

/**
 * Whether a trace is among the recorded `ratio` of all, told by its id alone: as OpenTelemetry's TraceIdRatioBased does, so
 * that all who see the id agree.
 */
export function isInRatio(traceId: string, ratio: number): boolean {
  let folded = 0;
  for (let at = 0; at < 32; at += 8) folded ^= Number.parseInt(traceId.slice(at, at + 8), 16);
  return folded >>> 0 < (ratio >= 1 ? 2 ** 32 : Math.floor(ratio * 0xffffffff));
}
