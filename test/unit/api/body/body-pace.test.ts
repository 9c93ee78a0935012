import assert from "node:assert/strict";
import { it } from "node:test";
import { createBodyPace, type PacedBody } from "../../../../src/api/body/body-pace.ts";
import { createFakeClock, type FakeClock } from "../../../support/fake-clock.ts";

const LIMITS = { bytesPerS: 32_768, graceMs: 5_000, lookMs: 1_000 };

/** Sends so many bytes a second. @returns after how many seconds it was found too slow, or null within `seconds` */
function sendAt(
  clock: FakeClock,
  body: PacedBody,
  isSlow: () => boolean,
  bytesPerS: number,
  seconds: number,
) {
  for (let second = 1; second <= seconds; second++) {
    for (let part = 0; part < 10; part++) {
      clock.advance(100);
      if (isSlow()) return second;
      body.received(bytesPerS / 10);
    }
  }
  return null;
}

function setUp() {
  const clock = createFakeClock();
  const pace = createBodyPace(clock, LIMITS);
  let slow = 0;
  const body = pace.watch(() => slow++);
  return { clock, pace, body, isSlow: () => slow > 0, slow: () => slow };
}

it("a body without bytes ends when its grace is over, and is reported once", () => {
  const { clock, slow } = setUp();
  clock.advance(5_000);
  assert.equal(slow(), 0);
  clock.advance(1_000);
  assert.equal(slow(), 1);
  clock.advance(60_000);
  assert.equal(slow(), 1);
  assert.equal(clock.pending, 0, "nothing is looked at while there is no body");
});

it("a body at 18 KB/s ends within 13 s, one at the least rate goes on for ever", () => {
  const slow = setUp();
  const seconds = sendAt(slow.clock, slow.body, slow.isSlow, 18_000, 600);
  assert.ok(seconds !== null && seconds >= 10 && seconds <= 13, String(seconds));
  const enough = setUp();
  assert.equal(sendAt(enough.clock, enough.body, enough.isSlow, LIMITS.bytesPerS, 600), null);
});

it("what came fast at the beginning is no excuse for later", () => {
  const { clock, body, slow } = setUp();
  body.received(1_000_000_000);
  clock.advance(7_000);
  assert.equal(slow(), 1);
});

it("time in which we paused the connection, or were busy ourselves, does not count", () => {
  const { clock, body, slow } = setUp();
  body.paused();
  clock.advance(600_000);
  body.resumed();
  assert.equal(slow(), 0);
  clock.advance(4_000);
  assert.equal(slow(), 0);

  let nowMs = 0;
  let look: () => void = () => {};
  const busy = createBodyPace(
    {
      now: () => nowMs,
      monotonic: () => nowMs,
      after: (_delayMs, callback) => {
        look = callback;
        return { cancel() {} };
      },
    },
    LIMITS,
  );
  let tooSlow = 0;
  const late = busy.watch(() => tooSlow++);
  nowMs = 60_000;
  look();
  assert.equal(tooSlow, 0, "a look that came a minute late counts for two");
  late.received(100_000);
  nowMs = 61_000;
  look();
  assert.equal(tooSlow, 0);
});

it("looks at all bodies with one timer", () => {
  const { clock, pace } = setUp();
  const bodies = Array.from({ length: 100 }, () => pace.watch(() => {}));
  assert.equal(clock.pending, 1);
  for (const body of bodies) body.ended();
  clock.advance(6_000);
  assert.equal(clock.pending, 0);
});
