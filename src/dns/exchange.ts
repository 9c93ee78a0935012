import type { DecodedPacket } from "dns-packet";

/** How one attempt with one server ended. */
export type Exchange =
  | { kind: "answer"; packet: DecodedPacket }
  | { kind: "timeout" }
  | { kind: "unreachable" };

/** How one datagram's question ended. `case_changed`: something right but for the case of the name came back. */
export type UdpExchange = Exchange | { kind: "truncated" } | { kind: "case_changed" };
