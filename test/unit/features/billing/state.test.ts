import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Tier } from "../../../../src/config/tiers.ts";
import {
  isOurs,
  mergeEvent,
  mergeRead,
  paidTwice,
  type SeenSubscription,
  settleTier,
  subscriptionStandingOf,
} from "../../../../src/features/billing/state.ts";
import type { SubscriptionRow } from "../../../../src/features/billing/subscription-sql.ts";
import { at, createTeam, NOW_S, plans, row, seen } from "../../../support/billing-state.ts";

describe("an event", () => {
  const known = row("sub_1", "active", { stateAtS: 100 });

  it("that is older changes nothing; a newer one is accepted", () => {
    assert.deepEqual(mergeEvent(known, seen("sub_1", "canceled"), at(99), plans), {
      row: null,
      reread: false,
    });
    const merged = mergeEvent(known, seen("sub_1", "past_due"), at(101), plans);
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
      const merged = mergeEvent(known, seen("sub_1", status), at(100), plans);
      assert.deepEqual([merged.row?.status ?? null, merged.reread], [wins ? status : null, true], status);
    }
    for (const status of ["canceled", "unpaid", "incomplete_expired"]) {
      const ended = row("sub_1", status, { stateAtS: 100 });
      assert.deepEqual(mergeEvent(ended, seen("sub_1", "active"), at(100), plans), {
        row: null,
        reread: true,
      });
    }
  });

  it("of the same second that says the same asks for nothing", () => {
    assert.deepEqual(mergeEvent(known, seen("sub_1", "active"), at(100), plans), {
      row: null,
      reread: false,
    });
  });

  it("of the same second that is paid for longer is accepted, and a read is requested", () => {
    const renewed = { ...seen("sub_1", "active"), periodEndS: 200 };
    const merged = mergeEvent(known, renewed, at(100), plans);
    assert.deepEqual([merged.row?.periodEndS, merged.reread], [200, true]);
  });

  it("that may be from before a read is accepted, and requests another read", () => {
    const read = { ...known, readAt: new Date(200_000) };
    assert.deepEqual(
      [
        mergeEvent(read, seen("sub_1", "past_due"), at(150), plans).reread,
        mergeEvent(read, seen("sub_1", "past_due"), at(501), plans).reread,
      ],
      [true, false],
    );
  });

  it("that is dated in the future changes nothing, and the truth is asked for", () => {
    for (const before of [known, null])
      assert.deepEqual(mergeEvent(before, seen("sub_1", "canceled"), at(NOW_S + 61), plans), {
        row: null,
        reread: true,
      });
    assert.equal(mergeEvent(known, seen("sub_1", "canceled"), at(NOW_S + 60), plans).row?.status, "canceled");
  });

  it("is not outlasted by what is dated in the future: a read sets that right", () => {
    const ahead = row("sub_1", "canceled", { stateAtS: NOW_S + 3_600 });
    assert.deepEqual(mergeEvent(ahead, seen("sub_1", "active"), at(NOW_S), plans), {
      row: null,
      reread: true,
    });
    const read = mergeRead(ahead, seen("sub_1", "active"), new Date(NOW_S * 1000), plans);
    assert.deepEqual([read.status, read.stateAtS], ["active", NOW_S + 60]);
  });

  it("that is the first of one which only its price shows to be ours asks for a read", () => {
    const unnamed = { ...seen("sub_1", "active"), teamId: null };
    assert.equal(mergeEvent(null, unnamed, at(100), plans).reread, true);
    assert.equal(mergeEvent(null, seen("sub_1", "active"), at(100), plans).reread, false);
  });

  it("that comes late shows what the price meant before one replaced it that is not for sale", () => {
    const [late, latest] = [seen("sub_1", "active", "price_s"), seen("sub_1", "past_due", "price_mug")];
    const moved = mergeEvent(null, latest, at(200), plans).row;
    assert.equal(moved?.plan, null);
    const told = mergeEvent(moved, late, at(100), plans).row;
    assert.deepEqual([told?.status, told?.priceId, told?.plan?.tier], ["past_due", "price_mug", "starter"]);
    const earlier = seen("sub_1", "active", "price_pp");
    assert.equal(mergeEvent(told, earlier, at(99), plans).row, null);
  });

  it("that revives an ended one is accepted, and requests a read", () => {
    const merged = mergeEvent(
      row("sub_1", "canceled", { stateAtS: 100 }),
      seen("sub_1", "active"),
      at(101),
      plans,
    );
    assert.deepEqual([merged.row?.status, merged.reread], ["active", true]);
  });
});

