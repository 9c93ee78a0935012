/** Use of STARTTLS: never, if offered and working, or required for every transaction. */
export type TlsPolicy = "never" | "opportunistic" | "required";

/** How to treat a site. Values come from the shaping data; all counts are at least 1. */
export interface SitePolicy {
  /** Concurrent connections of one egress to the site. */
  maxConnections: number;
  /** Transactions after which a session is closed and replaced; null: as the server allows, see `SessionLimits`. */
  transactionsPerSession: number | null;
  /**
   * Refused MAIL or RCPT commands after which a session is closed: servers slow down or hang up on the next. null: as the
   * server allows.
   */
  rejectionsPerSession: number | null;
  tls: TlsPolicy;
  /** Maximum transactions in one write, where PIPELINING is advertised. */
  pipelineDepthMax: number;
}
