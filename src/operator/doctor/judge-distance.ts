import { type DoctorFinding, fail, ok, warn } from "./finding.ts";

/** A round trip above this is another place: each request that is not cached waits for several. */
const LATENCY_FAR_MS = 20;
/** Leases, days and deadlines tolerate a difference of clocks up to this. */
const SKEW_EASY_MS = 2_000;
/** Above this, signatures are refused, sessions end early, and due work starts late. */
const SKEW_MOST_MS = 60_000;

/**
 * @param latencyMs the quickest of a few round trips
 * @param farMs above this it is too far
 */
export function judgeLatency(
  check: string,
  latencyMs: number,
  farMs: number = LATENCY_FAR_MS,
): DoctorFinding {
  const seen = `A round trip takes ${latencyMs.toFixed(1)} ms.`;
  if (latencyMs <= farMs) return ok(check, seen);
  return warn(check, seen, "Run rcpt in the same place: what is not cached waits for several of them.");
}

/** @param skewMs by how much the clock of `whose` is ahead of ours */
export function judgeSkew(check: string, whose: string, skewMs: number, toleranceMs = 0): DoctorFinding {
  const apart = Math.abs(skewMs);
  const seconds = `${(apart / 1_000).toFixed(1)} s`;
  if (apart <= SKEW_EASY_MS + toleranceMs)
    return ok(check, `Its clock and ours agree to ${Math.max(1, Math.round(apart))} ms.`);
  const seen = `The clock of ${whose} is ${seconds} ${skewMs > 0 ? "ahead of" : "behind"} ours.`;
  const advice = "Let both machines keep time by NTP (chrony, systemd-timesyncd).";
  return apart > SKEW_MOST_MS ? fail(check, seen, advice) : warn(check, seen, advice);
}
