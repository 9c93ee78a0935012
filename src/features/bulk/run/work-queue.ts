import { LIMITS } from "../../../config/limits/limits.ts";
import type { Logger } from "../../../platform/log.ts";
import { type Clock, sleep } from "../../../platform/time/clock.ts";
import type { RedisClient } from "../../../stores/redis.ts";
import { type JobStream, pointerKey, type StreamEntry } from "../schedule/job-stream.ts";
import type { TaskPointer } from "../schedule/job-tasks.ts";
import { type Control, createControl } from "./control.ts";
import type { BulkTaskRunner } from "./task-runner.ts";

/** A task in hand. */
export interface HeldTask {
  jobId: string;
  control: Control;
}

interface HeldEntry extends HeldTask {
  stream: JobStream;
  /** Entries that point to it: more than one when it was emitted again. */
  ids: string[];
  ended: Promise<void>;
}

export interface WorkQueueDeps {
  /** The first is waited for; what the others have is looked for now and then. */
  streams: readonly [JobStream, ...JobStream[]];
  /** Its own connection, blocked while there is nothing to do. */
  reader: RedisClient;
  /** Tasks at once. */
  slots: number;
  tasks: BulkTaskRunner;
  /** A task is done: the windows of emission have room. */
  onDone(): void;
  /** Another worker is to do the task. */
  onHandedBack(pointer: TaskPointer): void;
  /** Name among the workers, of this process alone. */
  consumer: string;
  clock: Clock;
  log: Logger;
}

/**
 * Takes tasks from streams, so many at a time, and takes over those of workers that give no sign of life any more. Each lane
 * has its own places: what fills one keeps nothing from the other.
 */
export interface WorkQueue {
  start(): Promise<void>;
  held(): readonly HeldTask[];
  /** Gives signs of life, its own and those of what is in hand. */
  renew(): Promise<void>;
  /** Takes no more. Resolves when nothing is in hand. */
  drain(): Promise<void>;
  stop(): void;
}

export function createWorkQueue(deps: WorkQueueDeps): WorkQueue {
  const { streams, reader, consumer, clock, log } = deps;
  const [first] = streams;
  const held = new Map<string, HeldEntry>();
  let stopping = false;
  let reading: Promise<void> = Promise.resolve();
  let onSlotFree = () => {};
  let lastPollMs = Number.NEGATIVE_INFINITY;
  /** What was given up here is for others to take over, if there are any. */
  let noPollBeforeMs = Number.NEGATIVE_INFINITY;
  /** In a row. */
  let failures = 0;

  async function finish(entry: HeldEntry, pointer: TaskPointer, done: boolean): Promise<void> {
    // No sign of life from here on: one that comes behind the hand-back would undo it until the lease ends.
    const { stream } = entry;
    const ids = entry.ids.splice(0);
    try {
      if (done) await stream.finish(ids);
      else await Promise.all(ids.map((id) => stream.handBack(consumer, id)));
      if (done) deps.onDone();
      else deps.onHandedBack(pointer);
    } catch (error) {
      // Others find what is not acknowledged when its lease is over.
      log.debug({ err: error }, "a task's entry stays in the stream");
    }
  }

  function take(stream: JobStream, { id, pointer }: StreamEntry): void {
    const key = pointerKey(pointer);
    const known = held.get(key);
    if (known !== undefined) {
      if (known.stream === stream && !known.ids.includes(id)) known.ids.push(id);
      return;
    }
    const control = createControl();
    const entry: HeldEntry = { jobId: pointer.jobId, stream, ids: [id], control, ended: Promise.resolve() };
    held.set(key, entry);
    entry.ended = deps.tasks
      .run(pointer, control)
      .then((done) => {
        if (!done && !control.cancelled()) noPollBeforeMs = clock.monotonic() + LIMITS.bulk.handBackRestMs;
        // A job that has ended cancels its tasks, and they go; who stops cancels them too, and hands them back.
        return finish(entry, pointer, done || (control.cancelled() && !stopping));
      })
      .finally(() => {
        held.delete(key);
        onSlotFree();
      });
  }

  /** True when there may be more of it. */
  async function pollStreams(room: number): Promise<boolean> {
    let left = room;
    const takeAll = (stream: JobStream, entries: readonly StreamEntry[]) => {
      for (const entry of entries) take(stream, entry);
      left -= entries.length;
    };
    for (const stream of streams) {
      if (left > 0) takeAll(stream, await stream.claim(consumer, LIMITS.bulk.leaseMs, left));
      if (left > 0 && stream !== first) takeAll(stream, await stream.read(reader, consumer, left, null));
    }
    return left < room;
  }

  function mayPoll(): boolean {
    const nowMs = clock.monotonic();
    return nowMs >= noPollBeforeMs && nowMs - lastPollMs >= LIMITS.bulk.claimEveryMs;
  }

  async function readNext(): Promise<void> {
    const reopened = deps.tasks.whenOpen();
    if (reopened !== null) return reopened;
    const room = deps.slots - held.size;
    if (room <= 0) {
      await new Promise<void>((resolve) => {
        onSlotFree = resolve;
      });
      return;
    }
    try {
      if (mayPoll()) {
        // While there are more, the next look is at once.
        if (await pollStreams(room)) return;
        lastPollMs = clock.monotonic();
      }
      for (const entry of await first.read(reader, consumer, room, LIMITS.bulk.readBlockMs))
        take(first, entry);
      failures = 0;
    } catch (error) {
      if (stopping) return;
      failures += 1;
      // One that comes alone is a moment in which Redis or this process had much to do.
      if (failures === 1) log.debug({ err: error }, "tasks were not read");
      if (failures === 2) log.warn({ err: error }, "no tasks can be read");
      await sleep(clock, LIMITS.bulk.retryMs);
    }
  }

  /** Says that it is there, and forgets those that were killed, who said no goodbye. */
  async function register(): Promise<void> {
    try {
      for (const stream of streams) {
        await stream.heartbeat(consumer);
        await stream.removeIdleConsumers(LIMITS.bulk.idleConsumerMs);
      }
    } catch (error) {
      log.debug({ err: error }, "a worker did not say that it is there");
    }
  }

  async function readLoop(): Promise<void> {
    while (!stopping) await readNext();
  }

  return {
    async start() {
      await reader.connect().catch(() => undefined);
      void register();
      reading = readLoop();
    },
    held: () => [...held.values()],
    async renew() {
      for (const stream of streams) {
        if (!stopping) await stream.heartbeat(consumer);
        const ids = [...held.values()]
          .filter((entry) => entry.stream === stream)
          .flatMap((entry) => entry.ids);
        if (ids.length > 0) await stream.renew(consumer, ids);
      }
    },
    async drain() {
      stopping = true;
      reader.disconnect();
      // Who waits for a place reads on, once, when a task ends.
      await reading;
      await Promise.all([...held.values()].map(({ ended }) => ended));
      const leaving = streams.map((stream) => stream.removeConsumer(consumer));
      await Promise.all(leaving).catch((error: unknown) =>
        log.debug({ err: error }, "a worker did not say goodbye"),
      );
    },
    stop: () => reader.disconnect(),
  };
}
