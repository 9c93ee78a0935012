import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { gcFlags, parseCpuLimit } from "../../../../src/platform/v8/gc-flags.ts";

describe("the flags of the collector", () => {
  it("do without helper threads where there is less than a second CPU for them", () => {
    assert.notDeepEqual(gcFlags(1), []);
    assert.deepEqual(gcFlags(1.5), gcFlags(1));
    assert.deepEqual(gcFlags(2), []);
  });

  it("are flags that this Node.js knows", () => {
    const { status, stderr } = spawnSync(process.execPath, [...gcFlags(1), "-e", ""]);
    assert.equal(status, 0, String(stderr));
  });
});

describe("the CPU limit of a container", () => {
  it("is its quota in parts of its period", () => {
    assert.equal(parseCpuLimit("150000 100000\n"), 1.5);
    assert.equal(parseCpuLimit("max 100000\n"), Number.POSITIVE_INFINITY);
    assert.equal(parseCpuLimit(""), Number.POSITIVE_INFINITY);
  });
});
