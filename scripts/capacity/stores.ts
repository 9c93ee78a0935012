import { catchAllProbesPerRow, siteFormula } from "./formula.ts";
import { askedShare, type Scenario } from "./scenario.ts";

/** Load per second on the services behind the pods, at a rate of rows. */
export interface StoreLoad {
  postgresTransactionsPerS: number;
  redisCallsPerS: number;
  redisEntriesPerS: number;
  redisBytesPerS: number;
  /** Size of the cache when entries are kept for a day. */
  redisGibPerDay: number;
  objectRequestsPerS: number;
  objectBytesPerS: number;
  dnsQuestionsPerS: number;
  connectionsPerS: number;
}

/** As test/integration/counts/bounds.ts has them counted, but for `entryBytes`. */
const COUNTED = {
  transactionsPerChunk: 10.2,
  objectsPerChunk: 6,
  redisReadsPerRow: 0.009,
  redisScriptsPerRow: 0.012,
  // Size of a complete entry: a plan does not say how many addresses of a domain share their evidence.
  entryBytes: 556,
  shardBytesPerRow: 7.2,
  resultBytesPerRow: 821,
  dnsPerDomain: 4,
} as const;
/** LIMITS.bulk.rowsPerLargeChunk. */
const ROWS_PER_CHUNK = 4_000;
/** Rows of one retry task: as many as a chunk has for one site, from 20 on. */
const ROWS_PER_RETRY = 100;
/** A source's row: an address and some columns. Read twice: for the analysis, and for its chunk. */
const SOURCE_BYTES = 60;
/** Bytes that Redis needs for an entry beside its value: key, TTL, table. */
const ENTRY_OVERHEAD = 150;

/** @param perS rows a second */
export function storeLoad(scenario: Scenario, perS: number): StoreLoad {
  const asked = perS * askedShare(scenario);
  const tasksPerS = perS / ROWS_PER_CHUNK + asked / ROWS_PER_RETRY;
  let domains = 0;
  let connections = 0;
  for (const site of scenario.sites) {
    const { transactionsPerRow, transactionsPerSession } = siteFormula(site);
    domains += (asked * site.share) / site.rowsPerDomain;
    connections +=
      (asked * site.share * transactionsPerRow) / Math.min(transactionsPerSession, sessionUse(site));
  }
  const { entryBytes, shardBytesPerRow, resultBytesPerRow } = COUNTED;
  return {
    postgresTransactionsPerS: tasksPerS * COUNTED.transactionsPerChunk,
    redisCallsPerS: perS * (COUNTED.redisReadsPerRow + COUNTED.redisScriptsPerRow),
    redisEntriesPerS: asked,
    redisBytesPerS: asked * entryBytes,
    redisGibPerDay: (asked * 86_400 * (entryBytes + ENTRY_OVERHEAD)) / 2 ** 30,
    objectRequestsPerS: tasksPerS * COUNTED.objectsPerChunk,
    objectBytesPerS: perS * (2 * SOURCE_BYTES + 2 * shardBytesPerRow + resultBytesPerRow),
    dnsQuestionsPerS: domains * COUNTED.dnsPerDomain,
    connectionsPerS: connections,
  };
}

/** Small sites have few rows for a connection: those of one domain, and its catch-all probe. */
function sessionUse(site: Scenario["sites"][number]): number {
  return site.sites > 1_000 ? Math.max(1, 1 + catchAllProbesPerRow(site)) : Number.POSITIVE_INFINITY;
}
