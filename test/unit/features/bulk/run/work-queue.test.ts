import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import type { Control } from "../../../../../src/features/bulk/run/control.ts";
import { createWorkQueue } from "../../../../../src/features/bulk/run/work-queue.ts";
import type { JobStream, StreamEntry } from "../../../../../src/features/bulk/schedule/job-stream.ts";
import type { RedisClient } from "../../../../../src/stores/redis.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { silentLog } from "../../../../support/store.ts";
import { until } from "../../../../support/until.ts";

/** A lane before a stream of the test's own, and tasks that end when it says so. */
function fixture() {
  const clock = createFakeClock();
  const unread: StreamEntry[] = [];
  const abandoned: StreamEntry[] = [];
  const finished: string[] = [];
  const handedBack: string[] = [];
  /** Jobs whose tasks were offered to other workers. */
  const toldBack: string[] = [];
  const begun = new Map<string, { control: Control; end(done: boolean): void }>();
  let claims = 0;
  let reads = 0;
  let opening: { promise: Promise<void>; open(): void } | null = null;
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const stream = {
    async claim(_consumer: string, _idleMs: number, count: number) {
      claims += 1;
      return abandoned.splice(0, count);
    },
    async read(_reader: RedisClient, _consumer: string, count: number) {
      reads += 1;
      await turn();
      return unread.splice(0, count);
    },
    finish: async (ids: readonly string[]) => void finished.push(...ids),
    handBack: async (_consumer: string, id: string) => void handedBack.push(id),
    heartbeat: async () => undefined,
    removeConsumer: async () => undefined,
    removeIdleConsumers: async () => undefined,
  } as unknown as JobStream;
  const lane = createWorkQueue({
    streams: [stream],
    reader: { connect: async () => undefined, disconnect() {} } as unknown as RedisClient,
    slots: 2,
    tasks: {
      run: ({ jobId }, control) => new Promise((end) => begun.set(jobId, { control, end })),
      whenOpen: () => opening?.promise ?? null,
    },
    onDone: () => undefined,
    onHandedBack: ({ jobId }) => void toldBack.push(jobId),
    consumer: "consumer",
    clock,
    log: silentLog,
  });
  return {
    ...{ lane, clock, unread, abandoned, finished, handedBack, toldBack, begun },
    counts: () => ({ claims, reads }),
    close() {
      let open = () => {};
      const promise = new Promise<void>((resolve) => {
        open = resolve;
      });
      opening = {
        promise,
        open() {
          opening = null;
          open();
        },
      };
      return opening;
    },
    /** Some rounds of reading. */
    async rounds() {
      const before = reads;
      await until("the lane has read on", async () => {
        await turn();
        return reads > before + 3;
      });
    },
  };
}

const entry = (job: string): StreamEntry => ({ id: `${job}-0`, pointer: { jobId: job, number: 0 } });

describe("a lane", () => {
  it("hands back what its worker gave up, and takes nothing over for a while", async () => {
    const { lane, clock, unread, abandoned, finished, handedBack, toldBack, begun, counts, rounds } =
      fixture();
    unread.push(entry("a"), entry("b"));
    await lane.start();
    await until("both are begun", () => begun.size === 2);
    begun.get("a")?.end(false);
    await until("it is handed back", () => handedBack.length === 1);
    assert.deepEqual([handedBack, finished], [["a-0"], []]);
    await until("it is told", () => toldBack.length === 1);
    assert.deepEqual(toldBack, ["a"]);
    abandoned.push(entry("a"));
    const { claims } = counts();
    await clock.advanceAsync(LIMITS.bulk.handBackRestMs - 1);
    await rounds();
    assert.equal(counts().claims, claims);
    begun.delete("a");
    await clock.advanceAsync(1);
    await until("it is taken over again", () => begun.has("a"));
    begun.get("a")?.end(true);
    begun.get("b")?.end(true);
    await lane.drain();
    assert.deepEqual(finished.sort(), ["a-0", "b-0"]);
  });

  it("lets what was cancelled go, with its job", async () => {
    const { lane, unread, finished, handedBack, toldBack, begun } = fixture();
    unread.push(entry("a"));
    await lane.start();
    await until("it is begun", () => begun.size === 1);
    const held = begun.get("a");
    held?.control.cancel();
    held?.end(false);
    await until("its entry goes", () => finished.length === 1);
    assert.deepEqual([handedBack, toldBack], [[], []]);
    await lane.drain();
  });

  it("takes nothing while a task of its worker is alone, or waits to be", async () => {
    const { lane, unread, abandoned, begun, close, counts } = fixture();
    const { open } = close();
    unread.push(entry("a"));
    abandoned.push(entry("b"));
    await lane.start();
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([begun.size, counts()], [0, { claims: 0, reads: 0 }]);
    open();
    await until("both are begun", () => begun.size === 2);
    for (const { end } of begun.values()) end(true);
    await lane.drain();
  });
});
