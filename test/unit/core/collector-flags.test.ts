import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { collectorFlags, readCpuLimit } from "../../../src/core/collector-flags.ts";

describe("the flags of the collector", () => {
  it("do without helper threads where there is less than a second CPU for them", () => {
    assert.notDeepEqual(collectorFlags(1), []);
    assert.deepEqual(collectorFlags(1.5), collectorFlags(1));
    assert.deepEqual(collectorFlags(2), []);
  });

  it("are flags that this Node.js knows", () => {
    const { status, stderr } = spawnSync(process.execPath, [...collectorFlags(1), "-e", ""]);
    assert.equal(status, 0, String(stderr));
  });
});

describe("the CPU limit of a container", () => {
  it("is its quota in parts of its period", () => {
    assert.equal(readCpuLimit("150000 100000\n"), 1.5);
    assert.equal(readCpuLimit("max 100000\n"), Number.POSITIVE_INFINITY);
    assert.equal(readCpuLimit(""), Number.POSITIVE_INFINITY);
  });
});
