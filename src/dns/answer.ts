import type { Answer, DecodedPacket } from "dns-packet";
import { LIMITS } from "../core/limits.ts";
import type { Question } from "./message.ts";
import { normalizeName } from "./name.ts";

/** What one response says. TTLs are seconds, the least over the chain of CNAMEs. */
export type Reading =
  | { kind: "records"; records: Answer[]; ttlS: number }
  | { kind: "no_data"; ttlS: number }
  | { kind: "nxdomain"; ttlS: number; proven: boolean }
  /** The answer ends at a CNAME whose target is to be asked for. */
  | { kind: "follow"; target: string; ttlS: number }
  | { kind: "failure"; code: string };

const RCODES = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"] as const;

interface Chain {
  /** The last name of the chain; null when it closes on itself or leads to no host name. */
  end: string | null;
  hops: number;
  ttlS: number;
}

const ttlOf = (answer: Answer) => ("ttl" in answer && answer.ttl ? answer.ttl : 0);
const ownerOf = (answer: Answer) => answer.name.toLowerCase();
const isInternet = (answer: Answer) => !("class" in answer) || answer.class === "IN";

/** Follows the CNAMEs inside the answer section. */
function chainFrom(name: string, answers: readonly Answer[]): Chain {
  const aliases = new Map<string, { target: string | null; ttlS: number }>();
  for (const answer of answers) {
    if (answer.type === "CNAME" && !aliases.has(ownerOf(answer)))
      aliases.set(ownerOf(answer), { target: normalizeName(answer.data), ttlS: ttlOf(answer) });
  }
  const chain: Chain = { end: name, hops: 0, ttlS: LIMITS.dns.ttlMaxS };
  while (chain.end !== null) {
    const alias = aliases.get(chain.end);
    if (!alias) break;
    chain.ttlS = Math.min(chain.ttlS, alias.ttlS);
    chain.hops++;
    // A chain longer than it has aliases closes on itself.
    chain.end = chain.hops > aliases.size ? null : alias.target || null;
  }
  return chain;
}

/** RFC 2308 §5: the lesser of the SOA's own TTL and its minimum field. */
function negativeTtlS(packet: DecodedPacket): number {
  for (const record of packet.authorities ?? []) {
    if (record.type === "SOA")
      return Math.min(ttlOf(record), record.data.minimum ?? 0, LIMITS.dns.negativeTtlMaxS);
  }
  return LIMITS.dns.negativeTtlDefaultS;
}

function hasSoa(packet: DecodedPacket): boolean {
  return (packet.authorities ?? []).some(({ type }) => type === "SOA");
}

/** Whether an empty answer only points to other servers: one that does not recurse said nothing of the name. */
function isReferral(packet: DecodedPacket): boolean {
  const authorities = packet.authorities ?? [];
  return authorities.some(({ type }) => type === "NS") && !hasSoa(packet);
}

/** Reads a response that belongs to `question` and is not truncated. */
export function readAnswer(packet: DecodedPacket, question: Question): Reading {
  const rcode = RCODES[(packet.flags ?? 0) & 0xf] ?? `RCODE${(packet.flags ?? 0) & 0xf}`;
  if (rcode !== "NOERROR" && rcode !== "NXDOMAIN") return { kind: "failure", code: rcode };
  const answers = (packet.answers ?? []).filter(isInternet);
  const { end, hops, ttlS } = chainFrom(question.name, answers);
  if (end === null) return { kind: "failure", code: "CNAME_LOOP" };
  const records = answers.filter((answer) => answer.type === question.type && ownerOf(answer) === end);
  if (rcode === "NXDOMAIN") {
    if (records.length > 0) return { kind: "failure", code: "CONTRADICTION" };
    return { kind: "nxdomain", ttlS: Math.min(ttlS, negativeTtlS(packet)), proven: hasSoa(packet) };
  }
  if (records.length > 0) return { kind: "records", records, ttlS: Math.min(ttlS, ...records.map(ttlOf)) };
  if (hops > 0 && !hasSoa(packet)) return { kind: "follow", target: end, ttlS };
  if (isReferral(packet)) return { kind: "failure", code: "REFERRAL" };
  return { kind: "no_data", ttlS: Math.min(ttlS, negativeTtlS(packet)) };
}
