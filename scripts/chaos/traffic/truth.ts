/** The kind of an address in the mail world, which determines the answers allowed while parts fail. */
export type Truth = "exists" | "missing" | "full" | "catch-all" | "null-mx" | "no-domain" | "malformed";

export interface Said {
  verdict: string;
  reason: string;
}

/** Reasons of `unknown` that are failures and free of charge (API.md, "Credentials, roles, tiers"). */
const FAILED: ReadonlySet<string> = new Set([
  ...["timeout", "greylisted", "no_connect", "sender_blocked", "our_network", "rate_limited_by_server"],
  ...["smtp_protocol_error", "dns_error", "deadline", "internal_error"],
]);

/** Correct answers for each kind, whether servers could be asked or not. */
const RIGHT: Readonly<Record<Truth, readonly string[]>> = {
  // Without its catch-all probe, an accepted recipient may be at a catch-all domain.
  exists: ["valid accepted_mailbox", "risky catch_all_unconfirmed"],
  missing: ["invalid mailbox_not_found"],
  full: ["risky mailbox_full"],
  "catch-all": ["risky catch_all", "risky catch_all_unconfirmed"],
  "null-mx": ["invalid null_mx"],
  "no-domain": ["invalid domain_not_found"],
  malformed: ["invalid invalid_format"],
};

/** Our own fault is never the weather's. */
const OURS = "internal_error";

export function isFailure({ verdict, reason }: Said): boolean {
  return verdict === "unknown" && FAILED.has(reason);
}

/** True when the answer is the truth, or says that it could not be found out. */
export function isRight(truth: Truth, said: Said): boolean {
  if (said.reason === OURS) return false;
  if (RIGHT[truth].includes(`${said.verdict} ${said.reason}`)) return true;
  return truth !== "malformed" && isFailure(said);
}

/** Counts answers, and those that are undecided: acceptable while parts fail, a fault otherwise. */
export interface Decisions {
  answered: number;
  undecided: number;
}

export function decisionsOf(answers: readonly Said[]): Decisions {
  return { answered: answers.length, undecided: answers.filter(isFailure).length };
}

export function addDecisions(all: readonly Decisions[]): Decisions {
  return {
    answered: all.reduce((sum, { answered }) => sum + answered, 0),
    undecided: all.reduce((sum, { undecided }) => sum + undecided, 0),
  };
}

/** Units that an answered live verification costs. */
export function costOf(said: Said): 0 | 1 {
  return isFailure(said) ? 0 : 1;
}
