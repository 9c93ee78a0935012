import type { Verdict } from "../../verification/verdict/table.ts";
import type { BounceClass, BounceStatement } from "./read/bounce-class.ts";

/** The outcome of a message to an address. */
export const MESSAGE_OUTCOMES = ["delivered", "bounced", "complained"] as const;
export type MessageOutcome = (typeof MESSAGE_OUTCOMES)[number];

/** The answer that rcpt had given about the address, as the team reports it. */
export interface GivenAnswer {
  verdict: Verdict | null;
  reason: string | null;
  /** The mail provider; of an event without one, the provider of the mail server that a bounce names. */
  provider: string | null;
  /** The rule by which the reply was read: `evidence.rule`. */
  rule: string | null;
}

/** An event as it was reported. */
export interface ReportedEvent extends GivenAnswer {
  /** The address as written. */
  address: string;
  outcome: MessageOutcome;
  /** Epoch milliseconds; null: not said. */
  atMs: number | null;
  /** The statement of a bounce, and its class; null for other events. */
  bounce: (BounceClass & { said: BounceStatement }) | null;
}

export const NO_ANSWER: GivenAnswer = { verdict: null, reason: null, provider: null, rule: null };
