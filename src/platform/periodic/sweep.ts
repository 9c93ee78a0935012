import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../log.ts";
import { createTeamGuard } from "./team-guard.ts";

/** An item of periodic work. */
export interface SweepItem {
  id: string;
  teamId: string;
}

/** Periodic work on due items, some of which may fail every time. */
export interface Sweep<T extends SweepItem> {
  /**
   * Does the work of at most `limit` items: first those that have not failed lately, then the others. A failure is logged
   * and does not delay other items. After LIMITS.relay.teamFailures of them it rejects.
   * @param list returns due items, at most as many as requested
   */
  run(
    list: (limit: number) => Promise<readonly T[]>,
    limit: number,
    isStopping: () => boolean,
    work: (item: T) => Promise<void>,
  ): Promise<void>;
}

/** @param what the work that failed, for the log */
export function createSweep<T extends SweepItem>(log: Logger, what: string): Sweep<T> {
  /** Ids of items whose work was started and has not succeeded, oldest first. */
  const failing = new Set<string>();

  function note(id: string): void {
    failing.add(id);
    for (const oldest of failing) {
      if (failing.size <= LIMITS.relay.failingKept) return;
      failing.delete(oldest);
    }
  }

  return {
    async run(list, limit, isStopping, work) {
      const items = await list(limit + failing.size);
      const isFailing = ({ id }: T) => failing.has(id);
      const inOrder = [...items.filter((item) => !isFailing(item)), ...items.filter(isFailing)];
      const guard = createTeamGuard(log, what);
      for (const item of inOrder) {
        if (isStopping()) return;
        await guard.run(item.teamId, async () => {
          note(item.id);
          await work(item);
          failing.delete(item.id);
        });
      }
    },
  };
}

/** Runs all of them, also after one fails. @throws the first failure, when all are done */
export async function runEach(works: readonly (() => Promise<void>)[]): Promise<void> {
  let first: { error: unknown } | null = null;
  for (const work of works)
    await work().catch((error: unknown) => {
      first ??= { error };
    });
  if (first !== null) throw (first as { error: unknown }).error;
}
