import type { Clock, Timer } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import { type Passing, PassingSet } from "../core/passing-set.ts";
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

/**
 * What the rows of a batch share. An answer is packed as it comes and its row let go: a batch takes a fifth of a second, for
 * which the garbage collector would copy its evidence.
 */
interface Batch extends Passing {
  slot: number;
  mode: BatchTask["mode"];
  scope: BatchTask["scope"];
  addresses: string[];
  atOnce: number;
  /** Of the first addresses: those that are asked about, or were; null: it has its answer. */
  rows: (BatchRow | null)[];
  packer: LinePacker;
  /** Of which addresses the answers are that are packed. */
  places: Uint16Array;
  /** Addresses without an answer. */
  left: number;
  /** Rows are being begun: one that is answered in the same breath begins no other by itself. */
  beginning: boolean;
  ended: boolean;
  board: Pick<Board, "isHalted">;
  resolve(result: PackedLines): void;
  answer(row: BatchRow, line: CheckLine | undefined): void;
  fail(row: BatchRow, error: unknown): void;
}

/** An address of a batch that waits for its answer. It asks for itself: one object a row, no promise, no closure. */
class BatchRow implements CheckCaller {
  readonly place: number;
  site = "";
  #told = false;
  readonly #batch: Batch;

  constructor(batch: Batch, place: number) {
    this.#batch = batch;
    this.place = place;
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
 * Runs tasks. Of a batch `atOnce` addresses are checked at once: who must wait does so in its site's line. A batch that is
 * halted begins no more, and is answered within LIMITS.check.haltLookMs with what is known, whatever its checks wait for; those see it at
 * their next step.
 */
export function createTaskRunner(deps: TaskRunnerDeps): TaskRunner {
  const { engine, board, clock } = deps;
  const runSingles = createSinglesRunner(deps);
  const batches = new PassingSet<Batch>();
  let watching: { timer: Timer; patient: boolean } | null = null;

  /** One timer for all batches; none while there is none. The first that is not patient beside those that are has a sooner one. */
  function watch(): void {
    if (watching !== null && !watching.patient) return;
    const patient = batches.items.every(({ mode }) => mode === "patient");
    if (watching !== null && patient) return;
    watching?.timer.cancel();
    const timer = clock.after(patient ? LIMITS.check.patientHaltLookMs : LIMITS.check.haltLookMs, () => {
      watching = null;
      for (const batch of [...batches.items]) if (board.isHalted(batch.slot)) end(batch);
      if (batches.size > 0) watch();
    });
    watching = { timer, patient };
  }

  function end(batch: Batch): void {
    const cancelled = board.isCancelled(batch.slot);
    // From here on the slot may be another task's: only `ended` tells the checks of this one.
    batch.ended = true;
    batches.delete(batch);
    for (let place = 0; place < batch.addresses.length; place++) {
      const row = batch.rows[place];
      if (row !== null) pack(batch, place, unanswered(row?.site ?? "", cancelled));
    }
    batch.resolve(batch.packer.take(isInOrder(batch.places) ? null : batch.places));
  }

  function fail(batch: Batch, row: BatchRow, error: unknown): void {
    const isBroken = !isOverload(error);
    if (isBroken) deps.log.error({ err: error }, "a check broke");
    answer(batch, row, isBroken ? "broken" : "overloaded");
  }

  function answer(batch: Batch, row: BatchRow, line: CheckLine | undefined): void {
    if (batch.ended) return;
    if (line !== undefined) {
      pack(batch, row.place, line);
      batch.rows[row.place] = null;
    }
    batch.left -= 1;
    board.answered(batch.slot);
    if (batch.left === 0) end(batch);
    else beginRows(batch);
  }

  /** As many as may be under way. */
  function beginRows(batch: Batch): void {
    const { addresses, rows, scope, atOnce } = batch;
    if (batch.beginning || rows.length === addresses.length) return;
    batch.beginning = true;
    while (rows.length < addresses.length && !board.isHalted(batch.slot)) {
      if (rows.length - (addresses.length - batch.left) >= atOnce) break;
      const row = new BatchRow(batch, rows.length);
      const address = addresses[rows.length] ?? "";
      rows.push(row);
      try {
        engine.ask(address, scope, row);
      } catch (error) {
        row.broke(error);
      }
    }
    batch.beginning = false;
  }

  function runBatch({ addresses: joined, slot, scope, mode, atOnce }: BatchTask): Promise<PackedLines> {
    const addresses = joined.split("\n");
    return new Promise((resolve) => {
      // Written out: what is spread and then added to has a shape of its own each time, and each row asks its batch several times.
      const batch: Batch = {
        slot,
        mode,
        scope,
        addresses,
        atOnce,
        board,
        resolve,
        rows: [],
        packer: new LinePacker(addresses.length),
        places: new Uint16Array(addresses.length),
        left: addresses.length,
        beginning: false,
        ended: false,
        seat: 0,
        answer: (row, line) => answer(batch, row, line),
        fail: (row, error) => fail(batch, row, error),
      };
      batches.add(batch);
      beginRows(batch);
      if (!batch.ended) watch();
    });
  }

  return (task) => {
    if (task.mode === "hello") return null;
    // Whoever asks about a row of it will hear why.
    if (task.mode === "line") return engine.lineOf(task.domain).catch(() => null);
    return task.mode === "single" ? runSingles(task) : runBatch(task);
  };
}

function pack({ packer, places }: Batch, place: number, line: CheckLine): void {
  places[packer.count] = place;
  packer.add(line);
}

function isInOrder(places: Uint16Array): boolean {
  for (let i = 0; i < places.length; i++) if (places[i] !== i) return false;
  return true;
}

function unanswered(site: string, cancelled: boolean): CheckLine {
  return cancelled ? null : deferredLine(site, "unfinished");
}

function deferredLine(site: string, cause: Deferred["cause"]): CheckLine {
  return { deferred: { site, cause } };
}
