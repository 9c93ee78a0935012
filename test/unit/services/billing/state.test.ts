import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Tier } from "../../../../src/core/tiers.ts";
import {
  isOurs,
  mergeEvent,
  mergeRead,
  type Plans,
  type SeenSubscription,
  settle,
  standingOf,
  surplusOf,
} from "../../../../src/services/billing/state.ts";
import type { SubscriptionRow } from "../../../../src/store/billing.ts";
import fc from "../../../support/properties.ts";

const plans: Plans = new Map([
  ["price_s", { tier: "starter", interval: "year" }],
  ["price_p", { tier: "pro", interval: "month" }],
  ["price_pp", { tier: "pro_plus", interval: "month" }],
]);

function seen(
  id: string,
  status: string,
  priceId: string | null = "price_p",
  createdS = 10,
): SeenSubscription {
  return {
    id,
    customerId: "cus_1",
    teamId: null,
    status,
    priceId,
    sold: null,
    createdS,
    periodEndS: null,
    cancelAtPeriodEnd: false,
  };
}

function row(id: string, status: string, rest: Partial<SubscriptionRow> = {}): SubscriptionRow {
  return { ...mergeRead(null, seen(id, status), new Date(0), plans), readAt: null, ...rest };
}

/** A team as the service keeps it, with the database left out. */
function createTeam(tier: Tier = "free") {
  const rows = new Map<string, SubscriptionRow>();
  const team = { tier, subscriptionId: null as string | null };
  const settleNow = () => {
    const { tier, subscriptionId } = settle(team, [...rows.values()], plans);
    Object.assign(team, { tier, subscriptionId });
  };
  let reread = false;
  return {
    team,
    get reread() {
      return reread;
    },
    take(state: SeenSubscription, atS: number) {
      const merged = mergeEvent(rows.get(state.id) ?? null, state, atS, plans);
      if (merged.row !== null) rows.set(state.id, merged.row);
      reread ||= merged.reread;
      settleNow();
    },
    read(states: SeenSubscription[]) {
      for (const state of states)
        rows.set(state.id, mergeRead(rows.get(state.id) ?? null, state, new Date(1e12), plans));
      settleNow();
    },
  };
}

interface Told {
  state: SeenSubscription;
  atS: number;
}

/** What one subscription goes through; times may repeat unless `stepMin` is 1. */
function lifeOf(id: string, createdS: number, stepMin: number): fc.Arbitrary<Told[]> {
  const running = fc.constantFrom("trialing", "active", "past_due", "unpaid", "paused");
  const price = fc.constantFrom("price_s", "price_p", "price_pp");
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
        starts || middle.length === 0 ? [["incomplete", "price_p", 0]] : [];
      return [...first, ...middle, ...(ends === null ? [] : [ends])].map(([status, priceId, after]) => {
        atS += after;
        return { state: seen(id, status, priceId, createdS), atS };
      });
    });
}

interface History {
  lives: Told[][];
  /** All of it, with repetitions, in another order. */
  delivered: Told[];
}

function historyOf(stepMin: number): fc.Arbitrary<History> {
  return fc.tuple(lifeOf("sub_a", 10, stepMin), lifeOf("sub_b", 12, stepMin)).chain((lives) => {
    const all = lives.flat();
    const repeated = fc.subarray(all).map((some) => [...all, ...some]);
    return repeated
      .chain((told) => fc.shuffledSubarray(told, { minLength: told.length }))
      .map((delivered) => ({ lives, delivered }));
  });
}

/** Where it all ends when nothing is lost, repeated or late. */
function truth({ lives }: History) {
  const inOrder = createTeam();
  const told = lives.flat().sort((a, b) => a.atS - b.atS);
  for (const { state } of told) inOrder.read([state]);
  return inOrder.team;
}

