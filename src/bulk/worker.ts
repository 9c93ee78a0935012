import { type Clock, sleep, type Timer } from "../core/clock.ts";
import type { Part } from "../core/lifecycle.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import { type JobStream, pointerKey, type StreamEntry } from "../store/job-stream.ts";
import { activeJobsOf } from "../store/jobs.ts";
import type { Database } from "../store/postgres.ts";
import type { RedisClient } from "../store/redis.ts";
import { type Control, createControl } from "./control.ts";
import type { TaskRunner } from "./task.ts";

/** A task in hand. */
interface Held {
  jobId: string;
  /** Entries that point to it: more than one when it was emitted again. */
  ids: string[];
  control: Control;
  ended: Promise<void>;
}

export interface WorkerDeps {
  sql: Database;
  stream: JobStream;
  /** Its own connection, blocked while there is nothing to do. */
  reader: RedisClient;
  tasks: TaskRunner;
  /** A task is done: the windows of jobs have room. */
  emit(): Promise<unknown>;
  /** Name among the workers, of this process alone. */
  consumer: string;
  clock: Clock;
  log: Logger;
  graceMs: number;
}

/**
 * A worker: takes tasks from the stream, LIMITS.bulk.tasksAtOnce at a time, gives signs of life of those in hand, and
 * takes over those of workers that give none any more.
 */
export function createWorker(deps: WorkerDeps): Part {
  const { stream, consumer, clock, log } = deps;
  const held = new Map<string, Held>();
  let stopping = false;
  let beat: Timer | undefined;
  let reading: Promise<void> = Promise.resolve();
  let claimedAtMs = Number.NEGATIVE_INFINITY;
  let failing = false;

  async function finish(entry: Held, done: boolean): Promise<void> {
    try {
      if (done) await stream.finish(entry.ids);
      else await Promise.all(entry.ids.map((id) => stream.handBack(consumer, id)));
      if (done) await deps.emit();
    } catch (error) {
      // Others find what is not acknowledged when its lease is over, and the relay emits what is not emitted here.
      log.debug({ err: error }, "a task's entry stays in the stream");
    }
  }

  async function work({ id, pointer }: StreamEntry): Promise<void> {
    const key = pointerKey(pointer);
    const control = createControl();
    const entry: Held = { jobId: pointer.jobId, ids: [id], control, ended: Promise.resolve() };
    held.set(key, entry);
    entry.ended = deps.tasks
      .run(pointer, control)
      // A job that has ended cancels its tasks; only who stops hands back.
      .then((done) => finish(entry, done || !stopping))
      .finally(() => held.delete(key));
    await entry.ended;
  }

  function take(entry: StreamEntry): void {
    const known = held.get(pointerKey(entry.pointer));
    if (known === undefined) void work(entry);
    else if (!known.ids.includes(entry.id)) known.ids.push(entry.id);
  }

  async function next(room: number): Promise<StreamEntry[]> {
    if (clock.monotonic() - claimedAtMs >= LIMITS.bulk.claimEveryMs) {
      const claimed = await stream.claim(consumer, LIMITS.bulk.leaseMs, room);
      // While there are more, the next look is at once.
      if (claimed.length > 0) return claimed;
      claimedAtMs = clock.monotonic();
    }
    return stream.read(deps.reader, consumer, room, LIMITS.bulk.readBlockMs);
  }

  async function readOnce(): Promise<void> {
    const room = LIMITS.bulk.tasksAtOnce - held.size;
    if (room <= 0) {
      await Promise.race([...held.values()].map(({ ended }) => ended));
      return;
    }
    try {
      for (const entry of await next(room)) take(entry);
      failing = false;
    } catch (error) {
      if (stopping) return;
      if (!failing) log.warn({ err: error }, "no tasks can be read");
      failing = true;
      await sleep(clock, LIMITS.bulk.retryMs);
    }
  }

  async function readOn(): Promise<void> {
    while (!stopping) await readOnce();
  }

  /** Signs of life, and a look whether what is in hand is still wanted. */
  async function beatOnce(): Promise<void> {
    const entries = [...held.values()];
    if (entries.length === 0) return;
    try {
      await stream.renew(
        consumer,
        entries.flatMap(({ ids }) => ids),
      );
    } catch (error) {
      log.debug({ err: error }, "leases were not renewed");
    }
    const active = await activeJobsOf(deps.sql, [...new Set(entries.map(({ jobId }) => jobId))]);
    for (const { jobId, control } of entries) if (!active.has(jobId)) control.cancel();
  }

  function schedule(): void {
    beat = clock.after(LIMITS.bulk.renewEveryMs, () => {
      beatOnce()
        .catch((error: unknown) => log.debug({ err: error }, "jobs in hand were not looked at"))
        .finally(() => {
          if (!stopping || held.size > 0) schedule();
        });
    });
  }

  const allEnded = () => Promise.all([...held.values()].map(({ ended }) => ended));

  return {
    name: "bulk worker",
    async start() {
      await deps.reader.connect().catch(() => undefined);
      schedule();
      reading = readOn();
    },
    async drain() {
      stopping = true;
      deps.reader.disconnect();
      const patience = clock.after(deps.graceMs * LIMITS.bulk.drainShare, () => {
        for (const { control } of held.values()) control.cancel();
      });
      // Who waits for a place reads on, once, when a task ends.
      await reading;
      await allEnded();
      patience.cancel();
    },
    stop() {
      beat?.cancel();
      deps.reader.disconnect();
    },
  };
}
