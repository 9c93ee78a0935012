import type { BreakerScope } from "./scope.ts";

/** How a probe ended, as far as it tells whether we are blocked. */
export type ProbeEnd =
  /** `early`: before the recipient was named. `reply` is redacted. */
  | { kind: "blocked"; path: string; early: boolean; rule: string; reply: string }
  /** The server talked to us about a sender or a recipient, and did not block us. */
  | { kind: "passed"; path: string }
  /** Neither: silence, a connection refused, too many at once. */
  | { kind: "inconclusive" }
  /** Nothing was asked, for reasons of our own. */
  | { kind: "ours" };

/** What a trial came to; of a block, the domain of the address. */
export type TrialEnd =
  | { kind: "blocked"; domain: string; early: boolean; reply: string }
  | { kind: "passed" | "inconclusive" | "ours" };

/** A block, and the domain of the blocked address. */
export interface Block {
  site: string;
  path: string;
  /** Of the address asked for. */
  domain: string;
  provider: string | null;
  early: boolean;
  rule: string;
  reply: string;
}

/** `free`: the way is closed meanwhile. No token: ask again after `dueInMs`. */
export interface TrialGrant {
  token: string | null;
  free: boolean;
  dueInMs: number;
}

/** From a check thread. */
export type BreakerReport =
  | { type: "blocked"; block: Block }
  /** Only of a way that is watched. */
  | { type: "passed"; site: string; path: string; domain: string }
  | { type: "trial"; id: number; key: string }
  | { type: "tried"; token: string; end: TrialEnd };

/** To a check thread. */
export type BreakerUpdate =
  /** `opened` false: it was open before, the time is new. */
  | { kind: "open"; way: BreakerScope; dueInMs: number; opened: boolean }
  | { kind: "closed"; way: BreakerScope }
  /** From now on a probe that is let through has to be reported (`watched`), or need not be (`calm`). */
  | { kind: "watched" | "calm"; key: string }
  /**
   * Answer to a request for the trial. `free`: the way is open to all meanwhile. Without a token: ask again after
   * `dueInMs`.
   */
  | { kind: "trial"; id: number; token: string | null; free: boolean; dueInMs: number };
