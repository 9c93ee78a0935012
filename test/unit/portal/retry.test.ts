import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Problem } from "../../../portal/src/api/problem.ts";
import { isWorthRetrying, mayPassLater, retryDelayMs } from "../../../portal/src/api/retry.ts";

/** Attempts of a read that always fails so, and the milliseconds between them. */
function attemptsOf(error: Error): number[] {
  const waits: number[] = [];
  while (isWorthRetrying(waits.length, error)) waits.push(retryDelayMs(waits.length, error));
  return waits;
}

describe("a read that fails", () => {
  it("is repeated twice where that may help: no answer, or one of a service that fails or starts", () => {
    for (const status of [0, 500, 502, 503, 504])
      assert.deepEqual(attemptsOf(new Problem(status, null, null)), [1_000, 2_000], `${status}`);
  });

  it("is not repeated when it was refused", () => {
    for (const status of [400, 401, 403, 404, 422, 429])
      assert.deepEqual(attemptsOf(new Problem(status, null, null)), [], `${status}`);
    assert.deepEqual(attemptsOf(new TypeError("x is not a function")), []);
  });

  it("waits as long as the service asks, unless that is long", (t) => {
    t.mock.timers.enable({ apis: ["Date"] });
    for (const status of [429, 503])
      assert.deepEqual(attemptsOf(new Problem(status, null, 30)), new Array(5).fill(30_000), `${status}`);
    assert.deepEqual(attemptsOf(new Problem(429, null, 3_600)), []);
  });
});

describe("the button that tries again", () => {
  it("is there where the same may succeed later", () => {
    const has = (status: number) => mayPassLater(new Problem(status, null, null));
    assert.deepEqual([0, 429, 500, 502].map(has), [true, true, true, true]);
    assert.deepEqual([400, 401, 403, 404, 409].map(has), [false, false, false, false, false]);
    assert.equal(mayPassLater(new TypeError("no JSON")), true);
  });
});
