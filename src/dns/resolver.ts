/** What a resolver says of one name and type. Every outcome is a value; nothing here throws for the network's sake. */
export type DnsOutcome<T> =
  | { status: "ok"; records: T[]; ttlS: number }
  /** The name exists without such a record (NODATA). `proven` as for `nxdomain`. */
  | { status: "no_data"; ttlS: number; proven: boolean }
  /**
   * `proven`: the SOA of a zone that holds the name came along (RFC 2308), after CNAMEs of one that holds their end. So
   * that zone stands by it. Without, a filter or a cut-off resolver may have made it up.
   */
  | { status: "nxdomain"; ttlS: number; proven: boolean }
  /**
   * A server answered that it could not: SERVFAIL, REFUSED, NOTIMP, or an answer that makes no sense. `CNAME_LOOP`: aliases in a
   * circle, for certain; `CNAME_TARGET`: one whose target is no host name that we can ask for; `CNAME_CHAIN`: more of them than we follow.
   */
  | { status: "server_failure"; code: string }
  /** No server answered in time, or none could be sent to, or (`overloaded`) we had no place to ask; the last is never cached. */
  | { status: "no_answer"; code: "timeout" | "unreachable" | "overloaded" };

export interface MxRecord {
  preference: number;
  /** Lower case, without the trailing dot; "" is the null MX of RFC 7505. */
  exchange: string;
}

/**
 * For what an answer is nice to have, and mail does not hang on: asked once, of one server, never after `untilMs` of the
 * monotonic clock, beside the places of all others. Without room (`LIMITS.dns.aside`) it is not asked: `overloaded`.
 */
export interface Aside {
  untilMs: number;
}

export interface Resolver {
  mx(domain: string): Promise<DnsOutcome<MxRecord>>;
  /** IPv4 addresses as text. */
  a(name: string, aside?: Aside): Promise<DnsOutcome<string>>;
  /** IPv6 addresses as text. */
  aaaa(name: string): Promise<DnsOutcome<string>>;
  close(): Promise<void>;
}

export interface TextResolver extends Resolver {
  /** One text a record, its strings joined (RFC 7208 §3.3), each byte a character. */
  txt(name: string, aside?: Aside): Promise<DnsOutcome<string>>;
}

/** Asks for more than where mail goes. */
export interface FullResolver extends TextResolver {
  /** Host names, lower case, of a name below `in-addr.arpa` or `ip6.arpa`. */
  ptr(name: string): Promise<DnsOutcome<string>>;
}
