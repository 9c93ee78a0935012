/** Meaning of a subscription's state, and advice, by Stripe's name. Unknown states are shown by name. */
export const SUBSCRIPTIONS: Readonly<Record<string, string>> = {
  active: "Paid.",
  trialing: "On trial.",
  past_due: "The last payment failed. The plan stays for now: pay, or give another card.",
  unpaid: "Several payments failed, so the plan is suspended until they are made.",
  incomplete: "The first payment has not been made yet.",
  incomplete_expired: "The first payment was never made.",
  paused: "Paused, since the trial ended without a way to pay.",
  canceled: "It has ended.",
};

/** States in which nothing is left to manage. */
export const ENDED: ReadonlySet<string> = new Set(["canceled", "incomplete_expired"]);
/** States that need an action. */
export const IN_TROUBLE: ReadonlySet<string> = new Set(["past_due", "unpaid", "incomplete", "paused"]);

export const INTERVALS = { month: "monthly", year: "yearly" } as const;
