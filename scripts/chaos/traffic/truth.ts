/** What the mail world knows of an address, and what may be said of it while everything fails. */
export type Truth = "exists" | "missing" | "full" | "catch-all" | "null-mx" | "no-domain" | "malformed";

export interface Said {
  verdict: string;
  reason: string;
}

/** `unknown` for these reasons is a failure: nobody pays for it (API.md, "Credentials, roles, tiers"). */
const FAILED: ReadonlySet<string> = new Set([
  ...["timeout", "greylisted", "no_connect", "sender_blocked", "our_network", "rate_limited_by_server"],
  ...["smtp_protocol_error", "dns_error", "deadline", "internal_error"],
]);

/** What an address of each kind may be answered with when nobody could be asked, or everybody was. */
const RIGHT: Readonly<Record<Truth, readonly string[]>> = {
  // A stranger who cannot be asked leaves the doubt that everybody is accepted.
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

/** Of answers, those that say that it could not be found out: true while things fail, and no answer otherwise. */
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
