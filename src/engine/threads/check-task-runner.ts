import { LIMITS } from "../../config/limits/limits.ts";
import type { SharedBoard } from "../../egress/shared-board.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/log.ts";
import type { Clock, Timer } from "../../platform/time/clock.ts";
import { OutcomePacker } from "../../verification/evidence/outcomes.ts";
import type { CheckCaller, EngineResult } from "../caller.ts";
import { type CheckTimes, CheckTrace } from "../check-times.ts";
import type { CheckEngine } from "../engine.ts";
import {
  type CheckAnswers,
  type CheckBatch,
  type CheckOutcome,
  deferredOutcome,
  unansweredOutcome,
} from "./thread-tasks.ts";

export interface CheckTaskRunnerDeps {
  engine: Pick<CheckEngine, "submit">;
  board: Pick<SharedBoard, "isCancelled" | "isHalted" | "countAnswer" | "noteStarted">;
  clock: Clock;
  /** `processMonotonicMs`. */
  now(): number;
  log: Logger;
  /** There is something to take, see `takeAnswers`. */
  onAnswers(): void;
}

/**
 * Runs batches in a check thread. Of a batch `atOnce` addresses are checked at once; each waits in its site's queue. A
 * batch is answered once, after its last address.
 *
 * A halted batch starts no more checks. It is answered with the present outcomes once the engine has ended all its checks. A
 * list's batch waits for that no longer than LIMITS.check.haltPollMs (patientHaltPollMs if all are patient), since its job
 * goes on. A request's batch waits without a limit: its slot bounds the checks that wait in the engine, and clients that
 * disconnect at once must not start more than that.
 */
export class CheckTaskRunner {
  readonly #deps: CheckTaskRunnerDeps;
  /** Running batches by slot: see "No Set or Map holds requests" in docs/decisions/v8-costs.md. */
  readonly #batches: (RunningBatch | undefined)[] = [];
  #polling: { timer: Timer; isPatient: boolean } | null = null;
  /** Answered and not taken yet. */
  #slots: number[] = [];
  #times: CheckTimes[] = [];
  readonly #packer = new OutcomePacker();

  constructor(deps: CheckTaskRunnerDeps) {
    this.#deps = deps;
  }

  start(task: CheckBatch): void {
    const { board, now } = this.#deps;
    board.noteStarted(task.slot, now() - task.askedMs);
    const batch = new RunningBatch(task);
    this.#batches[task.slot] = batch;
    this.#startRows(batch);
    if (!batch.isEnded && task.mode !== "single") this.#poll(task.mode === "patient");
  }

