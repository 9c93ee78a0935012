import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type BulkPeriodicTaskDeps,
  bulkPeriodicTasks,
} from "../../../../../src/features/bulk/schedule/bulk-tasks.ts";
import { pipelineCountTasks } from "../../../../../src/features/bulk/schedule/pipeline-count-tasks.ts";
import { createRelay } from "../../../../../src/platform/periodic/periodic-tasks.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { testLog } from "../../../../support/log.ts";

const never = () => new Promise<never>(() => undefined);
const NAMES = ["emitTasks", "emitRetries", "reconcile", "sweep", "some count", "another"] as const;

/** Names of the tasks that the relay did within a minute, while the task `stuck` never ended. */
async function doneWhile(stuck: (typeof NAMES)[number]): Promise<Set<string>> {
  const clock = createFakeClock();
  const done = new Set<string>();
  const work = (name: string) => async (): Promise<never> => {
    if (name === stuck) return never();
    done.add(name);
    return undefined as never;
  };
  const idle = { removeIdleConsumers: async () => undefined };
  const deps: BulkPeriodicTaskDeps = {
    emitter: {
      emitTasks: work("emitTasks"),
      emitRetries: work("emitRetries"),
      retryRestMs: () => 0,
      emit: never,
      reconcile: work("reconcile"),
    },
    removal: { sweep: work("sweep") },
    streams: { tasks: idle, whole: idle, retries: () => idle } as BulkPeriodicTaskDeps["streams"],
  };
  const forget = () => undefined;
  const counts = (["some count", "another"] as const).map((name) => ({ name, count: work(name), forget }));
  const tasks = [...bulkPeriodicTasks(deps), ...pipelineCountTasks(counts, clock, () => undefined)];
  const relay = createRelay({ tasks, clock, log: testLog });
  await relay.start?.();
  for (let second = 0; second < 60; second++) await clock.advanceAsync(1_000);
  return done;
}

describe("the bulk tasks of the relay", () => {
  for (const stuck of NAMES)
    it(`are done while one of them, ${stuck}, is not`, async () => {
      assert.deepEqual(await doneWhile(stuck), new Set(NAMES.filter((name) => name !== stuck)));
    });
});
