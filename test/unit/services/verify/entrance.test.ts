import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../../src/core/errors.ts";
import type { Actor } from "../../../../src/services/actor.ts";
import { createEntrance, type EntranceDeps } from "../../../../src/services/verify/entrance.ts";
import type { Waiter } from "../../../../src/services/verify/flights.ts";
import type { Question } from "../../../../src/services/verify/question.ts";

const CROWDED = new AppError("overloaded", "More checks were asked for than can be made.");
const RATE = new AppError("rate_limited", "The rate is exceeded.");
const LIMITS = { probing: true, refresh: false };
const actorOf = (more: Partial<Actor> = {}) =>
  ({ teamId: "team", livemode: true, limits: LIMITS, overlay: {}, ...more }) as Actor;
const INPUT = { email: "a@one.test", refresh: false, withEvidence: false, probe: true };

function entranceWith({ crowded = true, swamped = false, known = false, limited = false } = {}) {
  const turnedAway: string[] = [];
  const deps: EntranceDeps = {
    examiner: { understand: () => ({}) as Question, isKnown: () => known, find: () => assert.fail("sought") },
    admission: {
      enter: () => assert.fail("entered"),
      isCrowded: () => crowded,
      isSwamped: () => swamped,
      refuses: () => crowded,
      turnAway(teamId) {
        turnedAway.push(teamId);
        return CROWDED;
      },
    },
    rateLimiter: { isRefusing: () => limited, refusal: () => (limited ? RATE : null), isLeased: () => true },
    quota: { prepare: () => assert.fail("entered") },
    clock: { monotonic: () => 0 },
  };
  return { deps, entrance: createEntrance(deps), turnedAway };
}

describe("the entrance of a verification", () => {
  it("refuses what is not known where there is no room, and leaves the rest to who knows more", () => {
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

  it("begins a check whose token or unit is fetched, and no other, nor a guest's", async () => {
    const finding = { entry: null, cached: false } as const;
    for (const [waits, isGuest, expected] of [
      [true, false, finding],
      [false, false, undefined],
      [true, true, undefined],
    ] as const) {
      const { deps } = entranceWith();
      const { enter } = createEntrance({
        ...deps,
        examiner: {
          ...deps.examiner,
          isKnown: () => false,
          find: (_question, _refresh, _waiter, arrival) => Promise.resolve(arrival.landed(finding)),
        },
        admission: { ...deps.admission, enter: () => ({ isGuest, admit() {}, found() {}, leave() {} }) },
        quota: { prepare: () => waits },
      });
      const waiter: Waiter = { startedMs: 0, cancelled: () => false, onCancel() {} };
      enter(INPUT, actorOf(), waiter);
      assert.deepEqual(await waiter.question?.found, expected);
    }
  });

  it("refuses unread where the house is swamped, but for a test key, who costs it nothing", () => {
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

  it("tells of the rate first, and looks for it only while some team exceeds its own", () => {
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
