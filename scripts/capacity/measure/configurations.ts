import { MEASURED_COSTS, ROWS_AT_ONCE } from "../costs.ts";
import type { Costs, Fleet, SiteClass } from "../scenario.ts";

/** The setup of a measurement, and the formula's input; the rest of the input is measured. */
export interface Configuration {
  name: string;
  /** Number of its domains; unique, so that no two configurations share a domain. */
  run: number;
  rows: number;
  sites: Pick<
    SiteClass,
    "sites" | "connections" | "depth" | "transactionsPerSession" | "rejectionsPerSession" | "rowsPerDomain"
  > & { latencyMs: number; catchAllEvery: number; missingEvery: number };
  fleet: Fleet;
  /** Check threads of a process. */
  threads: number;
  costs: Costs;
}

/** Cores that the processes of a run may use in all: far more than they need. */
const CORES = 1;

/** Sessions that last, one address a write: the round trip alone. */
export const ONE_ADDRESS: Configuration = {
  name: "one source address, one address a write, sessions that last",
  run: 1,
  rows: 4_800,
  sites: {
    ...{ sites: 8, connections: 6, depth: 1, transactionsPerSession: 10_000, rejectionsPerSession: 1_000 },
    ...{ rowsPerDomain: 120, latencyMs: 150, catchAllEvery: 0, missingEvery: 20 },
  },
  fleet: { processes: 1, cores: CORES, sourceAddresses: 1, rowsAtOnce: ROWS_AT_ONCE },
  threads: 1,
  costs: MEASURED_COSTS,
};

/** Short sessions, ended by transactions and by refusals; five addresses a write; catch-all domains. */
export const TWO_ADDRESSES: Configuration = {
  name: "two source addresses, up to five addresses a write, short sessions, catch-all domains",
  run: 11,
  rows: 24_000,
  sites: {
    ...{ sites: 6, connections: 3, depth: 5, transactionsPerSession: 50, rejectionsPerSession: 8 },
    ...{ rowsPerDomain: 100, latencyMs: 150, catchAllEvery: 3, missingEvery: 8 },
  },
  fleet: { processes: 2, cores: CORES, sourceAddresses: 2, rowsAtOnce: ROWS_AT_ONCE },
  threads: 2,
  costs: MEASURED_COSTS,
};

/** Many small sites: a connection lasts for 20 questions, and rows of each site are retried. */
export const MANY_SITES: Configuration = {
  name: "one source address, twenty sites with two connections, sessions of twenty",
  run: 21,
  rows: 6_000,
  sites: {
    ...{ sites: 20, connections: 2, depth: 1, transactionsPerSession: 20, rejectionsPerSession: 100 },
    ...{ rowsPerDomain: 30, latencyMs: 120, catchAllEvery: 4, missingEvery: 10 },
  },
  fleet: { processes: 1, cores: CORES, sourceAddresses: 1, rowsAtOnce: ROWS_AT_ONCE },
  threads: 2,
  costs: MEASURED_COSTS,
};
