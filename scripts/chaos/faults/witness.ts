import { setTimeout as wait } from "node:timers/promises";
import type { Database } from "../../../src/stores/postgres/postgres.ts";
import type { Outage } from "./windows.ts";

/** A client of the database beside the service's: what it sees is no doing of the service's. */
export interface Witness {
  stop(): Promise<void>;
}

const ASK_EVERY_MS = 100;
/** A little below what the service waits for a credential: who waits as long sees what it sees. */
const SLOW_MS = 700;

/**
 * Asks the database again and again, and notes as an outage of `slow-machine` each time in which it had no answer in time, or
 * was itself not let run: on a machine whose cores and disk others need too, that is no fault of the service's.
 */
export function startWitness(sql: Database, outages: Outage[]): Witness {
  let stopped = false;

  async function watch(): Promise<void> {
    while (!stopped) {
      const fromMs = performance.now();
      await sql`select 1`.catch(() => undefined);
      await wait(ASK_EVERY_MS);
      const toMs = performance.now();
      if (toMs - fromMs > SLOW_MS + ASK_EVERY_MS)
        outages.push({ kind: "slow-machine", target: "database", fromMs, toMs });
    }
  }

  const watching = watch();
  return {
    async stop() {
      stopped = true;
      await watching;
    },
  };
}
