/** A resolver's outcome for one name and type. Every outcome is a value; no network failure throws. */
export type DnsOutcome<T> =
  | { status: "ok"; records: T[]; ttlS: number }
  /** The name exists without such a record (NODATA). `proven` as for `nxdomain`. */
  | { status: "no_data"; ttlS: number; proven: boolean }
  /**
   * `proven`: the SOA of a zone that holds the name was included (RFC 2308), after CNAMEs of one that holds their end. So
   * that zone confirms it. Otherwise a filter or a disconnected resolver may have made it up.
   */
  | { status: "nxdomain"; ttlS: number; proven: boolean }
  /**
   * A server answered with a failure: SERVFAIL, REFUSED, NOTIMP, or an invalid answer. `CNAME_LOOP`: proven circular
   * aliases; `CNAME_TARGET`: an alias whose target is not a host name that can be queried; `CNAME_CHAIN`: more aliases than
   * we follow.
   */
  | { status: "server_failure"; code: string }
  /** No server answered in time or was reachable, or (`overloaded`) no permit was free. The last is never cached. */
  | { status: "no_answer"; code: "timeout" | "unreachable" | "overloaded" };

export interface MxRecord {
  preference: number;
  /** Lower case, without the trailing dot; "" is the null MX of RFC 7505. */
  exchange: string;
}

/**
 * A look-up of optional data that mail does not depend on. It is one query to one server, never after `untilMs` of the
 * monotonic clock, with separate slots. Without a free slot (`LIMITS.dns.bestEffortInFlight`) it ends as `overloaded`.
 */
export interface BestEffortLookUp {
  untilMs: number;
}

export interface Resolver {
  mx(domain: string): Promise<DnsOutcome<MxRecord>>;
  /** IPv4 addresses as text. */
  a(name: string, bestEffort?: BestEffortLookUp): Promise<DnsOutcome<string>>;
  /** IPv6 addresses as text. */
  aaaa(name: string): Promise<DnsOutcome<string>>;
  close(): Promise<void>;
}

export interface TextResolver extends Resolver {
  /** One text a record, its strings joined (RFC 7208 §3.3), one character a byte. */
  txt(name: string, bestEffort?: BestEffortLookUp): Promise<DnsOutcome<string>>;
}

/** Also looks up PTR records. */
export interface FullResolver extends TextResolver {
  /** Host names, lower case, of a name below `in-addr.arpa` or `ip6.arpa`. */
  ptr(name: string): Promise<DnsOutcome<string>>;
}
