import type { Logger } from "../core/log.ts";
import type { AuthBus } from "../store/auth-bus.ts";
import { type AuthChange, recordChange } from "../store/auth-changes.ts";
import type { Database, Transaction } from "../store/postgres.ts";

export type PublishChange = (
  tx: Transaction,
  kind: AuthChange["kind"],
  subject: AuthChange["subject"],
) => Promise<void>;

export interface ChangePublisher {
  /**
   * Runs `work` in a transaction. What it publishes is stored with it and, once committed, forgotten by this process
   * at once and announced to the others. Everything that alters a credential, or its team's tier, limits, members or
   * blocklist goes through here.
   */
  transact<T>(work: (tx: Transaction, publishChange: PublishChange) => Promise<T>): Promise<T>;
}

export function createChangePublisher(deps: {
  sql: Database;
  bus: AuthBus;
  log: Logger;
  /** Of this process's authenticator, where it has one. */
  invalidate(change: AuthChange): void;
}): ChangePublisher {
  const { sql, bus, log } = deps;

  async function announce(changes: AuthChange[]): Promise<void> {
    for (const change of changes) deps.invalidate(change);
    const sent = await Promise.allSettled(changes.map((change) => bus.announce(change)));
    const failed = sent.filter((outcome) => outcome.status === "rejected").length;
    // The others read it from the table within LIMITS.keys.pollMs.
    if (failed > 0) log.debug({ failed }, "changes were not announced");
  }

  return {
    async transact(work) {
      const published: AuthChange[] = [];
      const result = await sql.begin(async (tx) => {
        // Wrapped: the client would await an array of queries, and take what `work` returns for one.
        const value = await work(tx, async (inTx, kind, subject) => {
          await recordChange(inTx, { kind, subject });
          published.push({ kind, subject });
        });
        return { value };
      });
      await announce(published);
      return result.value;
    },
  };
}
