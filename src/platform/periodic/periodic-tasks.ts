import type { LifecyclePart } from "../lifecycle.ts";
import type { Logger } from "../log.ts";
import type { Clock, Timer } from "../time/clock.ts";

/** A periodic task of the relay. Idempotent: any number of relays may run it at once. */
export interface PeriodicTask {
  name: string;
  /** Interval from the end of one run to the start of the next. */
  everyMs: number;
  /**
   * Rejects on failure; it runs again when next due. A task of many rounds ends early, and without loss, once `isStopping`
   * returns true.
   */
  run(isStopping: () => boolean): Promise<unknown>;
}

export interface RelayDeps {
  tasks: readonly PeriodicTask[];
  clock: Clock;
  log: Logger;
}

/**
 * The role `relay`: runs the deployment's periodic tasks. Each task has its own interval and never runs twice at once in a
 * process; a task that fails is logged and does not delay the others. No leader: tasks take due work under the database's
 * locks, so two relays at once do each thing once.
 */
export function createRelay(deps: RelayDeps): LifecyclePart {
  const { tasks, clock, log } = deps;
  const timers = new Map<string, Timer>();
  const running = new Set<Promise<void>>();
  let stopping = false;

  async function perform(task: PeriodicTask): Promise<void> {
    try {
      await task.run(() => stopping);
    } catch (error) {
      log.warn({ err: error, task: task.name }, "a periodic task of the relay failed");
    }
  }

  function schedule(task: PeriodicTask): void {
    const timer = clock.after(task.everyMs, () => {
      const work = perform(task).finally(() => {
        running.delete(work);
        if (!stopping) schedule(task);
      });
      running.add(work);
    });
    timers.set(task.name, timer);
  }

  return {
    name: "relay",
    start() {
      for (const task of tasks) schedule(task);
    },
    async drain() {
      stopping = true;
      for (const timer of timers.values()) timer.cancel();
      await Promise.all(running);
    },
  };
}
