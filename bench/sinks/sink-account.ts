/** Counters of a sink. */
export interface SinkAccount {
  connections: number;
  open: number;
  maxOpen: number;
  recipients: number;
}

export interface SinkDelays {
  /** Milliseconds from a read to the answer of all commands in it: the round trip of a distant server. */
  latencyMs: number;
  /**
   * Milliseconds to look up one recipient, in addition. Recipients of a connection are looked up one after the other,
   * and all answers to one read go out together.
   */
  recipientMs: number;
}

/** Mail servers on addresses of their own, all on one port. Calls of one that has ended reject. */
export interface Sinks {
  readonly port: number;
  /** Description of the implementation, for the configuration of a section. */
  readonly runtime: string;
  /** From the next read on, of all or of `count` addresses from the one at `from` on. */
  delay(delays: SinkDelays, from?: number, count?: number): Promise<void>;
  /** One an address, in their order. */
  accounts(): Promise<SinkAccount[]>;
  /** Resets the counters, of all sinks or of `count` from index `from` on; open connections remain. */
  reset(from?: number, count?: number): Promise<void>;
  close(): Promise<void>;
}

/** Sums over all sinks since `reset`; `maxOpenPerSite`: most connections open at once at one sink. */
export function accountOf(accounts: readonly SinkAccount[]) {
  let connections = 0;
  let recipients = 0;
  let maxOpenPerSite = 0;
  for (const account of accounts) {
    connections += account.connections;
    recipients += account.recipients;
    maxOpenPerSite = Math.max(maxOpenPerSite, account.maxOpen);
  }
  return { connections, recipients, maxOpenPerSite };
}
