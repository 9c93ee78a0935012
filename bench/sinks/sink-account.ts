/** What a sink has seen. */
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
   * Milliseconds that it takes a server to find out about a recipient, beside: those of a connection one after the other, and
   * all answers to a read go out together.
   */
  recipientMs: number;
}

/** Mail servers on addresses of their own, all on one port. Calls of one that has ended reject. */
export interface Sinks {
  readonly port: number;
  /** What they run on, in words, for the configuration of a section. */
  readonly runtime: string;
  /** From the next read on, of all or of `count` addresses from the one at `from` on. */
  delay(delays: SinkDelays, from?: number, count?: number): Promise<void>;
  /** One an address, in their order. */
  accounts(): Promise<SinkAccount[]>;
  /** Counts begin anew, of all or of `count` addresses from the one at `from` on; what is open stays so. */
  reset(from?: number, count?: number): Promise<void>;
  close(): Promise<void>;
}

/** Of all of them since `reset`; `maxOpenPerSite`: most connections open at once at one sink. */
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
