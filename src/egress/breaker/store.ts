import type { BreakerScope } from "./scope.ts";

/** An open breaker, as all processes of an egress have it in common. Times from now on. */
export interface OpenBreakerState {
  /** Number of times that it was opened again since it opened. */
  level: number;
  openForMs: number;
  /** Until the next trial; zero and less: it is due. */
  dueInMs: number;
  /** True while a process has the trial. */
  trial: boolean;
}

/** The state that a process reports with a request. The store adopts it when it has none. */
export type LocalBreakerState = Omit<OpenBreakerState, "trial">;

/** The result of a trial, for the store. */
export type TrialSettlement =
  | { kind: "closed" }
  | ({ kind: "open" } & LocalBreakerState)
  /** The trial had no result, by our fault: the next one may go at once. */
  | { kind: "returned" };

/** How the processes of one egress share their breakers. Each call rejects when the store does not answer. */
export interface BreakerStore {
  /** Opens a breaker, or finds it open. @returns `first` false: another process opened it before */
  open(way: BreakerScope, mine: LocalBreakerState): Promise<{ first: boolean; state: OpenBreakerState }>;
  /** null: it is closed. */
  read(way: BreakerScope): Promise<OpenBreakerState | null>;
  /** Takes the one trial, which is free again after LIMITS.breaker.trialTtlMs. */
  takeTrial(
    way: BreakerScope,
    token: string,
    mine: LocalBreakerState,
  ): Promise<{ granted: boolean; state: OpenBreakerState }>;
  /** Ends the trial. If another trial has begun, only `closed` takes effect: its own result decides otherwise. */
  settleTrial(way: BreakerScope, token: string, settlement: TrialSettlement): Promise<void>;
  /** Follows what other processes change from now on, whenever the store can be reached; null: closed. */
  listen(changed: (way: BreakerScope, state: OpenBreakerState | null) => void): void;
}
