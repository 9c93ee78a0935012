import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import type { Board } from "./board.ts";
import type { CheckEngine } from "./engine.ts";
import type { Evidence } from "./evidence.ts";
import { LinePacker, type PackedLines } from "./evidence-codec.ts";
import { createSinglesRunner, isOverload, type SinglesRunnerDeps } from "./singles-runner.ts";
import type { BatchTask, CheckLine, CheckTask, CheckTaskResult, Deferred } from "./thread.ts";

export interface TaskRunnerDeps extends SinglesRunnerDeps {
  engine: CheckEngine;
  board: Pick<Board, "isCancelled" | "isHalted" | "answered">;
  clock: Clock;
  log: Logger;
}

/** What a check thread does with a task. Never rejects. */
export type TaskRunner = (task: CheckTask) => CheckTaskResult | Promise<CheckTaskResult>;

/** An address of a batch, and what is known of it. */
interface BatchRow {
  site: string;
  /** undefined: without an answer. */
  line: CheckLine | undefined;
}

interface Batch {
  slot: number;
  rows: BatchRow[];
  left: number;
  ended: boolean;
  resolve(result: PackedLines): void;
}

/**
 * Runs tasks. All addresses of a batch are checked at once: who must wait does so in its site's line. A batch that is
 * halted is answered within LIMITS.check.haltLookMs with what is known, whatever its checks wait for; those see it at
 * their next step.
 */
export function createTaskRunner(deps: TaskRunnerDeps): TaskRunner {
  const { engine, board, clock } = deps;
  const runSingles = createSinglesRunner(deps);
  const packer = new LinePacker();
  const batches = new Set<Batch>();
  let watching = false;

  /** One timer for all batches; none while there is none. */
  function watch(): void {
    if (watching) return;
    watching = true;
    clock.after(LIMITS.check.haltLookMs, () => {
      watching = false;
      for (const batch of [...batches]) if (board.isHalted(batch.slot)) end(batch);
      if (batches.size > 0) watch();
    });
  }

  function end(batch: Batch): void {
    const cancelled = board.isCancelled(batch.slot);
    // From here on the slot may be another task's: only `ended` tells the checks of this one.
    batch.ended = true;
    batches.delete(batch);
    for (const row of batch.rows) packer.add(row.line ?? unanswered(row, cancelled));
    batch.resolve(packer.take());
  }

  /** @param known null: it saw that the batch was halted, hence so does `end` */
  function settle(batch: Batch, row: BatchRow, known: Evidence | "busy" | null): void {
    if (known === "busy") answer(batch, row, deferredLine(row.site, "busy"));
    else answer(batch, row, known ?? undefined);
  }

  function fail(batch: Batch, row: BatchRow, error: unknown): void {
    const isBroken = !isOverload(error);
    if (isBroken) deps.log.error({ err: error }, "a check broke");
    answer(batch, row, isBroken ? "broken" : "overloaded");
  }

  function answer(batch: Batch, row: BatchRow, line: CheckLine | undefined): void {
    if (batch.ended) return;
    row.line = line;
    batch.left -= 1;
    board.answered(batch.slot);
    if (batch.left === 0) end(batch);
  }

  function checkRow(batch: Batch, row: BatchRow, address: string, { scope, mode }: BatchTask): void {
    const control = {
      mode,
      cancelled: () => batch.ended || board.isHalted(batch.slot),
      onSite(site: string) {
        row.site = site;
      },
    };
    try {
      const known = engine.check(address, scope, control);
      if (known instanceof Promise)
        known.then(
          (found) => settle(batch, row, found),
          (error: unknown) => fail(batch, row, error),
        );
      else settle(batch, row, known);
    } catch (error) {
      fail(batch, row, error);
    }
  }

  function runBatch(task: BatchTask): Promise<PackedLines> {
    const addresses = task.addresses.split("\n");
    return new Promise((resolve) => {
      const rows = addresses.map((): BatchRow => ({ site: "", line: undefined }));
      const batch: Batch = { slot: task.slot, rows, left: rows.length, ended: false, resolve };
      batches.add(batch);
      for (const [i, row] of rows.entries()) checkRow(batch, row, addresses[i] ?? "", task);
      if (!batch.ended) watch();
    });
  }

  return (task) => {
    if (task.mode === "hello") return null;
    return task.mode === "single" ? runSingles(task) : runBatch(task);
  };
}

function unanswered(row: BatchRow, cancelled: boolean): CheckLine {
  return cancelled ? null : deferredLine(row.site, "unfinished");
}

function deferredLine(site: string, cause: Deferred["cause"]): CheckLine {
  return { deferred: { site, cause } };
}
