import type { TierLimits } from "../core/tiers.ts";
import type { Actor } from "./actor.ts";
import type { Quota } from "./quota/quota.ts";
import type { RateLimiter } from "./rate-limit/rate-limit.ts";

/** How much of a limit is left, and when that changes. */
interface LimitState {
  /** Requests that may be made now. */
  remaining: number;
  /** Whole seconds within which no more than `remaining` may be made. */
  resetS: number;
}

export interface LimitsView {
  limits: Pick<TierLimits, "dailyQuota" | "ratePerS" | "rateBurst">;
  rate: LimitState;
  /** null: the credential does not touch the quota (test keys). */
  quota: LimitState | null;
}

const DAY_S = 86_400;

/**
 * The values of `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11): lists of structured
 * field strings with parameters `q` quota and `w` window in seconds, `r` what is left and `t` the seconds that has to
 * last. The window of the rate is the time in which an empty bucket fills, so that q / w is the sustained rate.
 */
export function rateLimitHeaders(view: LimitsView): { policy: string; limit: string } {
  const { limits, rate, quota } = view;
  const policies = policiesOf(limits);
  const limit = rateText(rate.remaining, rate.resetS);
  if (!quota) return { policy: policies.rateOnly, limit };
  return { policy: policies.full, limit: limit + quotaText(quota.remaining, quota.resetS) };
}

function rateText(remaining: number, resetS: number): string {
  return `"rate";r=${remaining};t=${resetS}`;
}

function quotaText(remaining: number, resetS: number): string {
  return `, "quota";r=${remaining};t=${resetS}`;
}

/** The value of `RateLimit` of a credential that touches both. */
export function limitText(left: {
  rate: number;
  rateResetS: number;
  quota: number;
  quotaResetS: number;
}): string {
  return rateText(left.rate, left.rateResetS) + quotaText(left.quota, left.quotaResetS);
}

/** The value of `RateLimit-Policy` of a credential that touches both. */
export function policyText(limits: LimitsView["limits"]): string {
  return policiesOf(limits).full;
}

interface Policies {
  rateOnly: string;
  full: string;
}

/** Written once per limits object: all actors of a team share it, and it is never mutated. */
const written = new WeakMap<LimitsView["limits"], Policies>();

function policiesOf(limits: LimitsView["limits"]): Policies {
  const known = written.get(limits);
  if (known) return known;
  const windowS = Math.max(1, Math.ceil(limits.rateBurst / limits.ratePerS));
  const rateOnly = `"rate";q=${limits.rateBurst};w=${windowS}`;
  const policies = { rateOnly, full: `${rateOnly}, "quota";q=${limits.dailyQuota};w=${DAY_S}` };
  written.set(limits, policies);
  return policies;
}

/** What every answer to an actor says of its limits, as far as this process knows. No I/O. */
export function createLimitsView(deps: {
  rateLimiter: Pick<RateLimiter, "snapshot">;
  quota: Pick<Quota, "snapshot">;
}): (actor: Actor) => { policy: string; limit: string } {
  return (actor) =>
    rateLimitHeaders({
      limits: actor.limits,
      rate: deps.rateLimiter.snapshot(actor),
      quota: actor.livemode ? deps.quota.snapshot(actor) : null,
    });
}
