import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../log.ts";
import { createTeamGuard } from "./team-guard.ts";

/** What is worked on, one by one. */
export interface SweepItem {
  id: string;
  teamId: string;
}

/** A chore that comes round again and again, and meets what fails again and again. */
export interface Sweep<T extends SweepItem> {
  /**
   * Does the work of `limit` items that have not failed lately, then of those that have. What fails is logged and holds up
   * no other; after LIMITS.relay.teamFailures of them it rejects.
   * @param list items that are due, so many at most
   */
  run(
    list: (limit: number) => Promise<readonly T[]>,
    limit: number,
    isStopping: () => boolean,
    work: (item: T) => Promise<void>,
  ): Promise<void>;
}

/** @param what has failed, for the log */
export function createSweep<T extends SweepItem>(log: Logger, what: string): Sweep<T> {
  /** Begun and not done, oldest first. */
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

/** Does each, whatever becomes of the one before it. @throws the first failure, when all are done */
export async function runEach(works: readonly (() => Promise<void>)[]): Promise<void> {
  let first: { error: unknown } | null = null;
  for (const work of works)
    await work().catch((error: unknown) => {
      first ??= { error };
    });
  if (first !== null) throw (first as { error: unknown }).error;
}
