import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { LIMITS } from "../config/limits/limits.ts";
import type { DnsOutcome, Resolver } from "../dns/resolver.ts";
import { isAbsenceBelievable, lookUpMx, type MxAnswer } from "./mx.ts";

/** Seconds for which it is proven that an exchanger, or its addresses of one family, cannot exist; null: it may. */
type AbsenceProofS = number | null;

/**
 * `lookUpMx`, and `mx_unresolvable` if every exchanger is proven not to exist: no such name, no address, the sender's own
 * machine by its name (RFC 6761, 6.3), the unspecified address, or circular CNAMEs. A failed look-up proves nothing: the
 * probe then finds out.
 * @throws AppError `overloaded`, as `lookUpMx`
 */
export async function lookUpExchangers(resolver: Resolver, domain: string): Promise<MxAnswer> {
  const mx = await lookUpMx(resolver, domain);
  if (mx.status !== "ok" && mx.status !== "implicit") return mx;
  if (mx.hosts.length > LIMITS.check.mxHostsProven) return mx;
  const [best = domain, ...others] = mx.hosts;
  // Nearly always it has an address, and the others need no look-up.
  const bestAbsentS = await absenceOf(resolver, best);
  if (bestAbsentS === null) return mx;
  // All at once: one after the other, the slow name servers of a domain with many exchangers would take minutes.
  const absentS = await Promise.all(others.map((host) => absenceOf(resolver, host)));
  const proven = absentS.filter((seconds) => seconds !== null);
  if (proven.length < others.length) return mx;
  return {
    ...mx,
    status: "mx_unresolvable",
    ttlS: Math.min(mx.ttlS, bestAbsentS, ...proven),
    fault: "recipient",
  };
}

function isOwnMachine(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "localhost.localdomain";
}

/** `0.0.0.0`, `::`, and one in the other: no host has them. */
function isUnspecified(address: string): boolean {
  const plain = ipaddr.process(address).toString();
  return plain === "0.0.0.0" || plain === "::";
}

async function absenceOf(resolver: Resolver, host: string): Promise<AbsenceProofS> {
  if (isIP(host) !== 0) return isUnspecified(host) ? LIMITS.dns.negativeTtlMaxS : null;
  if (isOwnMachine(host)) return LIMITS.dns.negativeTtlMaxS;
  const ipv4 = await resolver.a(host);
  const ipv4S = await absenceIn(resolver, ipv4);
  if (ipv4S === null) return null;
  const ipv6 = await resolver.aaaa(host);
  const ipv6S = await absenceIn(resolver, ipv6);
  if (ipv6S === null || isLikeFilter(ipv4, ipv6) || isLikeFilter(ipv6, ipv4)) return null;
  return Math.min(ipv4S, ipv6S);
}

/**
 * True for answers like those of a filtering resolver, in homes and schools. It answers `0.0.0.0` and `::` for the names
 * that it blocks, or no data for one of them. Only the zone itself adds its SOA to a negative answer.
 */
function isLikeFilter(answer: DnsOutcome<string>, other: DnsOutcome<string>): boolean {
  return answer.status === "ok" && !("proven" in other && other.proven);
}

async function absenceIn(resolver: Resolver, answer: DnsOutcome<string>): Promise<AbsenceProofS> {
  switch (answer.status) {
    case "ok":
      return answer.records.every(isUnspecified) ? answer.ttlS : null;
    case "no_data":
    case "nxdomain":
      return (await isAbsenceBelievable(resolver, answer)) ? answer.ttlS : null;
    default:
      return answer.code === "CNAME_LOOP" ? LIMITS.dns.negativeTtlDefaultS : null;
  }
}