function deliver({ delivered }: History) {
  const team = createTeam();
  for (const { state, atS } of delivered) team.take(state, atS);
  return team;
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

describe("an event", () => {
  const known = row("sub_1", "active", { stateAtS: 100 });

  it("that is older changes nothing; a newer one is believed", () => {
    assert.deepEqual(mergeEvent(known, seen("sub_1", "canceled"), 99, plans), { row: null, reread: false });
    const merged = mergeEvent(known, seen("sub_1", "past_due"), 101, plans);
    assert.deepEqual([merged.row?.status, merged.row?.stateAtS, merged.reread], ["past_due", 101, false]);
  });

  it("of the same second loses to a later status and wins over an earlier, and the truth is asked for", () => {
    for (const [status, wins] of [
      ["canceled", true],
      ["unpaid", true],
      ["incomplete_expired", true],
      ["incomplete", false],
      ["trialing", false],
    ] as const) {
      const merged = mergeEvent(known, seen("sub_1", status), 100, plans);
      assert.deepEqual([merged.row?.status ?? null, merged.reread], [wins ? status : null, true], status);
    }
    for (const status of ["canceled", "unpaid", "incomplete_expired"]) {
      const ended = row("sub_1", status, { stateAtS: 100 });
      assert.deepEqual(mergeEvent(ended, seen("sub_1", "active"), 100, plans), { row: null, reread: true });
    }
  });

  it("of the same second that says the same asks for nothing", () => {
    assert.deepEqual(mergeEvent(known, seen("sub_1", "active"), 100, plans), { row: null, reread: false });
  });

  it("of the same second that is paid for longer is believed, and the truth is asked for", () => {
    const renewed = { ...seen("sub_1", "active"), periodEndS: 200 };
    const merged = mergeEvent(known, renewed, 100, plans);
    assert.deepEqual([merged.row?.periodEndS, merged.reread], [200, true]);
  });

  it("that may be from before a read is believed, and asks for another", () => {
    const read = { ...known, readAt: new Date(200_000) };
    assert.deepEqual(
      [
        mergeEvent(read, seen("sub_1", "past_due"), 150, plans).reread,
        mergeEvent(read, seen("sub_1", "past_due"), 501, plans).reread,
      ],
      [true, false],
    );
  });

  it("that revives what has ended is believed, and asks for a read", () => {
    const merged = mergeEvent(
      row("sub_1", "canceled", { stateAtS: 100 }),
      seen("sub_1", "active"),
      101,
      plans,
    );
    assert.deepEqual([merged.row?.status, merged.reread], ["active", true]);
  });
});

describe("the tier", () => {
  const after = (tier: Tier, subscriptionId: string | null, ...rows: SubscriptionRow[]) =>
    settle({ tier, subscriptionId }, rows, plans);

  it("is the price's in good standing, past_due too; free when it is no longer paid", () => {
    for (const status of ["active", "trialing", "past_due"])
      assert.deepEqual(after("free", null, row("sub_1", status)), {
        tier: "pro",
        subscriptionId: "sub_1",
        unknownPrice: null,
      });
    for (const status of ["unpaid", "paused"])
      assert.deepEqual(after("pro", "sub_1", row("sub_1", status)).tier, "free", status);
    for (const status of ["canceled", "incomplete_expired"]) {
      const { tier, subscriptionId } = after("pro", "sub_1", row("sub_1", status));
      assert.deepEqual([tier, subscriptionId], ["free", null], status);
    }
  });

  it("of the operator is not touched by what was never followed, nor by what is not yet paid", () => {
    for (const status of ["canceled", "incomplete_expired", "incomplete", "brand_new_status"]) {
      const { tier, subscriptionId } = after("pro_plus", null, row("sub_1", status));
      assert.deepEqual([tier, subscriptionId], ["pro_plus", null], status);
    }
  });

  it("enterprise is never taken away", () => {
    for (const status of ["active", "unpaid", "canceled"])
      assert.equal(after("enterprise", "sub_1", row("sub_1", status)).tier, "enterprise", status);
  });

  it("stays where the price is not configured, which is said", () => {
    const settled = after("starter", null, row("sub_1", "active", { priceId: "price_new", plan: null }));
    assert.deepEqual(settled, { tier: "starter", subscriptionId: "sub_1", unknownPrice: "price_new" });
  });

  it("is what was sold where the price is not for sale any more, also when it is paid again", () => {
    const sold: SeenSubscription["sold"] = { tier: "starter", interval: "month" };
    const retired = (status: string) => ({ ...seen("sub_1", status, "price_retired"), sold });
    const team = createTeam();
    for (const [i, [status, tier]] of (
      [
        ["active", "starter"],
        ["unpaid", "free"],
        ["active", "starter"],
      ] as const
    ).entries()) {
      team.take(retired(status), 100 + i);
      assert.equal(team.team.tier, tier, `${i}`);
    }
    team.read([retired("active")]);
    assert.equal(team.team.tier, "starter");
  });

  it("stays what the last price for sale gave, neither less nor more, when another takes its place", () => {
    const sold: SeenSubscription["sold"] = { tier: "pro_plus", interval: "month" };
    const team = createTeam();
    const told = [
      ["active", "price_pp", "pro_plus"],
      ["active", "price_s", "starter"],
      ["active", "price_new", "starter"],
      ["unpaid", "price_new", "free"],
      ["active", "price_new", "starter"],
    ] as const;
    for (const [i, [status, priceId, tier]] of told.entries()) {
      team.take({ ...seen("sub_1", status, priceId), sold }, 100 + i);
      assert.equal(team.team.tier, tier, `${i}`);
    }
  });

  it("follows the earlier of two, and the other when that has ended", () => {
    const [first, second] = [
      row("sub_1", "active"),
      row("sub_2", "active", { createdS: 20, priceId: "price_s" }),
    ];
    assert.deepEqual(surplusOf([second, first]), [second]);
    assert.equal(after("free", null, second, first).subscriptionId, "sub_1");
    const ended = { ...first, status: "canceled" };
    assert.deepEqual(surplusOf([second, ended]), []);
    assert.deepEqual(
      [after("pro", "sub_1", second, ended).tier, after("pro", "sub_1", second, ended).subscriptionId],
      ["starter", "sub_2"],
    );
  });

  it("follows one in good standing rather than an earlier one that is not, which is surplus", () => {
    const [unpaid, active] = [row("sub_1", "unpaid"), row("sub_2", "active", { createdS: 20 })];
    assert.equal(after("free", "sub_1", unpaid, active).subscriptionId, "sub_2");
    assert.deepEqual(surplusOf([unpaid, active]), [unpaid]);
    assert.deepEqual(surplusOf([unpaid, row("sub_3", "incomplete")]), []);
  });
});

describe("what a customer buys", () => {
  const ours = (priceId: string | null, teamId: string | null, ...known: string[]) =>
    isOurs({ id: "sub_1", priceId, teamId }, { teamId: "team_1", known }, plans);

  it("is the team's by its price or by the team it names; nothing else of his is", () => {
    assert.equal(ours("price_p", null), true);
    assert.equal(ours("price_of_a_mug", "team_1"), true);
    assert.equal(ours("price_of_a_mug", null), false);
    assert.equal(ours(null, null), false);
    assert.equal(ours("price_p", "team_2"), false, "of another team");
  });

  it("stays the team's once it was, whatever its price and metadata become", () => {
    for (const teamId of [null, "team_1", "team_2"])
      assert.equal(ours("price_retired", teamId, "sub_0", "sub_1"), true);
    assert.equal(ours("price_retired", null, "sub_0"), false);
  });

  it("may have a status that nobody has heard of", () => {
    assert.equal(standingOf("never_heard_of"), "pending");
  });
});
