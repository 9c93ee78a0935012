import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { createAttemptCounts } from "../../../../../src/features/webhooks/deliver/attempt-counts.ts";
import { type DispatcherLoad, shareSlots } from "../../../../../src/features/webhooks/deliver/fair-share.ts";
import type { DeliveryQueue, LaneRestriction } from "../../../../../src/features/webhooks/webhook-queue.ts";
import fc from "../../../../support/properties.ts";

const { inFlight, inFlightRestricted, inFlightPerTeam, inFlightPerWebhook, inFlightPerRestricted } =
  LIMITS.webhooks;
const lane = (name: string, rest: Partial<DeliveryQueue> = {}): DeliveryQueue => ({
  lane: name,
  share: `team of ${name}`,
  due: true,
  restriction: null,
  disabled: false,
  ...rest,
});
/** Attempts in progress by name; all had their last turn at the same time. */
const counted = (counts: Record<string, number> = {}) => ({
  inFlight: (name: string) => counts[name] ?? 0,
  lastStarted: () => 0,
});
const NONE = { failing: 0, test: 0 };
const idle: DispatcherLoad = { lanes: counted(), shares: counted(), total: 0, restricted: NONE };
const shares = (lanes: readonly DeliveryQueue[], busy: DispatcherLoad) =>
  shareSlots(lanes, busy).map((share) => [share.lane, share.take]);

describe("the places of a dispatcher", () => {
  it("go to each webhook up to its share, less to one that fails, none where nothing is to be done", () => {
    const lanes = [
      lane("a"),
      lane("b", { restriction: "failing" }),
      lane("c", { due: false }),
      lane("d", { disabled: true }),
    ];
    assert.deepEqual(shareSlots(lanes, idle), [
      { lane: "a", take: inFlightPerWebhook, restriction: null },
      { lane: "b", take: inFlightPerRestricted, restriction: "failing" },
    ]);
  });

  it("count attempts in progress", () => {
    const busy = { ...idle, lanes: counted({ a: inFlightPerWebhook - 1 }), total: 5 };
    assert.deepEqual(shares([lane("a")], busy), [["a", 1]]);
    assert.deepEqual(shares([lane("a")], { ...busy, total: inFlight }), []);
  });

  it("are each webhook's in turn when they are few", () => {
    const lanes = [lane("a"), lane("b"), lane("c")];
    assert.deepEqual(shares(lanes, { ...idle, total: inFlight - 4 }), [
      ["a", 2],
      ["b", 1],
      ["c", 1],
    ]);
  });

  it("go to the team that has the fewest, however many webhooks another has and however old they are", () => {
    const many = Array.from({ length: 16 }, (_, n) => lane(`a${n}`, { share: "old" }));
    const lanes = [...many, lane("z", { share: "new" })];
    const last = { ...idle, total: inFlight - 1 };
    assert.deepEqual(shares(lanes, { ...last, shares: counted({ old: 1 }) }), [["z", 1]]);
    assert.deepEqual(shares(lanes, { ...last, shares: counted({ old: 1, new: 2 }) }), [["a0", 1]]);
    const half = shares(lanes, { ...idle, total: inFlight - 4 });
    assert.deepEqual(half.at(1), ["z", 2]);
  });

  it("come round to everybody while all are taken and given back one by one", () => {
    const names = Array.from({ length: inFlight + 100 }, (_, n) => `l${String(n).padStart(3, "0")}`);
    const lanes = names.map((name, n) => lane(name, { share: `t${n % 300}` }));
    const turns = { lanes: createAttemptCounts(), shares: createAttemptCounts() };
    const underWay: DeliveryQueue[] = [];
    const served = new Set<string>();
    const give = () => {
      for (const { lane: name, take } of shareSlots(lanes, {
        ...turns,
        total: underWay.length,
        restricted: NONE,
      })) {
        const given = lanes.find((one) => one.lane === name) ?? lane("");
        assert.equal(take, 1);
        turns.lanes.begin(name);
        turns.shares.begin(given.share);
        underWay.push(given);
        served.add(name);
      }
    };
    give();
    for (let ended = 0; ended < 2 * names.length; ended++) {
      const done = underWay.shift() ?? lane("");
      turns.lanes.end(done.lane);
      turns.shares.end(done.share);
      give();
    }
    assert.deepEqual([...served].sort(), names);
  });

  it("are kept for others by a part that no failing webhooks and no URLs of test jobs can take", () => {
    const many = (restriction: LaneRestriction) =>
      Array.from({ length: inFlight }, (_, n) => lane(`${restriction} ${n}`, { restriction }));
    const all = [...many("failing"), ...many("test"), lane("z")];
    const taken = shareSlots(all, idle);
    const taking = (restriction: LaneRestriction | null) =>
      taken.filter((share) => share.restriction === restriction);
    // Neither takes the places of the other.
    for (const restriction of ["failing", "test"] as const)
      assert.equal(taking(restriction).length, inFlightRestricted[restriction]);
    assert.deepEqual(taking(null), [{ lane: "z", take: inFlightPerWebhook, restriction: null }]);
    const total = inFlightRestricted.failing + inFlightRestricted.test;
    const busy = { ...idle, total, restricted: inFlightRestricted };
    assert.deepEqual(shares(all, busy), [["z", inFlightPerWebhook]]);
  });

  it("are never more than there are, of a team or of a webhook", () => {
    const someLanes = fc.array(
      fc
        .tuple(fc.nat(30), fc.nat(5), fc.constantFrom("failing", "test", null), fc.boolean())
        .map(([n, team, restriction, due]) => lane(`l${n}`, { share: `t${team}`, restriction, due })),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(someLanes, fc.nat(inFlight), (found, total) => {
        const lanes = [...new Map(found.map((item) => [item.lane, item])).values()];
        const failing = Math.min(total, inFlightRestricted.failing);
        const restricted = { failing, test: Math.min(total - failing, inFlightRestricted.test) };
        const given = shareSlots(lanes, { ...idle, total, restricted });
        const sum = (of: readonly { take: number }[]) => of.reduce((n, { take }) => n + take, 0);
        assert.ok(sum(given) <= inFlight - total);
        for (const kind of ["failing", "test"] as const) {
          const its = given.filter(({ restriction }) => restriction === kind);
          assert.ok(sum(its) <= inFlightRestricted[kind] - restricted[kind]);
        }
        for (const team of new Set(lanes.map(({ share }) => share))) {
          const own = given.filter((share) => lanes.find((l) => l.lane === share.lane)?.share === team);
          assert.ok(sum(own) <= inFlightPerTeam);
        }
        for (const { lane: name, take } of given) {
          const { restriction, due } = lanes.find((l) => l.lane === name) ?? lane("");
          assert.ok(
            due && take >= 1 && take <= (restriction === null ? inFlightPerWebhook : inFlightPerRestricted),
          );
        }
      }),
    );
  });
});
