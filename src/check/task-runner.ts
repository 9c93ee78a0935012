import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import type { Board } from "./board.ts";
import type { CheckEngine } from "./engine.ts";
import { type CheckTask, type CheckTaskResult, type Deferred, PLAIN_LINES } from "./thread.ts";

export interface TaskRunnerDeps {
  engine: CheckEngine;
  board: Pick<Board, "isCancelled" | "isHalted" | "answered">;
  clock: Clock;
  log: Logger;
}

/** What a check thread does with a task. Rejects when a `single` check broke; a batch never rejects. */
export type TaskRunner = (task: CheckTask) => Promise<CheckTaskResult>;

/** An address of a batch, and what is known of it. */
interface BatchRow {
  site: string;
  /** "" without an answer. */
  line: string;
}

interface Batch {
  slot: number;
  rows: BatchRow[];
  left: number;
  ended: boolean;
  resolve(result: CheckTaskResult): void;
}

const nobodyAsks = () => {};

/**
 * Runs tasks. All addresses of a batch are checked at once: who must wait does so in its site's line. A batch that is
 * halted is answered within LIMITS.check.haltLookMs with what is known, whatever its checks wait for; those see it at
 * their next step.
 */
export function createTaskRunner(deps: TaskRunnerDeps): TaskRunner {
  const { engine, board, clock } = deps;
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
    batch.resolve(batch.rows.map((row) => row.line || unanswered(row, cancelled)).join("\n"));
  }

  function settle(batch: Batch, row: BatchRow, line: string | null): void {
    if (batch.ended) return;
    // null: it saw that the batch was halted, hence so does `end`.
    if (line !== null) row.line = line;
    batch.left -= 1;
    board.answered(batch.slot);
    if (batch.left === 0) end(batch);
  }

  async function checkRow(batch: Batch, row: BatchRow, address: string, task: CheckTask): Promise<void> {
    const control = {
      mode: task.mode,
      cancelled: () => batch.ended || board.isHalted(batch.slot),
      onSite(site: string) {
        row.site = site;
      },
    };
    let line: string | null;
    try {
      const known = await engine.check(address, task.scope, control);
      if (known === "busy") line = deferredLine(row.site, "busy");
      else line = known === null ? null : JSON.stringify(known);
    } catch (error) {
      if (isOverload(error)) line = PLAIN_LINES.overloaded;
      else {
        deps.log.error({ err: error }, "a check broke");
        line = PLAIN_LINES.broken;
      }
    }
    settle(batch, row, line);
  }

  function runBatch(task: CheckTask): Promise<CheckTaskResult> {
    const addresses = task.addresses.split("\n");
    return new Promise((resolve) => {
      const rows = addresses.map((): BatchRow => ({ site: "", line: "" }));
      const batch: Batch = { slot: task.slot, rows, left: rows.length, ended: false, resolve };
      batches.add(batch);
      watch();
      for (const [i, row] of rows.entries()) void checkRow(batch, row, addresses[i] ?? "", task);
    });
  }

  async function runSingle({ addresses, scope, slot }: CheckTask): Promise<CheckTaskResult> {
    try {
      const cancelled = () => board.isCancelled(slot);
      return JSON.stringify(
        await engine.check(addresses, scope, { mode: "single", cancelled, onSite: nobodyAsks }),
      );
    } catch (error) {
      if (isOverload(error)) return PLAIN_LINES.overloaded;
      throw error;
    }
  }

  return async (task) => {
    // Asked of each thread at the start, to know that it is there.
    if (task.addresses === "") return "";
    return task.mode === "single" ? runSingle(task) : runBatch(task);
  };
}

function unanswered(row: BatchRow, cancelled: boolean): string {
  return cancelled ? PLAIN_LINES.cancelled : deferredLine(row.site, "unfinished");
}

function deferredLine(site: string, cause: Deferred["cause"]): string {
  return JSON.stringify({ deferred: { site, cause } });
}

function isOverload(error: unknown): boolean {
  return error instanceof AppError && error.code === "overloaded";
}
