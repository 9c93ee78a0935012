import type { Identity } from "../api/session.ts";

/** Names of the tiers for people. */
export const TIERS: Readonly<Record<Identity["team"]["tier"], string>> = {
  free: "Free",
  starter: "Starter",
  pro: "Pro",
  pro_plus: "Pro+",
  enterprise: "Enterprise",
};
