/** What a burst is to ask. */
export interface BurstOrder {
  url: string;
  key: string;
  /** Of which its addresses are made: another name, other addresses. */
  name: string;
  forMs: number;
  /** Requests a second, whatever becomes of those before; null: as many callers as connections, who wait for their answers. */
  perS: number | null;
  /** A request each: what falls due while all are in use is not sent, and counted. */
  connections: number;
  timeoutMs: number;
}

export interface Latencies {
  count: number;
  p50Ms: number;
  p99Ms: number;
}

export interface Burst {
  /** By status and code, or by how there was no answer. */
  counts: Record<string, number>;
  /** That fell due while every connection was in use. */
  unsent: number;
  tookS: number;
  /** Answered with 200, and with anything else. */
  accepted: Latencies;
  refused: Latencies;
}

/** The value below which `share` of all are, rounded up to a millisecond; 0 of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = Math.min(sorted.length - 1, Math.floor(sorted.length * share));
  return Math.ceil(sorted[at] ?? 0);
}
