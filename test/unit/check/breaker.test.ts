import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createBreaker } from "../../../src/check/breaker.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const { blocksToOpen, openMs } = LIMITS.breaker;

function opened() {
  const clock = createFakeClock();
  const breaker = createBreaker(clock);
  for (let i = 0; i < blocksToOpen; i++) breaker.blocked("site");
  return { clock, breaker };
}

describe("circuit breaker", () => {
  it("opens after several blocks in a row, for that site alone", () => {
    const { breaker } = opened();
    assert.equal(breaker.allows("site"), false);
    assert.equal(breaker.allows("other"), true);
  });

  it("stays closed when other ends come between", () => {
    const breaker = createBreaker(createFakeClock());
    for (let i = 0; i < blocksToOpen * 3; i++) {
      breaker.blocked("site");
      breaker.passed("site");
    }
    assert.equal(breaker.allows("site"), true);
  });

  it("lets one probe through when half-open, and no second", () => {
    const { clock, breaker } = opened();
    clock.advance(openMs);
    assert.equal(breaker.allows("site"), true);
    assert.equal(breaker.allows("site"), false);
  });

  it("closes when that probe passes, opens again when it is blocked", () => {
    const { clock, breaker } = opened();
    clock.advance(openMs);
    breaker.allows("site");
    breaker.blocked("site");
    assert.equal(breaker.allows("site"), false);
    clock.advance(openMs);
    breaker.allows("site");
    breaker.passed("site");
    assert.equal(breaker.allows("site"), true);
  });
});
