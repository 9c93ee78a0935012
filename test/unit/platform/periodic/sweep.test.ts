import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createSweep, runEach, type SweepItem } from "../../../../src/platform/periodic/sweep.ts";
import { testLog } from "../../../support/log.ts";

const item = (id: string): SweepItem => ({ id, teamId: "team_1" });

describe("the rounds of a task", () => {
  it("come to every item, however many that are due before it fail each time", async () => {
    const poison = Array.from({ length: LIMITS.relay.teamFailures * 3 }, (_, i) => item(`poison${i}`));
    const due = new Set([...poison, item("good")]);
    const rounds = createSweep<SweepItem>(testLog, "it failed");
    const done: string[] = [];
    const round = () =>
      rounds.run(
        async (limit) => [...due].slice(0, limit),
        5,
        () => false,
        async (next) => {
          if (next.id !== "good") throw new Error("cannot be done");
          done.push(next.id);
          due.delete(next);
        },
      );
    // Each round leaves some behind.
    for (let i = 0; i < 10 && done.length === 0; i++) await round().catch(() => undefined);
    assert.deepEqual(done, ["good"]);
  });

  it("end when so many have failed, and when they are to", async () => {
    const items = Array.from({ length: 50 }, (_, i) => item(String(i)));
    let tried = 0;
    const rounds = createSweep<SweepItem>(testLog, "it failed");
    const run = (isStopping: () => boolean) =>
      rounds.run(
        async () => items,
        50,
        isStopping,
        async () => {
          tried += 1;
          throw new Error("cannot be done");
        },
      );
    await assert.rejects(
      run(() => false),
      /cannot be done/,
    );
    assert.equal(tried, LIMITS.relay.teamFailures);
    await run(() => true);
    assert.equal(tried, LIMITS.relay.teamFailures);
  });

  it("do each part, and tell of the first failure then", async () => {
    const done: number[] = [];
    const part = (n: number, fails: boolean) => async () => {
      done.push(n);
      if (fails) throw new Error(`part ${n}`);
    };
    await assert.rejects(runEach([part(1, false), part(2, true), part(3, true), part(4, false)]), /part 2/);
    assert.deepEqual(done, [1, 2, 3, 4]);
  });
});
