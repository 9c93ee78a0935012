import { setTimeout as wait } from "node:timers/promises";
import type { Database } from "../../../src/stores/postgres/postgres.ts";
import type { Outage } from "./windows.ts";

/** A client of the database outside the service: a failure that it also sees is not the service's fault. */
export interface Witness {
  stop(): Promise<void>;
}

const ASK_EVERY_MS = 100;
/** A little below the service's timeout for reading a credential: this probe sees what the service sees. */
const SLOW_MS = 700;

/**
 * Queries the database again and again, and records an outage `slow-machine` whenever an answer is late or this process
 * itself was not scheduled. On a machine under other load that is not the service's fault.
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
