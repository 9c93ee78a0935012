import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { createHeapRoom, growthPercent } from "../../../../src/platform/v8/heap-room.ts";

const MIB = 1_048_576;
const MODULE = JSON.stringify(new URL("../../../../src/platform/v8/heap-room.ts", import.meta.url).href);

/** Runs the script in its own process, because V8 flags hold for a whole process. */
function run(flags: readonly string[], script: string) {
  const args = [...flags, "--import", "tsx", "--input-type=module", "-e", script];
  return spawnSync(process.execPath, args, { encoding: "utf8", timeout: 60_000 });
}

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

  it("is bounded where little lives in it", () => {
    assert.equal(growthPercent(4 * MIB, 64 * MIB), 200);
    assert.equal(growthPercent(0, 64 * MIB), 200);
  });
});

describe("the room of a heap", () => {
  it("is set at the start, anew when what lives in it is another by much, and given back at the end", () => {
    let heapMib = 40;
    const { room, set } = roomOf(() => heapMib);
    room.start();
    room.collected();
    heapMib = 41;
    room.collected();
    assert.deepEqual(set, [160]);
    heapMib = 64;
    room.collected();
    room.stop();
    assert.deepEqual(set, [160, 100, 0]);
  });

  it("is looked at when V8 has collected the heap", () => {
    const script = `
      import { createHeapRoom } from ${MODULE};
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
    const { stdout, stderr } = run(["--expose-gc"], script);
    assert.equal(stdout, "seen\n", stderr);
  });

  it("is what V8 goes by, though it is set while it runs", () => {
    const marksWith = (roomBytes: number): number => {
      const script = `
        import { createHeapRoom } from ${MODULE};
        const room = createHeapRoom({ roomBytes: ${roomBytes}, heapBytes: () => 1 });
        room.collected();
        const ring = new Array(300_000).fill(null);
        for (let i = 0; i < 3_000_000; i++) ring[(i * 7919) % ring.length] = { i, some: [i, i] };`;
      const { stdout, stderr } = run(["--trace-gc", "--single-threaded-gc"], script);
      const marks = stdout.match(/Mark-Compact/g) ?? [];
      assert.ok(marks.length > 0, stderr);
      return marks.length;
    };
    assert.ok(marksWith(2) < marksWith(1));
  });
});
