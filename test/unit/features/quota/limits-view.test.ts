import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TIER_LIMITS, TIERS } from "../../../../src/config/tiers.ts";
import type { Actor } from "../../../../src/features/identity/actor.ts";
import { createLimitsView, limitText, rateLimitState } from "../../../../src/features/quota/limits-view.ts";
import { RATE_CLASSES, type RateClass } from "../../../../src/features/rate-limit/classes.ts";

/** One item of the list: a string, then parameters that are integers (RFC 9651). */
const ITEM = /^"[a-z]+"(;[a-z]+=\d+)+$/;

describe("the RateLimit fields", () => {
  it("say quota, window, what is left and for how long", () => {
    const state = rateLimitState({
      limits: TIER_LIMITS.free,
      rateClass: "verify",
      rate: { remaining: 8, resetS: 1 },
      quota: { remaining: 99, resetS: 3_600 },
    });
    assert.equal(state.policy, '"rate";q=10;w=5, "quota";q=100;w=86400');
    assert.equal(limitText(state), '"rate";r=8;t=1, "quota";r=99;t=3600');
  });

  it("are lists of structured field items for every tier", () => {
    for (const tier of TIERS) {
      const state = { remaining: 0, resetS: 1 };
      for (const rateClass of RATE_CLASSES) {
        const quota = rateClass === "verify" ? state : null;
        const left = rateLimitState({ limits: TIER_LIMITS[tier], rateClass, rate: state, quota });
        for (const item of [...left.policy.split(", "), ...limitText(left).split(", ")])
          assert.match(item, ITEM);
      }
    }
  });

  it("leave out the quota for test keys, which do not touch it", () => {
    const view = createLimitsView({
      rateLimiter: { snapshot: () => ({ remaining: 10, resetS: 1 }) },
      quota: { snapshot: () => ({ remaining: 5, resetS: 60 }) },
    });
    const actor = { livemode: false, limits: TIER_LIMITS.free } as Actor;
    assert.equal(view(actor, "verify").policy, '"rate";q=10;w=5');
    assert.equal(
      limitText(view({ ...actor, livemode: true }, "verify")),
      '"rate";r=10;t=1, "quota";r=5;t=60',
    );
  });

  it("name the bucket of the request's class, and no quota that it does not touch", () => {
    const asked: RateClass[] = [];
    const snapshot = (_actor: Actor, rateClass: RateClass) => {
      asked.push(rateClass);
      return { remaining: 3, resetS: 1 };
    };
    const view = createLimitsView({
      rateLimiter: { snapshot },
      quota: { snapshot: () => ({ remaining: 5, resetS: 60 }) },
    });
    const actor = { livemode: true, limits: TIER_LIMITS.free } as Actor;
    const texts = (["read", "write"] as const).map((rateClass) => {
      const left = view(actor, rateClass);
      return [left.policy, limitText(left)];
    });
    assert.deepEqual(texts, [
      ['"read";q=100;w=5', '"read";r=3;t=1'],
      ['"write";q=50;w=10', '"write";r=3;t=1'],
    ]);
    assert.deepEqual(asked, ["read", "write"]);
  });
});
