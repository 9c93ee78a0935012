/** What a resolver says of one name and type. Every outcome is a value; nothing here throws for the network's sake. */
export type DnsOutcome<T> =
  | { status: "ok"; records: T[]; ttlS: number }
  /** The name exists without such a record (NODATA). */
  | { status: "no_data"; ttlS: number }
  /** `proven`: an SOA came along (RFC 2308), so a zone above the name stands by it and no filter on the way made it up. */
  | { status: "nxdomain"; ttlS: number; proven: boolean }
  /** A server answered that it could not: SERVFAIL, REFUSED, NOTIMP, or an answer that makes no sense (a CNAME loop). */
  | { status: "server_failure"; code: string }
  /** No server answered in time, or none could be sent to. */
  | { status: "no_answer"; code: "timeout" | "unreachable" | "overloaded" };

export interface MxRecord {
  preference: number;
  /** Lower case, without the trailing dot; "" is the null MX of RFC 7505. */
  exchange: string;
}

export interface Resolver {
  mx(domain: string): Promise<DnsOutcome<MxRecord>>;
  /** IPv4 addresses as text. */
  a(name: string): Promise<DnsOutcome<string>>;
  /** IPv6 addresses as text. */
  aaaa(name: string): Promise<DnsOutcome<string>>;
  close(): Promise<void>;
}
