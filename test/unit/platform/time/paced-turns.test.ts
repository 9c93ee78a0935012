import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPacedTurns } from "../../../../src/platform/time/paced-turns.ts";
import { createFakeClock, type FakeClock } from "../../../support/fake-clock.ts";

/** Steps that take time of the event loop, and when each begins. */
function open(part: number) {
  const clock = createFakeClock();
  const turns = createPacedTurns(clock, part);
  const begun: [name: string, atMs: number][] = [];
  const step = (name: string, ms: number, spentMs?: number) =>
    turns.run(
      name.slice(0, 1),
      () => {
        begun.push([name, clock.monotonic()]);
        clock.advance(ms);
      },
      spentMs,
    );
  return { clock, turns, begun, step };
}

/** Moves time until all have ended. */
async function ended(clock: FakeClock, all: readonly Promise<unknown>[]): Promise<void> {
  let isOver = false;
  const over = Promise.all(all).finally(() => {
    isOver = true;
  });
  while (!isOver) await clock.advanceAsync(1);
  await over;
}

describe("paced turns", () => {
  it("take a part of the event loop's time, pauses being at least some milliseconds", async () => {
    const { clock, begun, step } = open(1 / 4);
    await ended(clock, [step("a1", 1), step("a2", 0.5), step("a3", 0.5), step("a4", 1, 2), step("a5", 0)]);
    assert.deepEqual(
      begun.map(([, atMs]) => atMs),
      [0, 4, 4.5, 8, 18],
    );
  });

  it("are of the shares by turns, however many one has asked for", async () => {
    const { clock, begun, step } = open(1 / 2);
    await ended(
      clock,
      ["a1", "a2", "a3", "a4", "b1", "b2", "c1"].map((name) => step(name, 1)),
    );
    const names = begun.map(([name]) => name);
    assert.deepEqual(names, ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
  });

  it("do not pause for the time that the process stood still", async () => {
    const { clock, begun, step } = open(1 / 4);
    await ended(clock, [step("a1", 1_000), step("a2", 0)]);
    assert.deepEqual(begun.at(-1), ["a2", 1_030]);
  });

  it("throw what a step throws, and go on", async () => {
    const { clock, turns, step } = open(1 / 4);
    const failed = assert.rejects(
      turns.run("a", () => {
        throw new Error("no");
      }),
      /no/,
    );
    await ended(clock, [failed, step("b1", 0)]);
  });
});
