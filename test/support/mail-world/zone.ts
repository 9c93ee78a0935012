import type { Answer } from "dns-packet";

export type ZoneType = "MX" | "A" | "AAAA" | "TXT" | "PTR";

/** How the DNS server misbehaves. */
export type DnsFault =
  | "servfail"
  | "refused"
  | "notimp"
  /** No answer, by UDP or TCP. */
  | "silent"
  /** UDP answers only say "truncated"; TCP has the whole. */
  | "truncated"
  /** Truncated over UDP, and TCP closes without an answer. */
  | "truncated_for_good"
  /** Two forged answers (wrong id; another question) that lead to the trap, then the true one. */
  | "spoofed"
  /** Only the forged ones. */
  | "forged"
  /** Bytes that are no DNS message. */
  | "garbage"
  /** NXDOMAIN with the SOA of its zone, although the name has other records. */
  | "nxdomain"
  /** NXDOMAIN without any SOA, as of a resolver that is cut off or filters. */
  | "nxdomain_unproven"
  /** NXDOMAIN with the SOA of a zone that does not hold the name. */
  | "nxdomain_of_another";

/** The records of one name; a name without any still exists (NODATA). */
export interface ZoneEntry {
  mx?: [preference: number, exchange: string][];
  a?: string[];
  aaaa?: string[];
  txt?: string[];
  ptr?: string[];
  cname?: string;
  /** TTL of the records in seconds, default TTL_S. */
  ttlS?: number;
  /** TTL of a negative answer in seconds, default NEGATIVE_TTL_S. */
  negativeTtlS?: number;
  faults?: Partial<Record<ZoneType, DnsFault>>;
}

export type Zone = Map<string, ZoneEntry>;

export interface ZoneAnswer {
  rcode: number;
  answers: Answer[];
  authorities: Answer[];
}

export const TTL_S = 300;
export const NEGATIVE_TTL_S = 60;
export const RCODE = { noError: 0, servfail: 2, nxdomain: 3, notimp: 4, refused: 5 } as const;
const CHAIN_MAX = 16;
export const ELSEWHERE = "elsewhere.example";

export function soa(name: string, negativeTtlS: number): Answer {
  const data = {
    mname: "ns.test",
    rname: "hostmaster.test",
    serial: 1,
    refresh: 3600,
    retry: 600,
    expire: 86400,
  };
  const zone = zoneOf(name.toLowerCase());
  return { type: "SOA", name: zone, ttl: negativeTtlS, data: { ...data, minimum: negativeTtlS } };
}

/** The zone of the world that holds `name`; ELSEWHERE is a zone by itself, outside of the world. */
function zoneOf(name: string): string {
  if (name === ELSEWHERE) return ELSEWHERE;
  return name.endsWith(".arpa") ? "arpa" : "test";
}

function recordsOf(zone: Zone, name: string, entry: ZoneEntry, type: ZoneType): Answer[] {
  const ttl = entry.ttlS ?? TTL_S;
  if (type === "MX")
    return (entry.mx ?? []).map(([preference, exchange]) => ({
      type,
      name,
      ttl,
      data: { preference, exchange },
    }));
  if (type === "TXT")
    return (entry.txt ?? defaultTexts(zone, name.toLowerCase())).map((text) => ({
      type,
      name,
      ttl,
      data: text.match(/.{1,255}/gs) ?? [""],
    }));
  const texts = { A: entry.a, AAAA: entry.aaaa, PTR: entry.ptr }[type] ?? [];
  return texts.map((data): Answer => ({ type, name, ttl, data }));
}

/**
 * Default TXT records of a domain that has MX records: an SPF record, and a DMARC record below it, as most domains have
 * them. So tests about something else find no signal, however slow the machine.
 */
function defaultTexts(zone: Zone, name: string): string[] {
  if (zone.get(name)?.mx !== undefined) return ["v=spf1 -all"];
  const isPolicy = name.startsWith("_dmarc.") && zone.get(name.slice("_dmarc.".length))?.mx !== undefined;
  return isPolicy ? ["v=DMARC1; p=none"] : [];
}

/** A name exists when it has an entry, or when a name below it has (RFC 8020). */
function exists(zone: Zone, name: string): boolean {
  if (zone.has(name)) return true;
  for (const other of zone.keys()) if (other.endsWith(`.${name}`)) return true;
  return false;
}

/**
 * Names whose absence this server may claim: those under `.test`, reverse names (`.arpa`), and those whose last label
 * is a number, as the root does.
 */
function isOurs(name: string): boolean {
  return /(^|\.)(test|arpa|\d+)$/.test(name);
}

/**
 * The resolver's answer for `name` (any case; echoed as asked) and `type`: records at the end of the whole CNAME chain,
 * or NODATA / NXDOMAIN with the SOA of RFC 2308. A loop is answered with its CNAMEs.
 */
export function lookUp(zone: Zone, name: string, type: ZoneType): ZoneAnswer {
  const answers: Answer[] = [];
  let owner = name;
  for (let step = 0; step < CHAIN_MAX; step++) {
    const key = owner.toLowerCase();
    const entry = zone.get(key);
    if (
      entry === undefined &&
      !exists(zone, key) &&
      (type !== "TXT" || defaultTexts(zone, key).length === 0)
    ) {
      return isOurs(key)
        ? { rcode: RCODE.nxdomain, answers, authorities: [soa(owner, NEGATIVE_TTL_S)] }
        : { rcode: RCODE.refused, answers: [], authorities: [] };
    }
    if (entry?.cname !== undefined) {
      const looped = answers.some((answer) => answer.name.toLowerCase() === key);
      if (looped) break;
      answers.push({ type: "CNAME", name: owner, ttl: entry.ttlS ?? TTL_S, data: entry.cname });
      owner = entry.cname;
      continue;
    }
    const records = recordsOf(zone, owner, entry ?? {}, type);
    const authorities = records.length === 0 ? [soa(owner, entry?.negativeTtlS ?? NEGATIVE_TTL_S)] : [];
    return { rcode: RCODE.noError, answers: [...answers, ...records], authorities };
  }
  return { rcode: RCODE.noError, answers, authorities: [] };
}
