import { LIMITS } from "../../../config/limits/limits.ts";
import type { Logger } from "../../../platform/log.ts";
import { type Clock, pause } from "../../../platform/time/clock.ts";
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
  /** The worker blocks on the first stream, and polls the others now and then. */
  streams: readonly [JobStream, ...JobStream[]];
  /** Connection of its own, blocked while there are no entries. */
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
 * Takes tasks from streams, up to a number at a time, and takes over tasks of silent workers. Each lane has its own slots,
 * so that a full lane does not block the other.
 */
export interface WorkQueue {
  start(): Promise<void>;
  held(): readonly HeldTask[];
  /** Renews the leases of its tasks, and its own sign of life. */
  renew(): Promise<void>;
  /** Takes no more. Resolves when nothing is in hand. */
  drain(): Promise<void>;
  stop(): void;
}

class StreamWorkQueue implements WorkQueue {
  readonly #deps: WorkQueueDeps;
  readonly #held = new Map<string, HeldEntry>();
  #stopping = false;
  #reading: Promise<void> = Promise.resolve();
  #onSlotFree = () => {};
  #lastPollMs = Number.NEGATIVE_INFINITY;
  /** After a hand-back other workers, if there are any, may take the tasks first. */
  #noPollBeforeMs = Number.NEGATIVE_INFINITY;
  /** Consecutive failures to read. */
  #failures = 0;

  constructor(deps: WorkQueueDeps) {
    this.#deps = deps;
  }

  async start(): Promise<void> {
    await this.#deps.reader.connect().catch(() => undefined);
    void this.#register();
    this.#reading = this.#readLoop();
  }

  /** Registers this consumer in its streams, and removes the consumers of killed workers. */
  async #register(): Promise<void> {
    const { streams, consumer, log } = this.#deps;
    try {
      for (const stream of streams) {
        await stream.heartbeat(consumer);
        await stream.removeIdleConsumers(LIMITS.bulk.idleConsumerMs);
      }
    } catch (error) {
      log.debug({ err: error }, "a worker did not say that it is there");
    }
  }

  async #readLoop(): Promise<void> {
    while (!this.#stopping) await this.#readNext();
  }

  async #readNext(): Promise<void> {
    const { tasks, slots, clock, log } = this.#deps;
    const reopened = tasks.whenOpen();
    if (reopened !== null) return reopened;
    const room = slots - this.#held.size;
    if (room <= 0) {
      await new Promise<void>((resolve) => {
        this.#onSlotFree = resolve;
      });
      return;
    }
    try {
      await this.#takeNew(room);
    } catch (error) {
      if (this.#stopping) return;
      this.#failures += 1;
      // A single failure only means that Redis or this process was busy for a moment.
      if (this.#failures === 1) log.debug({ err: error }, "tasks were not read");
      if (this.#failures === 2) log.warn({ err: error }, "no tasks can be read");
      await pause(clock, LIMITS.bulk.retryMs);
    }
  }

  async #takeNew(room: number): Promise<void> {
    const { streams, reader, consumer, clock } = this.#deps;
    const [first] = streams;
    if (this.#mayPoll()) {
      // While there are more, the next look is at once.
      if (await this.#pollStreams(room)) return;
      this.#lastPollMs = clock.monotonic();
    }
    for (const entry of await first.read(reader, consumer, room, LIMITS.bulk.readBlockMs))
      this.#take(first, entry);
    this.#failures = 0;
  }

  #mayPoll(): boolean {
    const nowMs = this.#deps.clock.monotonic();
    return nowMs >= this.#noPollBeforeMs && nowMs - this.#lastPollMs >= LIMITS.bulk.claimEveryMs;
  }

  /** True when there may be more of it. */
  async #pollStreams(room: number): Promise<boolean> {
    const { streams, reader, consumer } = this.#deps;
    const [first] = streams;
    let left = room;
    const takeAll = (stream: JobStream, entries: readonly StreamEntry[]) => {
      for (const entry of entries) this.#take(stream, entry);
      left -= entries.length;
    };
    for (const stream of streams) {
      if (left > 0) takeAll(stream, await stream.claim(consumer, LIMITS.bulk.leaseMs, left));
      if (left > 0 && stream !== first) takeAll(stream, await stream.read(reader, consumer, left, null));
    }
    return left < room;
  }

  #take(stream: JobStream, { id, pointer }: StreamEntry): void {
    const { tasks, clock } = this.#deps;
    const key = pointerKey(pointer);
    const known = this.#held.get(key);
    if (known !== undefined) {
      if (known.stream === stream && !known.ids.includes(id)) known.ids.push(id);
      return;
    }
    const control = createControl();
    const entry: HeldEntry = { jobId: pointer.jobId, stream, ids: [id], control, ended: Promise.resolve() };
    this.#held.set(key, entry);
    entry.ended = tasks
      .run(pointer, control)
      .then((done) => {
        if (!done && !control.cancelled())
          this.#noPollBeforeMs = clock.monotonic() + LIMITS.bulk.handBackRestMs;
        // A job that has ended cancels its tasks, and their entries go. A worker that stops cancels its tasks too, and
        // hands them back.
        return this.#finish(entry, pointer, done || (control.cancelled() && !this.#stopping));
      })
      .finally(() => {
        this.#held.delete(key);
        this.#onSlotFree();
      });
  }

  async #finish(entry: HeldEntry, pointer: TaskPointer, done: boolean): Promise<void> {
    const { consumer, log } = this.#deps;
    // No sign of life from here on: one that comes behind the hand-back would undo it until the lease ends.
    const { stream } = entry;
    const ids = entry.ids.splice(0);
    try {
      if (done) await stream.finish(ids);
      else await Promise.all(ids.map((id) => stream.handBack(consumer, id)));
      if (done) this.#deps.onDone();
      else this.#deps.onHandedBack(pointer);
    } catch (error) {
      // Other workers find an unacknowledged entry when its lease is over.
      log.debug({ err: error }, "a task's entry stays in the stream");
    }
  }

  held(): readonly HeldTask[] {
    return [...this.#held.values()];
  }

  async renew(): Promise<void> {
    const { streams, consumer } = this.#deps;
    for (const stream of streams) {
      if (!this.#stopping) await stream.heartbeat(consumer);
      const ids = [...this.#held.values()]
        .filter((entry) => entry.stream === stream)
        .flatMap((entry) => entry.ids);
      if (ids.length > 0) await stream.renew(consumer, ids);
    }
  }

  async drain(): Promise<void> {
    const { streams, reader, consumer, log } = this.#deps;
    this.#stopping = true;
    reader.disconnect();
    // A read loop that waits for a slot reads on, once, when a task ends.
    await this.#reading;
    await Promise.all([...this.#held.values()].map(({ ended }) => ended));
    const leaving = streams.map((stream) => stream.removeConsumer(consumer));
    await Promise.all(leaving).catch((error: unknown) =>
      log.debug({ err: error }, "a worker did not say goodbye"),
    );
  }

  stop(): void {
    this.#deps.reader.disconnect();
  }
}

export function createWorkQueue(deps: WorkQueueDeps): WorkQueue {
  return new StreamWorkQueue(deps);
}
