import type { TierLimits } from "../../config/tiers.ts";

/**
 * Classes of requests, each with its own rate limit. Each team has a bucket for each class, one for live and one for test
 * credentials. So a polling dashboard does not use up the rate of verifications.
 */
export const RATE_CLASSES = ["verify", "read", "write"] as const;
export type RateClass = (typeof RATE_CLASSES)[number];

/** Names of the policies in `RateLimit-Policy`, which clients look for. */
export const POLICY_NAMES: Record<RateClass, string> = { verify: "rate", read: "read", write: "write" };

/** Name of the class's requests in a refusal. */
export const REQUEST_NAMES: Record<RateClass, string> = {
  verify: "verifications",
  read: "reads",
  write: "writes",
};

export type RateSettings = Pick<
  TierLimits,
  "ratePerS" | "rateBurst" | "readsPerS" | "readsBurst" | "writesPerS" | "writesBurst"
>;

/** Tokens a second, and at once. */
export interface Rate {
  ratePerS: number;
  burst: number;
}

export function rateOf(limits: RateSettings, rateClass: RateClass): Rate {
  if (rateClass === "read") return { ratePerS: limits.readsPerS, burst: limits.readsBurst };
  if (rateClass === "write") return { ratePerS: limits.writesPerS, burst: limits.writesBurst };
  return { ratePerS: limits.ratePerS, burst: limits.rateBurst };
}
