import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createHeldAnswers } from "../../../../src/api/reply/held-answers.ts";
import { HttpReply } from "../../../../src/api/reply/reply.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { actorFor } from "../../../support/store.ts";

const { answers } = LIMITS.http;
/** What a list of a hundred jobs has, with 8 KB of metadata each. */
const PAGE = new HttpReply(200, "x".repeat(1_300_000));
const ofTeam = (teamId: string, method = "GET") => ({ actor: actorFor(teamId), method });

describe("large answers", () => {
  it("of a share are bounded, and eight full ones leave room for the largest page of each of many others", () => {
    const held = createHeldAnswers(createFakeClock(), answers);
    /** Until there is no more room. @returns pages */
    const fill = (team: string) => {
      for (let count = 0; ; count++)
        try {
          held.hold(PAGE, ofTeam(team));
        } catch (error) {
          assert.equal((error as { code?: string }).code, "overloaded");
          return count;
        }
    };
    for (let i = 1; i <= 8; i++) assert.equal(fill(`team_${i}`), 3);
    for (let i = 9; i <= 30; i++) assert.equal(fill(`team_${i}`), 1);
  });

  it("to what may have changed something are never refused, and count for the next reads", () => {
    const held = createHeldAnswers(createFakeClock(), answers);
    const done = Array.from({ length: 4 }, () => held.hold(PAGE, ofTeam("team_1", "POST")));
    assert.throws(() => held.hold(PAGE, ofTeam("team_1")), { code: "overloaded" });
    for (const answer of done) answer?.ended();
    assert.ok(held.hold(PAGE, ofTeam("team_1")));
  });

  it("give their memory back when they have ended", () => {
    const held = createHeldAnswers(createFakeClock(), {
      ...answers,
      bytes: 1_500_000,
      share: 1,
      keptShare: 0,
    });
    const first = held.hold(PAGE, ofTeam("team_1"));
    assert.throws(() => held.hold(PAGE, ofTeam("team_2")), { code: "overloaded", retryAfterS: 1 });
    first?.ended();
    assert.ok(held.hold(PAGE, ofTeam("team_2")));
  });

  it("are texts: what is short, or is bytes that all clients share, needs no memory", () => {
    const held = createHeldAnswers(createFakeClock(), { ...answers, bytes: 0 });
    assert.equal(held.hold(new HttpReply(200, "{}"), ofTeam("team_1")), null);
    assert.equal(
      held.hold(new HttpReply(200, Buffer.alloc(1_000_000)), { actor: null, method: "GET" }),
      null,
    );
    assert.equal(held.hold(new HttpReply(204, null), ofTeam("team_1")), null);
  });

  /** @returns the seconds after which a client that takes so much a second is too slow; null: it never is, in ten minutes */
  function secondsUntilTooSlow(bytesPerS: number): number | null {
    const clock = createFakeClock();
    const answer = createHeldAnswers(clock, answers).hold(PAGE, ofTeam("team_1"));
    let slow = 0;
    answer?.started(() => slow++);
    for (let second = 1; second <= 600; second++) {
      clock.advance(1_000);
      if (slow > 0) return second;
      answer?.sentUpTo(second * bytesPerS);
    }
    answer?.ended();
    clock.advance(1_000);
    assert.equal(clock.pending, 0);
    return null;
  }

  it("are given up when the client takes a little now and then", () => {
    const seconds = secondsUntilTooSlow(128);
    assert.ok(seconds !== null && seconds <= 12, String(seconds));
    assert.equal(secondsUntilTooSlow(answers.pace.bytesPerS), null);
  });
});
