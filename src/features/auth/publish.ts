import type { Logger } from "../../platform/log.ts";
import type { Database, TeamTransaction, Transaction } from "../../stores/postgres/postgres.ts";
import type { AuthBus } from "./auth-bus.ts";
import { type AuthChange, readOwnChanges } from "./auth-changes.ts";

export interface ChangePublisher {
  /**
   * Runs `work` in a transaction. The database itself notes changes of credentials, and of a team's tier, limits, members,
   * blocklist or overrides, in the feed (see the migration). After the commit this process drops its cached copies at once,
   * and notifies the others. Without this, by plain SQL, they read the change from the feed within LIMITS.keys.pollMs.
   */
  transact<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** The same for a transaction that locks the team's row, see `Database.begin`. */
  transact<T>(work: (tx: TeamTransaction) => Promise<T>, team: string): Promise<T>;
}

export function createChangePublisher(deps: {
  sql: Database;
  bus: Pick<AuthBus, "announce">;
  log: Logger;
  /** Drops what this process's authenticator has cached; it does nothing in a role without one. */
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
    async transact<T>(work: (tx: TeamTransaction) => Promise<T>, team?: string): Promise<T> {
      const run = async (tx: TeamTransaction) => ({
        value: await work(tx),
        changes: await readOwnChanges(tx),
      });
      const transaction =
        team === undefined ? sql.begin((tx) => run(tx as TeamTransaction)) : sql.begin(run, team);
      const { value, changes } = await transaction;
      await announce(changes);
      return value;
    },
  };
}
