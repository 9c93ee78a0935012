import { isIP } from "node:net";
import { LIMITS } from "../config/limits/limits.ts";
import type { DnsOutcome, MxRecord, Resolver } from "../dns/resolver.ts";
import { AppError } from "../platform/errors.ts";
import type { Fault, MxStatus } from "../verification/evidence.ts";

/** The hosts that receive mail for a domain, by RFC 5321 §5.1 and RFC 7505. */
export interface MxAnswer {
  status: Exclude<MxStatus, "skipped">;
  /** Lower-case host names, best first, without repeats; the domain itself when implicit. */
  hosts: string[];
  /** The preference of each of `hosts`; 0 of an implicit one (RFC 5321 §5.1). */
  preferences: number[];
  ttlS: number;
  fault: Fault | null;
}

type Unanswered = Extract<DnsOutcome<never>, { status: "server_failure" | "no_answer" }>;

/** Names that certainly have mail exchangers: a resolver that finds none of them does not work. */
const NAMES_WITH_MX = ["gmail.com", "outlook.com"] as const;

/**
 * Asks the MX of `domain` (A-labels, lower case). A DNS fault is the answer `dns_error`.
 * @throws AppError `overloaded` when our resolver has no room for the question
 */
export async function lookUpMx(resolver: Resolver, domain: string): Promise<MxAnswer> {
  const answer = await resolver.mx(domain);
  switch (answer.status) {
    case "ok":
      return fromRecords(answer.records, answer.ttlS);
    case "no_data":
      if (await isAbsenceBelievable(resolver, answer)) return implicitMx(resolver, domain, answer.ttlS);
      return CUT_OFF;
    case "nxdomain":
      if (await isAbsenceBelievable(resolver, answer))
        return implicitMxOrNotFound(resolver, domain, answer.ttlS);
      return CUT_OFF;
    default:
      return dnsError(answer);
  }
}

const CUT_OFF: MxAnswer = {
  status: "dns_error",
  hosts: [],
  preferences: [],
  ttlS: 0,
  fault: "our_network",
};

function noMailHost(status: "domain_not_found" | "no_mx" | "null_mx", ttlS: number): MxAnswer {
  return { status, hosts: [], preferences: [], ttlS, fault: "recipient" };
}

/**
 * A resolver that is cut off, or filters, denies every name or record, so that every address would become invalid. So an
 * answer without proof is checked with names that certainly have mail exchangers.
 */
export async function isAbsenceBelievable(resolver: Resolver, answer: { proven: boolean }): Promise<boolean> {
  if (answer.proven) return true;
  for (const name of NAMES_WITH_MX) {
    if ((await resolver.mx(name)).status === "ok") return true;
  }
  return false;
}

function fromRecords(records: MxRecord[], ttlS: number): MxAnswer {
  const real = records.filter((record) => record.exchange !== "");
  if (real.length === 0) return noMailHost("null_mx", ttlS);
  // Equal preferences go by name, not by chance: the same host again means a session that is open already.
  real.sort((a, b) => a.preference - b.preference || (a.exchange < b.exchange ? -1 : 1));
  // A host that is named twice counts with its lowest preference.
  const preferenceOf = new Map<string, number>();
  for (const { exchange, preference } of real)
    if (!preferenceOf.has(exchange)) preferenceOf.set(exchange, preference);
  const hosts = [...preferenceOf.keys()].slice(0, LIMITS.check.mxHosts);
  const preferences = [...preferenceOf.values()].slice(0, LIMITS.check.mxHosts);
  return { status: "ok", hosts, preferences, ttlS, fault: null };
}

/**
 * Some name servers answer a question for MX with NXDOMAIN, although the domain has an address, which receives the mail. If
 * the look-up of the address fails, the first answer remains.
 */
async function implicitMxOrNotFound(resolver: Resolver, domain: string, ttlS: number): Promise<MxAnswer> {
  const implicit = await implicitMx(resolver, domain, ttlS);
  return implicit.status === "implicit" ? implicit : noMailHost("domain_not_found", ttlS);
}

/** No MX record: the domain's own address is its mail exchanger, if it has one. */
async function implicitMx(resolver: Resolver, domain: string, noMxTtlS: number): Promise<MxAnswer> {
  const found = await Promise.all([resolver.a(domain), resolver.aaaa(domain)]);
  for (const answer of found) {
    if (answer.status !== "ok") continue;
    const ttlS = Math.min(noMxTtlS, answer.ttlS);
    return { status: "implicit", hosts: [domain], preferences: [0], ttlS, fault: null };
  }
  for (const answer of found) {
    if (answer.status === "server_failure" || answer.status === "no_answer") return dnsError(answer);
    if (answer.status !== "ok" && !(await isAbsenceBelievable(resolver, answer))) return CUT_OFF;
  }
  return noMailHost("no_mx", noMxTtlS);
}

function dnsError(answer: Unanswered): MxAnswer {
  refuseWhenOverloaded(answer);
  const fault = answer.status === "server_failure" ? "their_server" : "our_network";
  return { status: "dns_error", hosts: [], preferences: [], ttlS: 0, fault };
}

function refuseWhenOverloaded(answer: DnsOutcome<unknown>): void {
  if (answer.status !== "no_answer" || answer.code !== "overloaded") return;
  throw new AppError("overloaded", "Too many names are being looked up.", { retryAfterS: 1 });
}

/**
 * The addresses of a mail exchanger of one family, at most `LIMITS.smtp.addressesTriedPerHost`; itself where it is an address
 * written as a name, as Postfix and Exim take it.
 * @throws AppError `overloaded`
 */
export async function lookUpFamilyAddresses(
  resolver: Resolver,
  host: string,
  family: "a" | "aaaa",
): Promise<string[]> {
  const literal = isIP(host);
  if (literal !== 0) return literal === (family === "a" ? 4 : 6) ? [host] : [];
  const answer = await resolver[family](host);
  refuseWhenOverloaded(answer);
  return answer.status === "ok" ? answer.records.slice(0, LIMITS.smtp.addressesTriedPerHost) : [];
}

/** Both families in turn, IPv4 first (RFC 8305 §4; few senders have a reverse name for IPv6). */
export function interleaveFamilies(ipv4: readonly string[], ipv6: readonly string[]): string[] {
  const longest = Math.max(ipv4.length, ipv6.length);
  const pairs = Array.from({ length: longest }, (_, i) => [ipv4[i], ipv6[i]]);
  return [...new Set(pairs.flat().filter((address) => address !== undefined))];
}

/**
 * The addresses of a mail exchanger in the order in which they are tried. IPv6 is looked up only for the few probes that go
 * beyond the first IPv4 address.
 * @throws AppError `overloaded`
 */
export async function* addressesInOrder(resolver: Resolver, host: string): AsyncGenerator<string, void> {
  const ipv4 = await lookUpFamilyAddresses(resolver, host, "a");
  if (ipv4[0] !== undefined) yield ipv4[0];
  const all = interleaveFamilies(ipv4, await lookUpFamilyAddresses(resolver, host, "aaaa"));
  yield* ipv4.length > 0 ? all.slice(1) : all;
}

/** Those of the first family that has any: IPv4 before IPv6, since few senders have a reverse name for IPv6. */
export async function lookUpHostAddresses(resolver: Resolver, host: string): Promise<string[]> {
  const addresses = await lookUpFamilyAddresses(resolver, host, "a");
  return addresses.length > 0 ? addresses : lookUpFamilyAddresses(resolver, host, "aaaa");
}
