import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pipelineCountTasks } from "../../../../../src/features/bulk/schedule/pipeline-count-tasks.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";

/** Two counts, which fail on request. */
function counting() {
  const clock = createFakeClock();
  const failing = new Set<string>();
  const forgotten: string[] = [];
  const moments: number[] = [];
  const counts = ["tasks", "streams"].map((name) => ({
    name,
    async count() {
      if (failing.has(name)) throw new Error(`${name} cannot be counted`);
    },
    forget: () => void forgotten.push(name),
  }));
  const [tasks, streams] = pipelineCountTasks(counts, clock, (sinceMs) => void moments.push(sinceMs));
  assert.ok(tasks !== undefined && streams !== undefined);
  const run = ({ run }: typeof tasks) => run(() => false);
  return {
    clock,
    failing,
    forgotten,
    moments,
    countTasks: () => run(tasks),
    countStreams: () => run(streams),
  };
}

describe("the counts of the pipeline", () => {
  it("are all as old as the oldest of them, and nothing before each has been made", async () => {
    const { clock, moments, countTasks, countStreams } = counting();
    const beganMs = clock.now();
    await countTasks();
    assert.deepEqual(moments, []);
    clock.advance(2_000);
    await countStreams();
    clock.advance(2_000);
    await countStreams();
    await countTasks();
    assert.deepEqual(
      moments.map((moment) => moment - beganMs),
      [0, 0, 4_000],
    );
  });

  it("that fail are forgotten, and stay as old as they were", async () => {
    const { clock, failing, forgotten, moments, countTasks, countStreams } = counting();
    const beganMs = clock.now();
    await countTasks();
    await countStreams();
    failing.add("streams");
    clock.advance(2_000);
    await assert.rejects(countStreams, /streams cannot be counted/);
    await countTasks();
    assert.deepEqual(forgotten, ["streams"]);
    assert.deepEqual(
      moments.map((moment) => moment - beganMs),
      [0, 0],
    );
  });
});
