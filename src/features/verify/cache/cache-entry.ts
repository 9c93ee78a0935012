import type { Evidence } from "../../../verification/evidence.ts";

/** The cached evidence of an address, in memory and in Redis. Immutable: parts are shared. */
export interface CacheEntry {
  evidence: Evidence;
  /** Epoch milliseconds. */
  storedAt: number;
  /** The lifetime given when it was stored; 0 in Redis: withdrawn, see `reclassify`. */
  ttlS: number;
}
