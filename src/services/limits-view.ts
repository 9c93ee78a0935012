import type { TierLimits } from "../core/tiers.ts";
import type { Actor } from "./actor.ts";
import type { Quota } from "./quota/quota.ts";
import {
  POLICY_NAMES,
  RATE_CLASSES,
  type RateClass,
  type RateSettings,
  rateOf,
} from "./rate-limit/classes.ts";
import type { RateLimiter } from "./rate-limit/rate-limit.ts";

/** How much of a limit is left, and when that changes. */
interface LimitState {
  /** Requests that may be made now. */
  remaining: number;
  /** Whole seconds within which no more than `remaining` may be made. */
  resetS: number;
}

export interface LimitsView {
  limits: RateSettings & Pick<TierLimits, "dailyQuota">;
  /** Which bucket `rate` is the state of. */
  rateClass: RateClass;
  rate: LimitState;
  /** null: the request does not touch the quota (test keys, reads and writes). */
  quota: LimitState | null;
}

const DAY_S = 86_400;

/**
 * The values of `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11): lists of structured
 * field strings with parameters `q` quota and `w` window in seconds, `r` what is left and `t` the seconds that has to
 * last. The window of the rate is the time in which an empty bucket fills, so that q / w is the sustained rate.
 */
export function rateLimitHeaders(view: LimitsView): { policy: string; limit: string } {
  const { limits, rateClass, rate, quota } = view;
  const policies = policiesOf(limits);
  const limit = rateText(rateClass, rate.remaining, rate.resetS);
  if (!quota) return { policy: policies[rateClass], limit };
  return { policy: policies.full, limit: limit + quotaText(quota.remaining, quota.resetS) };
}

function rateText(rateClass: RateClass, remaining: number, resetS: number): string {
  return `"${POLICY_NAMES[rateClass]}";r=${remaining};t=${resetS}`;
}

function quotaText(remaining: number, resetS: number): string {
  return `, "quota";r=${remaining};t=${resetS}`;
}

/** The value of `RateLimit` of a verification that touches both. */
export function limitText(left: {
  rate: number;
  rateResetS: number;
  quota: number;
  quotaResetS: number;
}): string {
  return rateText("verify", left.rate, left.rateResetS) + quotaText(left.quota, left.quotaResetS);
}

/** The value of `RateLimit-Policy` of a verification that touches both. */
export function policyText(limits: LimitsView["limits"]): string {
  return policiesOf(limits).full;
}

/** By the class of the request; `full`: of a verification that touches the quota, too. */
type Policies = Record<RateClass | "full", string>;

/** Written once per limits object: all actors of a team share it, and it is never mutated. */
const written = new WeakMap<LimitsView["limits"], Policies>();

function policiesOf(limits: LimitsView["limits"]): Policies {
  const known = written.get(limits);
  if (known) return known;
  const [verify = "", read = "", write = ""] = RATE_CLASSES.map((rateClass) => ratePolicy(limits, rateClass));
  const policies = { verify, read, write, full: `${verify}, "quota";q=${limits.dailyQuota};w=${DAY_S}` };
  written.set(limits, policies);
  return policies;
}

function ratePolicy(limits: RateSettings, rateClass: RateClass): string {
  const { ratePerS, burst } = rateOf(limits, rateClass);
  return `"${POLICY_NAMES[rateClass]}";q=${burst};w=${Math.max(1, Math.ceil(burst / ratePerS))}`;
}

/**
 * What every answer to an actor says of the limits that its request was subject to, as far as this process knows: the
 * bucket of its class, and the quota where the request may have cost of it. No I/O.
 */
export function createLimitsView(deps: {
  rateLimiter: Pick<RateLimiter, "snapshot">;
  quota: Pick<Quota, "snapshot">;
}): (actor: Actor, rateClass: RateClass) => { policy: string; limit: string } {
  return (actor, rateClass) =>
    rateLimitHeaders({
      limits: actor.limits,
      rateClass,
      rate: deps.rateLimiter.snapshot(actor, rateClass),
      quota: actor.livemode && rateClass === "verify" ? deps.quota.snapshot(actor) : null,
    });
}