  /** The answers since the last call; null: none. */
  takeAnswers(): CheckAnswers | null {
    if (this.#slots.length === 0) return null;
    const answers: CheckAnswers = {
      slots: this.#slots,
      outcomes: this.#packer.take(),
      postedMs: this.#deps.now(),
    };
    if (this.#times.length > 0) answers.times = this.#times;
    this.#slots = [];
    this.#times = [];
    return answers;
  }

  isHalted(slot: number): boolean {
    return this.#deps.board.isHalted(slot);
  }

  fail(row: BatchRow, error: unknown): void {
    const isBroken = !(error instanceof AppError && error.code === "overloaded");
    if (isBroken) this.#deps.log.error({ err: error }, "a check broke");
    this.answer(row, isBroken ? "broken" : "overloaded");
  }

  /** @param outcome null: the row saw that its batch was halted */
  answer(row: BatchRow, outcome: CheckOutcome): void {
    const { batch } = row;
    if (batch.isEnded) return;
    if (outcome !== null) {
      batch.outcomes[row.index] = outcome;
      batch.rows[row.index] = null;
    }
    if (row.trace !== null) this.#times.push(row.trace.finish(batch.task.slot));
    batch.remaining -= 1;
    this.#deps.board.countAnswer(batch.task.slot);
    if (batch.remaining === 0) this.#end(batch);
    else this.#startRows(batch);
  }

  #startRows(batch: RunningBatch): void {
    const { addresses, rows, task } = batch;
    if (batch.isStarting || rows.length === addresses.length) return;
    batch.isStarting = true;
    while (rows.length < addresses.length && !this.isHalted(task.slot)) {
      if (batch.underWay >= task.atOnce) break;
      const address = addresses[rows.length] ?? "";
      const trace = task.isTraced ? new CheckTrace(this.#deps.clock) : null;
      const row = new BatchRow(this, batch, rows.length, trace);
      rows.push(row);
      try {
        this.#deps.engine.submit(address, task.scope, row);
      } catch (error) {
        row.onError(error);
      }
    }
    batch.isStarting = false;
    if (!batch.isEnded && batch.underWay === 0 && this.isHalted(task.slot)) this.#end(batch);
  }

  #end(batch: RunningBatch): void {
    const { slot } = batch.task;
    const isCancelled = this.#deps.board.isCancelled(slot);
    // From here on the slot may belong to another batch: the checks of this one see only `isEnded`.
    batch.isEnded = true;
    this.#batches[slot] = undefined;
    for (let index = 0; index < batch.addresses.length; index++) {
      const outcome = batch.outcomes[index];
      this.#packer.add(outcome ?? unansweredOutcome(batch.rows[index]?.site ?? "", isCancelled));
    }
    this.#slots.push(slot);
    this.#deps.onAnswers();
  }

  /** One timer for all batches of lists. The first that is not patient beside patient ones needs an earlier one. */
  #poll(isPatient: boolean): void {
    if (this.#polling !== null && (isPatient || !this.#polling.isPatient)) return;
    this.#polling?.timer.cancel();
    const { patientHaltPollMs, haltPollMs } = LIMITS.check;
    const timer = this.#deps.clock.after(isPatient ? patientHaltPollMs : haltPollMs, () => {
      this.#polling = null;
      const batches = this.#batches
        .filter((batch) => batch !== undefined)
        .filter(({ task }) => task.mode !== "single");
      for (const batch of batches) if (this.isHalted(batch.task.slot)) this.#end(batch);
      const left = batches.filter(({ isEnded }) => !isEnded);
      if (left.length > 0) this.#poll(left.every(({ task }) => task.mode === "patient"));
    });
    this.#polling = { timer, isPatient };
  }
}

class RunningBatch {
  readonly task: CheckBatch;
  readonly addresses: string[];
  /** Those started so far; null: answered. */
  readonly rows: (BatchRow | null)[] = [];
  readonly outcomes: (CheckOutcome | undefined)[];
  /** Addresses without an answer. */
  remaining: number;
  /** Rows are being started: one that is answered at once starts no other by itself. */
  isStarting = false;
  isEnded = false;

  constructor(task: CheckBatch) {
    this.task = task;
    this.addresses = task.addresses.split("\n");
    this.remaining = this.addresses.length;
    this.outcomes = new Array(this.remaining);
  }

  /** Addresses that the engine has. */
  get underWay(): number {
    return this.rows.length - (this.addresses.length - this.remaining);
  }
}

/** An address of a batch. It is the engine's caller itself: one object a row, without a promise or a closure. */
class BatchRow implements CheckCaller {
  readonly batch: RunningBatch;
  readonly index: number;
  readonly trace: CheckTrace | null;
  site = "";
  #isAnswered = false;
  readonly #runner: CheckTaskRunner;

  constructor(runner: CheckTaskRunner, batch: RunningBatch, index: number, trace: CheckTrace | null) {
    this.#runner = runner;
    this.batch = batch;
    this.index = index;
    this.trace = trace;
  }

  get mode(): CheckBatch["mode"] {
    return this.batch.task.mode;
  }

  cancelled(): boolean {
    return this.batch.isEnded || this.#runner.isHalted(this.batch.task.slot);
  }

  onSite(site: string): void {
    this.site = site;
  }

  onChecked(found: EngineResult): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#runner.answer(this, found === "busy" ? deferredOutcome(this.site, "busy") : found);
  }

  onError(error: unknown): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#runner.fail(this, error);
  }
}
