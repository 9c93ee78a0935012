import { LIMITS } from "../../config/limits/limits.ts";
import type { TierLimits } from "../../config/tiers.ts";
import type { Actor } from "../identity/actor.ts";
import {
  POLICY_NAMES,
  RATE_CLASSES,
  type RateClass,
  type RateSettings,
  rateOf,
} from "../rate-limit/classes.ts";
import type { AddressRate, LimitState } from "../rate-limit/clients.ts";
import type { RateLimiter } from "../rate-limit/rate-limit.ts";
import type { Quota } from "./quota.ts";

export interface LimitsView {
  limits: RateSettings & Pick<TierLimits, "dailyQuota">;
  /** Which bucket `rate` is the state of. */
  rateClass: RateClass;
  rate: LimitState;
  /** null: the request does not touch the quota (test keys, reads and writes). */
  quota: LimitState | null;
}

const DAY_S = 86_400;

/** The limits in an answer: the value of `RateLimit-Policy`, and the numbers of `RateLimit`, whole and not negative. */
export interface RateLimitState {
  policy: string;
  /** Name of the rate's policy. */
  name: string;
  rate: number;
  rateResetS: number;
  /** -1: the request does not touch the quota. */
  quota: number;
  quotaResetS: number;
}

export const NO_QUOTA = -1;

/**
 * Values for `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11): lists of structured field
 * strings with parameters. `q` is the quota and `w` its window in seconds, `r` the remaining units and `t` the seconds
 * until the reset. The window of the rate is the time in which an empty bucket fills, so that q / w is the sustained rate.
 */
export function rateLimitState({ limits, rateClass, rate, quota }: LimitsView): RateLimitState {
  const policies = policiesOf(limits);
  return {
    policy: quota === null ? policies[rateClass] : policies.full,
    name: POLICY_NAMES[rateClass],
    rate: rate.remaining,
    rateResetS: rate.resetS,
    quota: quota === null ? NO_QUOTA : quota.remaining,
    quotaResetS: quota === null ? 0 : quota.resetS,
  };
}

/** The value of `RateLimit`. */
export function limitText({ name, rate, rateResetS, quota, quotaResetS }: RateLimitState): string {
  const text = `"${name}";r=${rate};t=${rateResetS}`;
  return quota === NO_QUOTA ? text : `${text}, "quota";r=${quota};t=${quotaResetS}`;
}

/** Policies by class of the request; `full`: for a verification that touches the quota, too. */
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

/** The rate of a client's address, as `createLimitsView` describes those of a team. */
export function createPublicLimitsView(publicRate: Pick<AddressRate, "snapshot">) {
  const { burst, unitsPerS } = LIMITS.publicRate;
  const name = "client";
  const policy = `"${name}";q=${burst};w=${Math.max(1, Math.ceil(burst / unitsPerS))}`;
  return (address: string, nowMs: number): RateLimitState => {
    const { remaining, resetS } = publicRate.snapshot(address, nowMs);
    return { policy, name, rate: remaining, rateResetS: resetS, quota: NO_QUOTA, quotaResetS: 0 };
  };
}

/**
 * The limits for every answer to an actor, as far as this process knows: the bucket of the request's class, and the quota
 * if the request may have used it. No I/O.
 */
export function createLimitsView(deps: {
  rateLimiter: Pick<RateLimiter, "snapshot">;
  quota: Pick<Quota, "snapshot">;
}): (actor: Actor, rateClass: RateClass) => RateLimitState {
  return (actor, rateClass) =>
    rateLimitState({
      limits: actor.limits,
      rateClass,
      rate: deps.rateLimiter.snapshot(actor, rateClass),
      quota: actor.livemode && rateClass === "verify" ? deps.quota.snapshot(actor) : null,
    });
}
