import type { DecodedPacket } from "dns-packet";
import { LIMITS } from "../config/limits/limits.ts";
import type { Clock } from "../platform/time/clock.ts";

/** How one attempt with one server ended. */
export type DnsExchange =
  | { kind: "answer"; packet: DecodedPacket }
  | { kind: "timeout" }
  | { kind: "unreachable" };

/** How one datagram's question ended. `case_changed`: a correct answer except for the case of the name. */
export type UdpExchange = DnsExchange | { kind: "truncated" } | { kind: "case_changed" };

/** The timeout of one attempt that must end by `untilMs` of the monotonic clock. */
export function remainingAttemptMs(clock: Clock, untilMs: number): number {
  return Math.max(0, Math.min(LIMITS.dns.attemptTimeoutMs, untilMs - clock.monotonic()));
}
