import type { DecodedPacket } from "dns-packet";
import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";

/** How one attempt with one server ended. */
export type Exchange =
  | { kind: "answer"; packet: DecodedPacket }
  | { kind: "timeout" }
  | { kind: "unreachable" };

/** How one datagram's question ended. `case_changed`: something right but for the case of the name came back. */
export type UdpExchange = Exchange | { kind: "truncated" } | { kind: "case_changed" };

/** How long one attempt may wait that must be over by `untilMs` of the monotonic clock. */
export function attemptMs(clock: Clock, untilMs: number): number {
  return Math.max(0, Math.min(LIMITS.dns.attemptTimeoutMs, untilMs - clock.monotonic()));
}
