import * as dnsPacket from "dns-packet";
import { type DnsFault, ELSEWHERE, NEGATIVE_TTL_S, RCODE, soa, type ZoneAnswer } from "./zone.ts";

/** Bytes of a UDP answer to a client without EDNS (RFC 1035 §4.2.1). */
export const UDP_SIZE_DEFAULT = 512;
/** Bytes of a message over TCP. */
export const MESSAGE_MAX = 65_535;

const GARBAGE = Buffer.from("this is no DNS message");

function header(query: dnsPacket.DecodedPacket, rcode: number): dnsPacket.Packet {
  return {
    type: "response",
    id: query.id ?? 0,
    flags:
      dnsPacket.AUTHORITATIVE_ANSWER | dnsPacket.RECURSION_DESIRED | dnsPacket.RECURSION_AVAILABLE | rcode,
    questions: query.questions ?? [],
  };
}

/** The question is echoed byte for byte, so that a client may check its case. */
export function wholeAnswer(
  query: dnsPacket.DecodedPacket,
  { rcode, answers, authorities }: ZoneAnswer,
): Buffer {
  return dnsPacket.encode({ ...header(query, rcode), answers, authorities });
}

/** The whole answer, or, above `size` bytes, an empty one with the TC bit. */
export function withinSize(query: dnsPacket.DecodedPacket, answer: ZoneAnswer, size: number): Buffer {
  const whole = wholeAnswer(query, answer);
  if (whole.length <= size) return whole;
  const short = header(query, answer.rcode);
  return dnsPacket.encode({ ...short, flags: (short.flags ?? 0) | dnsPacket.TRUNCATED_RESPONSE });
}

/** Answers that an off-path attacker would send: a guessed id, then the right id for another question. */
function forgeries(query: dnsPacket.DecodedPacket): Buffer[] {
  const lie = (packet: dnsPacket.Packet) => {
    const { name = "", type = "A" } = packet.questions?.[0] ?? {};
    const answers: dnsPacket.Answer[] =
      type === "MX"
        ? [{ type: "MX", name, ttl: 86_400, data: { preference: 1, exchange: "mx.trap.test" } }]
        : [{ type: "A", name, ttl: 86_400, data: "127.0.0.1" }];
    return dnsPacket.encode({ ...packet, answers });
  };
  const honest = header(query, 0);
  const { type = "A" } = honest.questions?.[0] ?? {};
  return [
    lie({ ...honest, id: ((honest.id ?? 0) + 1) & 0xffff }),
    lie({ ...honest, questions: [{ name: "elsewhere.test", type }] }),
  ];
}

/**
 * The messages that `fault` sends in place of `truth`, in order. An empty list: a TCP connection is closed without an
 * answer.
 */
export function faultyMessages(
  fault: Exclude<DnsFault, "silent">,
  query: dnsPacket.DecodedPacket,
  truth: ZoneAnswer,
  tcp: boolean,
): Buffer[] {
  switch (fault) {
    case "servfail":
    case "refused":
    case "notimp":
      return [wholeAnswer(query, { rcode: RCODE[fault], answers: [], authorities: [] })];
    case "truncated":
      return [withinSize(query, truth, tcp ? MESSAGE_MAX : 0)];
    case "truncated_for_good":
      return tcp ? [] : [withinSize(query, truth, 0)];
    case "spoofed":
      return [...forgeries(query), wholeAnswer(query, truth)];
    case "forged":
      return forgeries(query);
    case "garbage":
      return [GARBAGE];
    case "nxdomain": {
      const authorities = [soa(query.questions?.[0]?.name ?? "", NEGATIVE_TTL_S)];
      return [wholeAnswer(query, { rcode: RCODE.nxdomain, answers: [], authorities })];
    }
    case "nxdomain_unproven":
      return [wholeAnswer(query, { rcode: RCODE.nxdomain, answers: [], authorities: [] })];
    case "nxdomain_of_another": {
      const authorities = [soa(ELSEWHERE, NEGATIVE_TTL_S)];
      return [wholeAnswer(query, { rcode: RCODE.nxdomain, answers: [], authorities })];
    }
  }
}
