/** A team of a burst. */
export interface BurstTeam {
  /** Of which its addresses are made: another name, other addresses. */
  name: string;
  key: string;
  /** Requests a second, whatever becomes of those before; null: of `callers` who wait for their answers. */
  perS: number | null;
}

/** What a burst is to ask. */
export interface BurstOrder {
  url: string;
  teams: readonly BurstTeam[];
  forMs: number;
  /** Who ask for a team without a rate. */
  callers: number;
  /** One request each at a time, open before the first. What falls due while all are in use waits for one, and is counted from when it was due. */
  connections: number;
  timeoutMs: number;
}

export interface Latencies {
  count: number;
  p50Ms: number;
  p99Ms: number;
}

export interface TeamCounts {
  /** By status and code, or by how there was no answer. */
  counts: Record<string, number>;
  /** Answered with 200, and with anything else. Of a team with a rate from when the request was due. */
  accepted: Latencies;
  refused: Latencies;
  /** Of a flood: answered with 200, of what was due after the first `ONSET_MS`. */
  sustained?: Latencies;
}

/** What falls due so soon after a burst's beginning meets a process that cannot know of it yet. */
export const ONSET_MS = 1_000;

export interface Burst {
  teams: Record<string, TeamCounts>;
  all: TeamCounts;
  /** Answered with 200, of what was due in the first `ONSET_MS`, and of what was later. */
  onset: Latencies;
  sustained: Latencies;
  /** How late the burst itself was with sending: what is more says more of it than of the service. */
  lateP99Ms: number;
  tookS: number;
}

/** The value below which `share` of all are, rounded up to a millisecond; 0 of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = Math.min(sorted.length - 1, Math.floor(sorted.length * share));
  return Math.ceil(sorted[at] ?? 0);
}
