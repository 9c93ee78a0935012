/** Whether STARTTLS is used: not at all, where it is offered and works, or else no transaction. */
export type TlsPolicy = "never" | "opportunistic" | "required";

/** How a site wants to be spoken to. Values come from the shaping data; all counts are at least 1. */
export interface SitePolicy {
  /** Connections of one egress to the site at once. */
  maxConnections: number;
  /** Transactions after which a session is closed and another one opened; null: as the server allows, see `SessionLimits`. */
  transactionsPerSession: number | null;
  /** Refused MAIL or RCPT commands after which a session is closed: servers slow down or hang up on the next. null: as above. */
  rejectionsPerSession: number | null;
  tls: TlsPolicy;
  /** Most transactions in one write, where PIPELINING is advertised. */
  pipelineDepthMax: number;
}
