import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { createHeapRoom, growthPercent } from "../../../src/core/heap-room.ts";

const MIB = 1_048_576;

function roomOf(heapMib: () => number) {
  const set: number[] = [];
  const room = createHeapRoom({
    roomBytes: 64 * MIB,
    heapBytes: () => heapMib() * MIB,
    setPercent: (percent) => void set.push(percent),
  });
  return { room, set };
}

describe("how far a heap may grow", () => {
  it("is its room, or as much as lives in it where that is more", () => {
    assert.equal(growthPercent(32 * MIB, 64 * MIB), 200);
    assert.equal(growthPercent(64 * MIB, 64 * MIB), 100);
    assert.equal(growthPercent(500 * MIB, 64 * MIB), 100);
  });

  it("is never more than V8 itself would allow", () => {
    assert.equal(growthPercent(4 * MIB, 64 * MIB), 300);
    assert.equal(growthPercent(0, 64 * MIB), 300);
  });
});

describe("the room of a heap", () => {
  it("is set at the start, anew when what lives in it is another by much, and given back at the end", () => {
    let heapMib = 32;
    const { room, set } = roomOf(() => heapMib);
    room.start();
    room.collected();
    heapMib = 33;
    room.collected();
    assert.deepEqual(set, [200]);
    heapMib = 64;
    room.collected();
    room.stop();
    assert.deepEqual(set, [200, 100, 0]);
  });

  it("is looked at when V8 has collected the heap", () => {
    const script = `
      import { createHeapRoom } from ${JSON.stringify(new URL("../../../src/core/heap-room.ts", import.meta.url).href)};
      let looks = 0;
      const room = createHeapRoom({ roomBytes: 1e6, heapBytes: () => ++looks, setPercent: () => {} });
      room.start();
      const first = looks;
      gc();
      setTimeout(function look() {
        if (looks === first) return setTimeout(look, 1);
        console.log("seen");
        room.stop();
      }, 1);`;
    const args = ["--expose-gc", "--import", "tsx", "--input-type=module", "-e", script];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 60_000 });
    assert.equal(stdout, "seen\n", stderr);
  });

  it("is set by a flag that this Node.js knows", () => {
    const { status, stderr } = spawnSync(process.execPath, ["--heap-growing-percent=100", "-e", ""]);
    assert.equal(status, 0, String(stderr));
  });
});
