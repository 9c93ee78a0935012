import type { Way } from "./way.ts";

/** An open breaker, as all processes of an egress have it in common. Times from now on. */
export interface OpenState {
  /** How often it was opened again since it opened. */
  level: number;
  openForMs: number;
  /** Until the next trial; zero and less: it is due. */
  dueInMs: number;
  /** A trial is under way somewhere. */
  trial: boolean;
}

/** What a process knows when it asks: the store believes it where it knows nothing itself. */
export type OwnState = Omit<OpenState, "trial">;

/** How a trial ended. */
export type Settlement =
  | { kind: "closed" }
  | ({ kind: "open" } & OwnState)
  /** It told nothing, by our fault: the next one may go at once. */
  | { kind: "returned" };

/** How the processes of one egress share their breakers. Each call rejects when the store does not answer. */
export interface BreakerStore {
  /** Opens a breaker, or finds it open. @returns `first` false: another process opened it before */
  open(way: Way, mine: OwnState): Promise<{ first: boolean; state: OpenState }>;
  /** null: it is closed. */
  look(way: Way): Promise<OpenState | null>;
  /** Takes the one trial, which is free again after LIMITS.breaker.trialTtlMs. */
  take(way: Way, token: string, mine: OwnState): Promise<{ granted: boolean; state: OpenState }>;
  /** Ends the trial; what another one that is under way will tell is not anticipated, but by `closed`. */
  settle(way: Way, token: string, settlement: Settlement): Promise<void>;
  /** Follows what other processes change from now on, whenever the store can be reached; null: closed. */
  listen(changed: (way: Way, state: OpenState | null) => void): void;
}