describe("the tier", () => {
  const after = (tier: Tier, subscriptionId: string | null, ...rows: SubscriptionRow[]) =>
    settleTier({ tier, subscriptionId }, rows, plans);

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

  it("is unchanged where the price is not configured, which is logged", () => {
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

  it("follows the better of two, of equal ones the earlier, and the other when that has ended", () => {
    const better = row("sub_2", "active", { createdS: 20 });
    const poorer = row("sub_1", "active", { priceId: "price_s", plan: null });
    const equal = row("sub_3", "active", { createdS: 30 });
    assert.equal(after("free", null, poorer, better, equal).subscriptionId, "sub_2");
    assert.deepEqual(paidTwice([poorer, equal, better], plans), [better, equal, poorer]);
    const ended = { ...better, status: "canceled" };
    assert.deepEqual(paidTwice([poorer, ended], plans), []);
    const { tier, subscriptionId } = after("pro", "sub_2", poorer, ended);
    assert.deepEqual([tier, subscriptionId], ["starter", "sub_1"]);
  });

  it("follows the better of two also where its price is not for sale any more", () => {
    const plan = { tier: "pro_plus", interval: "month" } as const;
    const retired = row("sub_1", "active", { priceId: "price_retired", plan, planAtS: 5 });
    const cheaper = row("sub_2", "active", { priceId: "price_s", plan: null });
    assert.deepEqual(after("free", "sub_2", retired, cheaper), {
      tier: "pro_plus",
      subscriptionId: "sub_1",
      unknownPrice: null,
    });
  });

  it("follows one in good standing rather than an earlier one that is not", () => {
    const [unpaid, active] = [row("sub_1", "unpaid"), row("sub_2", "active", { createdS: 20 })];
    assert.equal(after("free", "sub_1", unpaid, active).subscriptionId, "sub_2");
    assert.deepEqual(paidTwice([unpaid, active, row("sub_3", "incomplete")], plans), []);
  });

  it("is never that of a price which is none of ours where one of ours is paid", () => {
    const bought = row("sub_2", "active", { createdS: 20, priceId: "price_s", plan: null });
    for (const plan of [null, { tier: "pro_plus", interval: "month" }] as const) {
      const foreign = row("sub_1", "active", { priceId: "price_mug", plan, planAtS: null });
      const { tier, subscriptionId } = after("free", "sub_1", foreign, bought);
      assert.deepEqual([tier, subscriptionId], ["starter", "sub_2"]);
      assert.equal(paidTwice([foreign, bought], plans).length, plan === null ? 0 : 2);
    }
  });

  it("ends with what was paid, though a price that gives none goes on beside it", () => {
    const foreign = row("sub_1", "active", { priceId: "price_mug", plan: null });
    for (const [status, followed] of [
      ["canceled", "sub_1"],
      ["unpaid", "sub_2"],
      ["paused", "sub_2"],
    ] as const) {
      const { tier, subscriptionId } = after("pro", "sub_2", foreign, row("sub_2", status, { createdS: 20 }));
      assert.deepEqual([tier, subscriptionId], ["free", followed], status);
    }
    const { tier } = after("pro", "sub_2", foreign, row("sub_2", "never_heard_of", { createdS: 20 }));
    assert.equal(tier, "pro");
  });
});

describe("what a customer buys", () => {
  const ours = (priceId: string | null, teamId: string | null, ...known: string[]) =>
    isOurs({ id: "sub_1", priceId, teamId }, { teamId: "team_1", known }, plans);

  it("belongs to the team by its price or by the team it names; no other of the customer does", () => {
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

  it("may have an unknown status", () => {
    assert.equal(subscriptionStandingOf("never_heard_of"), "pending");
  });
});
