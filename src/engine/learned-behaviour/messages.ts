/** Behaviour of a site at RCPT that makes its answers worthless. */
export type LearnedBehaviour = "accepts_all" | "refuses_all";

/** An address that was refused as unknown. */
export interface RefusedAddress {
  address: string;
  domain: string;
}

/** The answer to `postmaster`, which RFC 5321 §4.5.1 obliges every domain to accept. */
export type PostmasterAnswer = "accepted" | "refused" | "inconclusive";

/**
 * The ruling on a refusal: it is believed; it is not, since every address is refused; or a postmaster must be asked first.
 */
export type RefusalRuling =
  | { kind: "believed" }
  | { kind: "refuses_all" }
  | { kind: "control"; domain: string };

/** From a check thread. */
export type BehaviourReport =
  /** The latest last, and answered by `said`. */
  | { type: "refused"; id: number; site: string; sightings: RefusedAddress[] }
  /** The end of a control, answered by `said`. */
  | { type: "controlled"; id: number; site: string; domain: string; answer: PostmasterAnswer }
  | { type: "accepted"; site: string; domain: string }
  /** An address was refused as unknown that no `refused` report names yet. */
  | { type: "refuses"; site: string };

/** To a check thread. */
export type BehaviourUpdate =
  | { kind: "said"; id: number; say: RefusalRuling }
  /** null: it is believed again. */
  | { kind: "habit"; site: string; habit: LearnedBehaviour | null };
