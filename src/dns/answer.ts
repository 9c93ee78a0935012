import type { Answer, DecodedPacket } from "dns-packet";
import { LIMITS } from "../core/limits.ts";
import type { QueryType, Question } from "./message.ts";
import { normalizeName } from "./name.ts";

/** What one response says. TTLs are seconds, the least over the chain of CNAMEs. */
export type Reading =
  | { kind: "records"; records: Answer[]; ttlS: number }
  /** `proven`: the zone that holds the name says so itself, by its SOA. */
  | { kind: "no_data"; ttlS: number; proven: boolean }
  | { kind: "nxdomain"; ttlS: number; proven: boolean }
  /** The answer ends at a CNAME whose target is to be asked for. */
  | { kind: "follow"; target: string; ttlS: number }
  | { kind: "failure"; code: string };

const RCODES = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"] as const;

interface Chain {
  /** The last name of the chain; null when it leads to no name that can be asked for: `isCircle` tells why. */
  end: string | null;
  isCircle: boolean;
  hops: number;
  ttlS: number;
}

const ttlOf = (answer: Answer) => ("ttl" in answer && answer.ttl ? answer.ttl : 0);
const ownerOf = (answer: Answer) => answer.name.toLowerCase();
const isInternet = (answer: Answer) => !("class" in answer) || answer.class === "IN";

/** Where a CNAME leads. Of addresses' names (RFC 2317) also to names like `64/26.2.0.192.in-addr.arpa`. */
function targetOf(data: string, type: QueryType): string | null {
  if (type === "PTR" && data.includes("/")) return data.length <= 253 ? data.toLowerCase() : null;
  return normalizeName(data);
}

/** Follows the CNAMEs inside the answer section. */
function chainFrom({ name, type }: Question, answers: readonly Answer[]): Chain {
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
    // A chain longer than it has aliases closes on itself.
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
 * What the authority section says of the absence of `name`. Only the SOA of a zone that holds the name proves it: a
 * filter on the way adds one too, but of its own zone (`rpz.filter.local`).
 * The TTL is the lesser of that SOA's own and its minimum field (RFC 2308 §5).
 */
function absenceOf(name: string, authorities: readonly Answer[]): Absence {
  for (const record of authorities) {
    if (record.type !== "SOA" || !isInternet(record) || !isWithin(name, ownerOf(record))) continue;
    const ttlS = Math.min(ttlOf(record), record.data.minimum ?? 0, LIMITS.dns.negativeTtlMaxS);
    return { ttlS, proven: true };
  }
  return { ttlS: LIMITS.dns.negativeTtlDefaultS, proven: false };
}

/** Reads a response that belongs to `question` and is not truncated. */
export function readAnswer(packet: DecodedPacket, question: Question): Reading {
  const rcode = RCODES[(packet.flags ?? 0) & 0xf] ?? `RCODE${(packet.flags ?? 0) & 0xf}`;
  if (rcode !== "NOERROR" && rcode !== "NXDOMAIN") return { kind: "failure", code: rcode };
  const answers = (packet.answers ?? []).filter(isInternet);
  const { end, isCircle, hops, ttlS } = chainFrom(question, answers);
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
  // Who only points to other servers does not recurse, and said nothing of the name.
  if (!absence.proven && authorities.some(({ type }) => type === "NS"))
    return { kind: "failure", code: "REFERRAL" };
  return { kind: "no_data", ...negative };
}
