import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SeenSubscription } from "../../../../src/features/billing/state.ts";
import { createTeam, NOW_S, seen } from "../../../support/billing-state.ts";
import fc from "../../../support/properties.ts";

/** Events come twice and in any order; the final state must not depend on either. */

interface SubscriptionEvent {
  state: SeenSubscription;
  atS: number;
}

const SOLD = ["price_s", "price_p", "price_pp"];
const FOREIGN = ["price_mug", "price_hat"];

/** A random life of one subscription; times may repeat unless `stepMin` is 1. */
function lifeOf(
  id: string,
  createdS: number,
  stepMin: number,
  prices: string[],
): fc.Arbitrary<SubscriptionEvent[]> {
  const running = fc.constantFrom("trialing", "active", "past_due", "unpaid", "paused");
  const price = fc.constantFrom(...prices);
  const step = fc.integer({ min: stepMin, max: 2 });
  return fc
    .record({
      starts: fc.boolean(),
      middle: fc.array(fc.tuple(running, price, step), { maxLength: 5 }),
      ends: fc.option(fc.tuple(fc.constantFrom("canceled", "incomplete_expired"), price, step)),
    })
    .map(({ starts, middle, ends }) => {
      let atS = createdS;
      const first: [string, string, number][] =
        starts || middle.length === 0 ? [["incomplete", prices[0] ?? "", 0]] : [];
      return [...first, ...middle, ...(ends === null ? [] : [ends])].map(([status, priceId, after]) => {
        atS += after;
        return { state: seen(id, status, priceId, createdS), atS };
      });
    });
}

interface History {
  lives: SubscriptionEvent[][];
  /** All of it, with repetitions, in another order. */
  delivered: SubscriptionEvent[];
}

function historyOf(stepMin: number): fc.Arbitrary<History> {
  // The order of two prices in one second is unknown, so then only prices for sale are used.
  const prices = stepMin === 0 ? SOLD : [...SOLD, ...FOREIGN];
  const ours = [lifeOf("sub_a", 10, stepMin, prices), lifeOf("sub_b", 12, stepMin, prices)];
  return fc.tuple(...ours, lifeOf("sub_c", 8, stepMin, FOREIGN)).chain((lives) => {
    const all = lives.flat();
    const repeated = fc.subarray(all).map((some) => [...all, ...some]);
    return repeated
      .chain((events) => fc.shuffledSubarray(events, { minLength: events.length }))
      .map((delivered) => ({ lives, delivered }));
  });
}

/** The final state when no event is lost, repeated or late. */
function truth({ lives }: History) {
  const inOrder = createTeam();
  const events = lives.flat().sort((a, b) => a.atS - b.atS);
  for (const { state } of events) inOrder.read([state]);
  return inOrder.team;
}

function deliver({ delivered }: History) {
  const team = createTeam();
  for (const { state, atS } of delivered) team.take(state, atS);
  return team;
}

function* permutationsOf<T>(all: readonly T[]): Generator<T[]> {
  if (all.length === 0) yield [];
  for (const [i, one] of all.entries())
    for (const rest of permutationsOf(all.toSpliced(i, 1))) yield [one, ...rest];
}

const last = ({ lives }: History) => lives.flatMap((life) => life.slice(-1).map(({ state }) => state));

describe("the order of events", () => {
  it("does not matter once Stripe was read", () => {
    fc.assert(
      fc.property(historyOf(0), (history) => {
        const team = deliver(history);
        team.read(last(history));
        assert.deepEqual(team.team, truth(history));
      }),
      { numRuns: 500 },
    );
  });

  it("does not matter at all where no two are of the same second", () => {
    fc.assert(
      fc.property(historyOf(1), (history) => {
        const team = deliver(history);
        assert.deepEqual(team.team, truth(history));
        assert.equal(team.reread, false);
      }),
      { numRuns: 500 },
    );
  });

  it("does not matter in any of all 720 permutations of a purchase beside older foreign subscriptions", () => {
    const sold: SeenSubscription["sold"] = { tier: "pro_plus", interval: "month" };
    const events: SubscriptionEvent[] = [
      { state: seen("sub_foreign", "active", "price_mug", 10), atS: 10 },
      { state: { ...seen("sub_copied", "active", "price_hat", 11), sold }, atS: 11 },
      { state: seen("sub_pro", "incomplete", "price_p", 20), atS: 20 },
      { state: seen("sub_pro", "active", "price_p", 20), atS: 21 },
      { state: seen("sub_foreign", "past_due", "price_mug", 10), atS: 22 },
      { state: seen("sub_pro", "canceled", "price_p", 20), atS: NOW_S + 3_600 },
    ];
    let count = 0;
    for (const order of permutationsOf(events)) {
      count += 1;
      const { team, take } = createTeam();
      for (const { state, atS } of order) take(state, atS);
      assert.deepEqual(team, { tier: "pro", subscriptionId: "sub_pro" }, JSON.stringify(order));
    }
    assert.equal(count, 720);
  });

  it("that leaves another end than the truth asks for a read", () => {
    fc.assert(
      fc.property(historyOf(0), (history) => {
        const team = deliver(history);
        const { tier, subscriptionId } = truth(history);
        const same = team.team.tier === tier && team.team.subscriptionId === subscriptionId;
        assert.ok(same || team.reread);
      }),
      { numRuns: 500 },
    );
  });
});
