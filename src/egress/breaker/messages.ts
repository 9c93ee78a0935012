import type { BreakerScope } from "./scope.ts";

/** The result of a probe, as evidence that we are blocked or not. */
export type ProbeEnd =
  /** `early`: before the recipient was named. `reply` is redacted. */
  | { kind: "blocked"; path: string; early: boolean; rule: string; reply: string }
  /** The server talked to us about a sender or a recipient, and did not block us. */
  | { kind: "passed"; path: string }
  /** No evidence: silence, a connection refused, too many connections. */
  | { kind: "inconclusive" }
  /** Nothing was asked, by our fault. */
  | { kind: "ours" };

/** The result of a trial. A block names the domain of the address. */
export type TrialEnd =
  | { kind: "blocked"; domain: string; early: boolean; reply: string }
  | { kind: "passed" | "inconclusive" | "ours" };

/** A block, and the domain of the blocked address. */
export interface Block {
  site: string;
  path: string;
  /** Domain of the checked address. */
  domain: string;
  provider: string | null;
  early: boolean;
  rule: string;
  reply: string;
}

/** Answer to a request for the trial. `free`: the breaker has closed. `token` null: request again after `dueInMs`. */
export interface TrialGrant {
  token: string | null;
  free: boolean;
  dueInMs: number;
}

/** From a check thread. */
export type BreakerReport =
  | { type: "blocked"; block: Block }
  /** Sent only for a watched breaker. */
  | { type: "passed"; site: string; path: string; domain: string }
  | { type: "trial"; id: number; key: string }
  | { type: "tried"; token: string; end: TrialEnd };

/** To a check thread. */
export type BreakerUpdate =
  /** `opened` false: it was open before, the time is new. */
  | { kind: "open"; way: BreakerScope; dueInMs: number; opened: boolean }
  | { kind: "closed"; way: BreakerScope }
  /** Whether accepted probes must be reported from now on (`watched`) or not (`calm`). */
  | { kind: "watched" | "calm"; key: string }
  /** Answer to a request for the trial. `free`: the breaker has closed. `token` null: request again after `dueInMs`. */
  | { kind: "trial"; id: number; token: string | null; free: boolean; dueInMs: number };
