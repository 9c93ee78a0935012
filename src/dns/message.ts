import { type DecodedPacket, decode, encode, RECURSION_DESIRED } from "dns-packet";
import { LIMITS } from "../config/limits/limits.ts";

export type QueryType = "MX" | "A" | "AAAA" | "TXT" | "PTR";

export interface DnsQuestion {
  /** Normalised by `normalizeName`. */
  name: string;
  type: QueryType;
}

const HEADER_BYTES = 12;
const QR_BIT = 0x80;
const OPCODE_BITS = 0x78;

/** A query with recursion desired and EDNS0 (RFC 6891), for `name` in exactly the given case. */
export function encodeQuery(id: number, name: string, type: QueryType): Buffer {
  return encode({
    type: "query",
    id,
    flags: RECURSION_DESIRED,
    questions: [{ name, type, class: "IN" }],
    additionals: [
      {
        type: "OPT",
        name: ".",
        udpPayloadSize: LIMITS.dns.udpPayloadBytes,
        extendedRcode: 0,
        ednsVersion: 0,
        flags: 0,
        flag_do: false,
        options: [],
      },
    ],
  });
}

/** The id of a message, or -1 when it is no response. Cheap: reads four bytes. */
export function responseId(bytes: Buffer): number {
  if (bytes.length < HEADER_BYTES) return -1;
  const flags = bytes.readUInt8(2);
  return (flags & QR_BIT) !== 0 && (flags & OPCODE_BITS) === 0 ? bytes.readUInt16BE(0) : -1;
}

/**
 * Reads a response to `question`. Names are compared without regard to case.
 * @returns null for anything else: broken, another question, none or several. Never throws.
 */
export function decodeResponse(bytes: Buffer, question: DnsQuestion): DecodedPacket | null {
  try {
    const packet = decode(bytes);
    const [asked, ...others] = packet.questions ?? [];
    const matches =
      others.length === 0 &&
      asked?.type === question.type &&
      asked.class === "IN" &&
      asked.name.toLowerCase() === question.name;
    return matches ? packet : null;
  } catch {
    return null;
  }
}

/** Whether a response repeats the name of its question in exactly the case of `name`. */
export function echoesCase(packet: DecodedPacket, name: string): boolean {
  return packet.questions?.[0]?.name === name;
}
