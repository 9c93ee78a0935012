import type { Evidence } from "../check/evidence.ts";

/** What is kept of an address, in memory and in Redis. Nobody changes it: parts are shared. */
export interface CacheEntry {
  evidence: Evidence;
  /** Epoch milliseconds. */
  storedAt: number;
  /** The lifetime given when it was stored; 0 in Redis: withdrawn, see `reclassify`. */
  ttlS: number;
}
