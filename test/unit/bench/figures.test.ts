import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  InvalidRun,
  interleave,
  median,
  medianRatio,
  rotated,
  sampleOf,
  summarise,
} from "../../../bench/report/figures.ts";

describe("figures of a benchmark", () => {
  it("takes the middle, or the mean of the two in the middle, and nothing of nothing", () => {
    assert.equal(median([9, 1, 2]), 2);
    assert.equal(median([4, 1, 3, 2]), 2.5);
    assert.throws(() => median([]), RangeError);
  });

  it("knows no ratio where a cost is not above zero, however many others are", () => {
    const sound = [
      [2, 1],
      [1, 1],
      [3, 2],
    ] as const;
    assert.equal(medianRatio(sound), 1.5);
    for (const odd of [
      [-2, 1],
      [2, -1],
      [-2, -1],
      [0, 1],
      [1, 0],
      [Number.NaN, 1],
    ] as const)
      assert.equal(medianRatio([...sound, odd]), Number.NaN);
    assert.equal(medianRatio([]), Number.NaN);
  });

  it("turns counts and times into rates", () => {
    // 1 000 units in half a second, for which all threads together worked 750 ms.
    assert.deepEqual(sampleOf(1_000, 500, 750_000), { perS: 2_000, cpuUs: 750, busy: 1.5 });
  });

  it("summarises each figure by its own median, and shows how far runs lie apart", () => {
    const runs = [
      { perS: 100, cpuUs: 10, busy: 0.5 },
      { perS: 80, cpuUs: 30, busy: 0.9 },
      { perS: 120, cpuUs: 20, busy: 0.7 },
    ];
    assert.deepEqual(summarise(runs), { perS: 100, cpuUs: 20, busy: 0.7, spread: 0.4 });
  });

  it("begins each round with another subject", () => {
    const rounds = [0, 1, 2, 3].map((round) => rotated(["a", "b", "c"], round).join(""));
    assert.deepEqual(rounds, ["abc", "bca", "cab", "abc"]);
    assert.deepEqual(rotated([], 2), []);
  });

  it("runs all by turns after a warm-up that does not count", async () => {
    const order: string[] = [];
    const subject = (name: string) => ({
      async run(round: number) {
        order.push(`${name}${round}`);
        return sampleOf(round === 0 ? 1_000_000 : round, 1_000, 1);
      },
    });
    const [a, b] = await interleave([subject("a"), subject("b")], 3);
    assert.deepEqual(order, ["a0", "b0", "b1", "a1", "a2", "b2", "b3", "a3"]);
    assert.equal(a?.perS, 2);
    assert.equal(b?.spread, 1);
  });

  it("ends with the first run that is not valid", async () => {
    let runs = 0;
    const broken = {
      run: async () => {
        runs++;
        throw new InvalidRun("3 × unknown timeout");
      },
    };
    await assert.rejects(interleave([broken, broken], 3), InvalidRun);
    assert.equal(runs, 1);
  });
});
