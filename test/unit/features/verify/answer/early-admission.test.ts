import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Actor } from "../../../../../src/features/identity/actor.ts";
import type { UnitAvailability } from "../../../../../src/features/quota/quota.ts";
import type { AddressQuestion } from "../../../../../src/features/verify/answer/address-question.ts";
import {
  createEarlyAdmission,
  type EarlyAdmissionDeps,
} from "../../../../../src/features/verify/answer/early-admission.ts";
import type { VerificationWaiter } from "../../../../../src/features/verify/checks/in-flight-checks.ts";
import { AppError } from "../../../../../src/platform/errors.ts";

const CROWDED = new AppError("overloaded", "Too many verifications are in progress. Retry after 1 s.");
const RATE = new AppError("rate_limited", "The rate is exceeded.");
const LIMITS = { probing: true, refresh: false };
const actorOf = (more: Partial<Actor> = {}) =>
  ({ teamId: "team", livemode: true, limits: LIMITS, overlay: {}, ...more }) as Actor;
const INPUT = { email: "a@one.test", refresh: false, withEvidence: false, probe: true };

function entranceWith({ crowded = true, swamped = false, known = false, limited = false } = {}) {
  const turnedAway: string[] = [];
  const deps: EarlyAdmissionDeps = {
    examiner: {
      understand: () => ({}) as AddressQuestion,
      isKnown: () => known,
      find: () => assert.fail("sought"),
    },
    cachedAnswers: { find: () => null },
    admission: {
      enter: () => assert.fail("entered"),
      isAtCapacity: () => crowded,
      isSaturated: () => swamped,
      wouldRefuse: () => crowded,
      refuse(teamId) {
        turnedAway.push(teamId);
        return CROWDED;
      },
    },
    rateLimiter: { isRefusing: () => limited, refusal: () => (limited ? RATE : null), isLeased: () => true },
    quota: { prepare: () => assert.fail("entered") },
    clock: { monotonic: () => 0 },
  };
  return { deps, entrance: createEarlyAdmission(deps), turnedAway };
}

const FINDING = { entry: null, cached: false } as const;

/** An early admission that admits every request. */
function entering(waits: { unit: UnitAvailability; isLeased: boolean }) {
  const { deps } = entranceWith({ crowded: false });
  const begun: string[] = [];
  const entrance = createEarlyAdmission({
    ...deps,
    examiner: {
      understand: (_email, _withEvidence, { teamId }) => ({ teamId }) as AddressQuestion,
      isKnown: () => false,
      find({ teamId }, _refresh, _waiter, arrival) {
        begun.push(teamId);
        return Promise.resolve(arrival.settled(FINDING));
      },
    },
    admission: {
      ...deps.admission,
      enter: () => ({ admit() {}, release() {} }),
    },
    rateLimiter: { ...deps.rateLimiter, isLeased: () => waits.isLeased },
    quota: { prepare: () => waits.unit },
  });
  return {
    begun,
    enter(teamId: string) {
      const waiter: VerificationWaiter = { startedMs: 0, cancelled: () => false, onCancel() {} };
      entrance.enter(INPUT, actorOf({ teamId }), waiter);
      return waiter.addressQuestion?.found;
    },
  };
}

describe("the entrance of a verification", () => {
  it("refuses unknown addresses without a free slot, and leaves the rest to later steps", () => {
    const { entrance, turnedAway } = entranceWith();
    assert.equal(
      entrance.refusal(actorOf(), 0, () => INPUT),
      CROWDED,
    );
    assert.deepEqual(turnedAway, ["team"]);
    for (const input of [null, { ...INPUT, refresh: true }])
      assert.equal(
        entrance.refusal(actorOf(), 0, () => input),
        null,
      );
    const known = entranceWith({ known: true }).entrance;
    assert.equal(
      known.refusal(actorOf(), 0, () => INPUT),
      null,
    );
    const roomy = entranceWith({ crowded: false }).entrance;
    assert.equal(
      roomy.refusal(actorOf(), 0, () => assert.fail("read")),
      null,
    );
  });

  for (const [what, unit, isLeased, isBegun] of [
    ["whose unit is fetched", "fetching", true, true],
    ["whose token is fetched", "ready", false, true],
    ["whose token is fetched, of a team that was refused lately", "doubtful", false, false],
    ["that waits for nothing", "ready", true, false],
  ] as const)
    it(`begins ${isBegun ? "a" : "no"} check ${what}`, async () => {
      const { enter } = entering({ unit, isLeased });
      assert.deepEqual(await enter("team"), isBegun ? FINDING : undefined);
    });

  it("begins one check of a team at a time", async () => {
    const { enter, begun } = entering({ unit: "fetching", isLeased: false });
    const found = ["team", "team", "other", "team"].map((teamId) => enter(teamId));
    assert.deepEqual(begun, ["team", "other"]);
    await Promise.all(found);
    await enter("team");
    assert.deepEqual(begun, ["team", "other", "team"]);
  });

  it("refuses unread requests when the process is saturated, except those of test keys, which cost it nothing", () => {
    const { entrance, turnedAway } = entranceWith({ swamped: true, known: true });
    assert.equal(
      entrance.refusal(actorOf(), 0, () => assert.fail("read")),
      CROWDED,
    );
    assert.equal(
      entrance.refusal(actorOf({ livemode: false }), 0, () => INPUT),
      null,
    );
    assert.deepEqual(turnedAway, ["team"]);
  });

  it("refuses for the rate first, and checks it only while some team exceeds its own", () => {
    const { entrance, turnedAway } = entranceWith({ limited: true, swamped: true });
    assert.equal(
      entrance.refusal(actorOf(), 0, () => assert.fail("read")),
      RATE,
    );
    assert.ok(entrance.mayRefuse(0));
    assert.deepEqual(turnedAway, []);
    assert.ok(!entranceWith({ crowded: false }).entrance.mayRefuse(0));
  });
});
