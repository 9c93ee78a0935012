import type { Answer, DecodedPacket } from "dns-packet";
import { LIMITS } from "../config/limits/limits.ts";
import type { DnsQuestion, QueryType } from "./message.ts";
import { normalizeName } from "./name.ts";

/** The content of one response. TTLs are seconds, the minimum over the chain of CNAMEs. */
export type DnsReading =
  | { kind: "records"; records: Answer[]; ttlS: number }
  /** `proven`: the SOA of the zone that holds the name is included. */
  | { kind: "no_data"; ttlS: number; proven: boolean }
  | { kind: "nxdomain"; ttlS: number; proven: boolean }
  /** The answer ends at a CNAME whose target must be queried. */
  | { kind: "follow"; target: string; ttlS: number }
  | { kind: "failure"; code: string };

const RCODES = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"] as const;

interface Chain {
  /** The last name of the chain; null when it leads to no name that can be queried: `isCircle` tells why. */
  end: string | null;
  isCircle: boolean;
  hops: number;
  ttlS: number;
}

const ttlOf = (answer: Answer) => ("ttl" in answer && answer.ttl ? answer.ttl : 0);
const ownerOf = (answer: Answer) => answer.name.toLowerCase();
const isInternet = (answer: Answer) => !("class" in answer) || answer.class === "IN";

/** The target of a CNAME. For addresses (RFC 2317) also names like `64/26.2.0.192.in-addr.arpa`. */
function targetOf(data: string, type: QueryType): string | null {
  if (type === "PTR" && data.includes("/")) return data.length <= 253 ? data.toLowerCase() : null;
  return normalizeName(data);
}

/** Follows the CNAMEs inside the answer section. */
function followCnames({ name, type }: DnsQuestion, answers: readonly Answer[]): Chain {
  const aliases = new Map<string, { target: string | null; ttlS: number }>();
  for (const answer of answers) {
    if (answer.type === "CNAME" && !aliases.has(ownerOf(answer)))
      aliases.set(ownerOf(answer), { target: targetOf(answer.data, type), ttlS: ttlOf(answer) });
  }
  const chain: Chain = { end: name, isCircle: false, hops: 0, ttlS: LIMITS.dns.ttlMaxS };
  while (chain.end !== null) {
    const alias = aliases.get(chain.end);
    if (!alias) break;
    chain.ttlS = Math.min(chain.ttlS, alias.ttlS);
    chain.hops++;
    // A chain longer than its aliases is circular.
    chain.isCircle = chain.hops > aliases.size;
    chain.end = chain.isCircle ? null : alias.target || null;
  }
  return chain;
}

interface Absence {
  ttlS: number;
  proven: boolean;
}

/** Whether `name` is `zone` or below it. */
function isWithin(name: string, zone: string): boolean {
  return zone === "." || name === zone || name.endsWith(`.${zone}`);
}

/**
 * Checks how the authority section confirms the absence of `name`. Only the SOA of a zone that contains the name proves it:
 * a filtering resolver adds an SOA too, but of its own zone (`rpz.filter.local`). The TTL is the lesser of that SOA's own
 * and its minimum field (RFC 2308 §5).
 */
function absenceOf(name: string, authorities: readonly Answer[]): Absence {
  for (const record of authorities) {
    if (record.type !== "SOA" || !isInternet(record) || !isWithin(name, ownerOf(record))) continue;
    const ttlS = Math.min(ttlOf(record), record.data.minimum ?? 0, LIMITS.dns.negativeTtlMaxS);
    return { ttlS, proven: true };
  }
  return { ttlS: LIMITS.dns.negativeTtlDefaultS, proven: false };
}

/** Reads a response to `question` that is not truncated. */
export function readAnswer(packet: DecodedPacket, question: DnsQuestion): DnsReading {
  const rcode = RCODES[(packet.flags ?? 0) & 0xf] ?? `RCODE${(packet.flags ?? 0) & 0xf}`;
  if (rcode !== "NOERROR" && rcode !== "NXDOMAIN") return { kind: "failure", code: rcode };
  const answers = (packet.answers ?? []).filter(isInternet);
  const { end, isCircle, hops, ttlS } = followCnames(question, answers);
  if (end === null) return { kind: "failure", code: isCircle ? "CNAME_LOOP" : "CNAME_TARGET" };
  const records = answers.filter((answer) => answer.type === question.type && ownerOf(answer) === end);
  const authorities = packet.authorities ?? [];
  const absence = absenceOf(end, authorities);
  const negative = { ttlS: Math.min(ttlS, absence.ttlS), proven: absence.proven };
  if (rcode === "NXDOMAIN") {
    if (records.length > 0) return { kind: "failure", code: "CONTRADICTION" };
    return { kind: "nxdomain", ...negative };
  }
  if (records.length > 0) return { kind: "records", records, ttlS: Math.min(ttlS, ...records.map(ttlOf)) };
  if (hops > 0 && !absence.proven) return { kind: "follow", target: end, ttlS };
  // A server that only refers to other servers does not recurse, and said nothing about the name.
  if (!absence.proven && authorities.some(({ type }) => type === "NS"))
    return { kind: "failure", code: "REFERRAL" };
  return { kind: "no_data", ...negative };
}
