import type { DecodedPacket } from "dns-packet";

/** How one attempt with one server ended. */
export type Exchange =
  | { kind: "answer"; packet: DecodedPacket }
  | { kind: "truncated" }
  | { kind: "timeout" }
  | { kind: "unreachable" };
