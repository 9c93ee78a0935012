/** What a sink of either kind shows of itself. */
interface CountingSink {
  port: number;
  account: { connections: number; open: number; maxOpen: number; recipients: number };
  close(): Promise<void>;
}

const PORT_ATTEMPTS = 10;

/**
 * A sink on each address, all on one port: the setting SMTP_PORT is one.
 * @param make one that listens there; port 0: any that is free
 */
export async function listenOnOnePort<S extends CountingSink>(
  addresses: readonly string[],
  make: (at: { address: string; port: number }) => Promise<S>,
): Promise<S[]> {
  for (let attempt = 1; ; attempt++) {
    const open: S[] = [];
    try {
      for (const address of addresses) open.push(await make({ address, port: open[0]?.port ?? 0 }));
      return open;
    } catch (error) {
      for (const sink of open) await sink.close();
      if (attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

/** Counts begin anew; what is open stays so. */
export function resetAccounts(sinks: readonly CountingSink[]): void {
  for (const { account } of sinks)
    Object.assign(account, { connections: 0, maxOpen: account.open, recipients: 0 });
}

/** Since `resetAccounts`; `maxOpenPerSite`: most connections open at once at one sink. */
export function accountOf(sinks: readonly CountingSink[]) {
  let connections = 0;
  let recipients = 0;
  let maxOpenPerSite = 0;
  for (const { account } of sinks) {
    connections += account.connections;
    recipients += account.recipients;
    maxOpenPerSite = Math.max(maxOpenPerSite, account.maxOpen);
  }
  return { connections, recipients, maxOpenPerSite };
}
