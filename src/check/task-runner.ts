import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import type { Board } from "./board.ts";
import type { CheckCaller, Checked } from "./caller.ts";
import type { CheckEngine } from "./engine.ts";
import { LinePacker, type PackedLines } from "./evidence-codec.ts";
import { createSinglesRunner, isOverload, type SinglesRunnerDeps } from "./singles-runner.ts";
import type { BatchTask, CheckLine, CheckTask, CheckTaskResult, Deferred } from "./thread.ts";

export interface TaskRunnerDeps extends SinglesRunnerDeps {
  engine: CheckEngine;
  board: Pick<Board, "isCancelled" | "isHalted" | "answered" | "noteBegun">;
  clock: Clock;
  log: Logger;
}

/** What a check thread does with a task. Never rejects. */
export type TaskRunner = (task: CheckTask) => CheckTaskResult | Promise<CheckTaskResult>;

/** What the rows of a batch share. */
interface Batch {
  slot: number;
  mode: BatchTask["mode"];
  rows: BatchRow[];
  left: number;
  ended: boolean;
  board: Pick<Board, "isHalted">;
  resolve(result: PackedLines): void;
  answer(row: BatchRow, line: CheckLine | undefined): void;
  fail(row: BatchRow, error: unknown): void;
}

/** An address of a batch, and what is known of it. It asks for itself: one object a row, no promise, no closure. */
class BatchRow implements CheckCaller {
  site = "";
  /** undefined: without an answer. */
  line: CheckLine | undefined;
  #told = false;
  readonly #batch: Batch;

  constructor(batch: Batch) {
    this.#batch = batch;
  }

  get mode(): BatchTask["mode"] {
    return this.#batch.mode;
  }

  cancelled(): boolean {
    const batch = this.#batch;
    return batch.ended || batch.board.isHalted(batch.slot);
  }

  onSite(site: string): void {
    this.site = site;
  }

  /** @param found null: it saw that the batch was halted, hence so does `end` */
  checked(found: Checked): void {
    if (this.#told) return;
    this.#told = true;
    if (found === "busy") this.#batch.answer(this, deferredLine(this.site, "busy"));
    else this.#batch.answer(this, found ?? undefined);
  }

  broke(error: unknown): void {
    if (this.#told) return;
    this.#told = true;
    this.#batch.fail(this, error);
  }
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

  function runBatch({ addresses, slot, scope, mode }: BatchTask): Promise<PackedLines> {
    return new Promise((resolve) => {
      // Written out: what is spread and then added to has a shape of its own each time, and each row asks its batch several times.
      const batch: Batch = {
        slot,
        mode,
        board,
        resolve,
        rows: [],
        left: 0,
        ended: false,
        answer: (row, line) => answer(batch, row, line),
        fail: (row, error) => fail(batch, row, error),
      };
      const texts = addresses.split("\n");
      for (const _ of texts) batch.rows.push(new BatchRow(batch));
      batch.left = texts.length;
      batches.add(batch);
      for (const [i, row] of batch.rows.entries()) {
        try {
          engine.ask(texts[i] ?? "", scope, row);
        } catch (error) {
          row.broke(error);
        }
      }
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
