import { LRUCache } from "lru-cache";
import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { ChunkTask, Deferral, RetryTask } from "../store/job-tasks.ts";
import type { DistinctRow } from "./chunk-rows.ts";
import { offsetsOfRowSet } from "./deferrals.ts";

/**
 * Rows that were put off here, for whoever comes for them as a retry: reading them anew is a request for all of their chunk, and
 * a scan of it, for a tenth of its rows or less. Nothing depends on it: another process, or this one when it has forgotten,
 * reads them. A retry goes to any worker of its egress, so that of n workers one in n finds its rows here; those of the others
 * go with their time, LIMITS.bulk.keptRowsMs, or when there is no room for them. A list in somebody else's bucket is always read anew, since it may be ours to read no longer.
 */
export interface KeptRows {
  /** @param rows of the task, those that wait among them */
  keep(task: ChunkTask | RetryTask, rows: readonly DistinctRow[], deferrals: readonly Deferral[]): void;
  /** Rows of a retry, in order, and forgets them; null: they are not at hand. */
  take(task: RetryTask): DistinctRow[] | null;
  /** Memory in texts now. */
  readonly heldBytes: number;
}

type KeptRow = [offset: number, email: string, copies: number];

function keyOf({ jobId }: ChunkTask | RetryTask, chunk: number, rowSet: Buffer): string {
  return `${jobId} ${chunk} ${rowSet.toString("latin1")}`;
}

export function createKeptRows(clock: Clock): KeptRows {
  // As text of its own: an address that was read is a slice of its chunk, and would keep all of it.
  const texts = new LRUCache<string, string>({
    maxSize: LIMITS.bulk.keptRowsBytes,
    sizeCalculation: (text, key) => 2 * (text.length + key.length),
    ttl: LIMITS.bulk.keptRowsMs,
    ttlResolution: 0,
    perf: { now: () => clock.monotonic() },
  });
  let isPurging = false;

  /** Nobody asks for what others came for: it would be there until the room is needed. */
  function purgeLater(): void {
    if (isPurging || texts.size === 0) return;
    isPurging = true;
    clock.after(LIMITS.bulk.keptRowsMs, () => {
      isPurging = false;
      texts.purgeStale();
      purgeLater();
    });
  }

  return {
    keep(task, rows, deferrals) {
      if (task.place.bucket !== null || deferrals.length === 0) return;
      const byOffset = new Map(rows.map((row) => [row.offset, row]));
      const chunk = task.kind === "chunk" ? task.number : task.chunk;
      for (const { rowSet } of deferrals) {
        const kept: KeptRow[] = [];
        for (const offset of offsetsOfRowSet(rowSet)) {
          const row = byOffset.get(offset);
          if (row !== undefined) kept.push([offset, row.email, row.copies]);
        }
        texts.set(keyOf(task, chunk, rowSet), JSON.stringify(kept));
      }
      purgeLater();
    },
    get heldBytes() {
      return texts.calculatedSize;
    },
    take(task) {
      const key = keyOf(task, task.chunk, task.rowSet);
      const text = texts.get(key);
      if (text === undefined) return null;
      texts.delete(key);
      const rows = JSON.parse(text) as KeptRow[];
      return rows.map(([offset, email, copies]) => ({ offset, email, copies }));
    },
  };
}
