import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { lazy } from "../../../src/platform/lazy.ts";

describe("a lazy value", () => {
  it("is made once, at the first call, and again only where that threw", () => {
    let calls = 0;
    const value = lazy(() => {
      calls += 1;
      if (calls === 1) throw new Error("not yet");
      return { calls };
    });
    assert.equal(calls, 0);
    assert.throws(value, /not yet/);
    assert.equal(value(), value());
    assert.equal(calls, 2);
  });
});
