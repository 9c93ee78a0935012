import { LIMITS } from "../core/limits.ts";
import type { DnsOutcome, MxRecord, Resolver } from "../dns/resolver.ts";
import type { Fault, MxStatus } from "./evidence.ts";

/** Where mail for a domain goes, by RFC 5321 §5.1 and RFC 7505. */
export interface MxAnswer {
  status: Exclude<MxStatus, "skipped">;
  /** Lower-case host names, best first, without repeats; the domain itself when implicit. */
  hosts: string[];
  ttlS: number;
  fault: Fault | null;
}

type Unanswered = Extract<DnsOutcome<never>, { status: "server_failure" | "no_answer" }>;

/** Asks the MX of `domain` (A-labels, lower case). Never throws; a DNS fault is the answer `dns_error`. */
export async function lookUpMx(resolver: Resolver, domain: string): Promise<MxAnswer> {
  const answer = await resolver.mx(domain);
  switch (answer.status) {
    case "ok":
      return fromRecords(answer.records, answer.ttlS);
    case "no_data":
      return implicitMx(resolver, domain, answer.ttlS);
    case "nxdomain":
      if (answer.proven || (await seesTheInternet(resolver))) {
        return { status: "domain_not_found", hosts: [], ttlS: answer.ttlS, fault: "recipient" };
      }
      return { status: "dns_error", hosts: [], ttlS: 0, fault: "our_network" };
    default:
      return dnsError(answer);
  }
}

/**
 * A resolver that is cut off, or filters, says NXDOMAIN to everything, and would have us condemn every address. So one
 * that shows no proof is asked for a name that is certainly there: `com` has no address, but it exists.
 */
async function seesTheInternet(resolver: Resolver): Promise<boolean> {
  const { status } = await resolver.a("com");
  return status === "ok" || status === "no_data";
}

function fromRecords(records: MxRecord[], ttlS: number): MxAnswer {
  const real = records.filter((record) => record.exchange !== "");
  if (real.length === 0) return { status: "null_mx", hosts: [], ttlS, fault: "recipient" };
  // Equal preferences go by name, not by chance: the same host again means a session that is open already.
  real.sort((a, b) => a.preference - b.preference || (a.exchange < b.exchange ? -1 : 1));
  const hosts = [...new Set(real.map((record) => record.exchange))].slice(0, LIMITS.check.mxHosts);
  return { status: "ok", hosts, ttlS, fault: null };
}

/** No MX record: the domain's own address is its mail exchanger, if it has one. */
async function implicitMx(resolver: Resolver, domain: string, noMxTtlS: number): Promise<MxAnswer> {
  const [v4, v6] = await Promise.all([resolver.a(domain), resolver.aaaa(domain)]);
  for (const found of [v4, v6]) {
    if (found.status === "ok")
      return { status: "implicit", hosts: [domain], ttlS: Math.min(noMxTtlS, found.ttlS), fault: null };
  }
  for (const missing of [v4, v6]) {
    if (missing.status === "server_failure" || missing.status === "no_answer") return dnsError(missing);
  }
  return { status: "no_mx", hosts: [], ttlS: noMxTtlS, fault: "recipient" };
}

function dnsError(answer: Unanswered): MxAnswer {
  const fault = answer.status === "server_failure" ? "their_server" : "our_network";
  return { status: "dns_error", hosts: [], ttlS: 0, fault };
}
