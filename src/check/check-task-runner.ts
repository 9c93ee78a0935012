import type { Clock, Timer } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import type { CheckCaller, EngineResult } from "./caller.ts";
import type { CheckEngine } from "./engine.ts";
import { OutcomePacker, type PackedOutcomes } from "./evidence/outcomes.ts";
import type { SharedBoard } from "./shared-board.ts";
import { createSingleChecksRunner, isOverload, type SingleChecksRunnerDeps } from "./single-checks-runner.ts";
import type { BatchTask, CheckOutcome, CheckTask, CheckTaskResult, Deferred } from "./thread-tasks.ts";

export interface CheckTaskRunnerDeps extends SingleChecksRunnerDeps {
  engine: CheckEngine;
  board: Pick<SharedBoard, "isCancelled" | "isHalted" | "countAnswer" | "noteStarted">;
  clock: Clock;
  log: Logger;
}

/** What a check thread does with a task. Never rejects. */
export type CheckTaskRunner = (task: CheckTask) => CheckTaskResult | Promise<CheckTaskResult>;

/**
 * What the rows of a batch share. An answer is packed as it comes and its row let go: a batch takes a fifth of a second, for
 * which the garbage collector would copy its evidence.
 */
interface RunningTask {
  slot: number;
  mode: BatchTask["mode"];
  scope: BatchTask["scope"];
  addresses: string[];
  atOnce: number;
  /** Of the first addresses: those that are asked about, or were; null: it has its answer. */
  rows: (BatchRow | null)[];
  packer: OutcomePacker;
  /** Of which addresses the answers are that are packed. */
  places: Uint16Array;
  /** Addresses without an answer. */
  remaining: number;
  /** Rows are being begun: one that is answered in the same breath begins no other by itself. */
  isStarting: boolean;
  isEnded: boolean;
  board: Pick<SharedBoard, "isHalted">;
  resolve(result: PackedOutcomes): void;
  answer(row: BatchRow, line: CheckOutcome | undefined): void;
  fail(row: BatchRow, error: unknown): void;
}

/** An address of a batch that waits for its answer. It asks for itself: one object a row, no promise, no closure. */
class BatchRow implements CheckCaller {
  readonly index: number;
  site = "";
  #isAnswered = false;
  readonly #batch: RunningTask;

  constructor(batch: RunningTask, place: number) {
    this.#batch = batch;
    this.index = place;
  }

  get mode(): BatchTask["mode"] {
    return this.#batch.mode;
  }

  cancelled(): boolean {
    const batch = this.#batch;
    return batch.isEnded || batch.board.isHalted(batch.slot);
  }

  onSite(site: string): void {
    this.site = site;
  }

  /** @param found null: it saw that the batch was halted, hence so does `end` */
  onChecked(found: EngineResult): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    if (found === "busy") this.#batch.answer(this, deferredOutcome(this.site, "busy"));
    else this.#batch.answer(this, found ?? undefined);
  }

  onError(error: unknown): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#batch.fail(this, error);
  }
}

/**
 * Runs tasks. Of a batch `atOnce` addresses are checked at once: who must wait does so in its site's line. A batch that is
 * halted begins no more, and is answered within LIMITS.check.haltLookMs with what is known, whatever its checks wait for; those see it at
 * their next step.
 */
export function createCheckTaskRunner(deps: CheckTaskRunnerDeps): CheckTaskRunner {
  const { engine, board, clock } = deps;
  const runSingles = createSingleChecksRunner(deps);
  const batches = new Set<RunningTask>();
  let watching: { timer: Timer; patient: boolean } | null = null;

  /** One timer for all batches; none while there is none. The first that is not patient beside those that are has a sooner one. */
  function watch(): void {
    if (watching !== null && !watching.patient) return;
    const patient = [...batches].every(({ mode }) => mode === "patient");
    if (watching !== null && patient) return;
    watching?.timer.cancel();
    const timer = clock.after(patient ? LIMITS.check.patientHaltPollMs : LIMITS.check.haltPollMs, () => {
      watching = null;
      for (const batch of [...batches]) if (board.isHalted(batch.slot)) end(batch);
      if (batches.size > 0) watch();
    });
    watching = { timer, patient };
  }

  function end(batch: RunningTask): void {
    const cancelled = board.isCancelled(batch.slot);
    // From here on the slot may be another task's: only `ended` tells the checks of this one.
    batch.isEnded = true;
    batches.delete(batch);
    for (let place = 0; place < batch.addresses.length; place++) {
      const row = batch.rows[place];
      if (row !== null) pack(batch, place, unansweredOutcome(row?.site ?? "", cancelled));
    }
    batch.resolve(batch.packer.take(isInOrder(batch.places) ? null : batch.places));
  }

  function fail(batch: RunningTask, row: BatchRow, error: unknown): void {
    const isBroken = !isOverload(error);
    if (isBroken) deps.log.error({ err: error }, "a check broke");
    answer(batch, row, isBroken ? "broken" : "overloaded");
  }

  function answer(batch: RunningTask, row: BatchRow, line: CheckOutcome | undefined): void {
    if (batch.isEnded) return;
    if (line !== undefined) {
      pack(batch, row.index, line);
      batch.rows[row.index] = null;
    }
    batch.remaining -= 1;
    board.countAnswer(batch.slot);
    if (batch.remaining === 0) end(batch);
    else beginRows(batch);
  }

  /** As many as may be under way. */
  function beginRows(batch: RunningTask): void {
    const { addresses, rows, scope, atOnce } = batch;
    if (batch.isStarting || rows.length === addresses.length) return;
    batch.isStarting = true;
    while (rows.length < addresses.length && !board.isHalted(batch.slot)) {
      if (rows.length - (addresses.length - batch.remaining) >= atOnce) break;
      const row = new BatchRow(batch, rows.length);
      const address = addresses[rows.length] ?? "";
      rows.push(row);
      try {
        engine.submit(address, scope, row);
      } catch (error) {
        row.onError(error);
      }
    }
    batch.isStarting = false;
  }

  function runBatch({ addresses: joined, slot, scope, mode, atOnce }: BatchTask): Promise<PackedOutcomes> {
    const addresses = joined.split("\n");
    return new Promise((resolve) => {
      // Written out: what is spread and then added to has a shape of its own each time, and each row asks its batch several times.
      const batch: RunningTask = {
        slot,
        mode,
        scope,
        addresses,
        atOnce,
        board,
        resolve,
        rows: [],
        packer: new OutcomePacker(addresses.length),
        places: new Uint16Array(addresses.length),
        remaining: addresses.length,
        isStarting: false,
        isEnded: false,
        answer: (row, line) => answer(batch, row, line),
        fail: (row, error) => fail(batch, row, error),
      };
      batches.add(batch);
      beginRows(batch);
      if (!batch.isEnded) watch();
    });
  }

  return (task) => {
    if (task.mode === "hello") return null;
    // Whoever asks about a row of it will hear why.
    if (task.mode === "line") return engine.queueSiteOf(task.domain).catch(() => null);
    return task.mode === "single" ? runSingles(task) : runBatch(task);
  };
}

function pack({ packer, places }: RunningTask, place: number, line: CheckOutcome): void {
  places[packer.count] = place;
  packer.add(line);
}

function isInOrder(places: Uint16Array): boolean {
  for (let i = 0; i < places.length; i++) if (places[i] !== i) return false;
  return true;
}

function unansweredOutcome(site: string, cancelled: boolean): CheckOutcome {
  return cancelled ? null : deferredOutcome(site, "unfinished");
}

function deferredOutcome(site: string, cause: Deferred["cause"]): CheckOutcome {
  return { deferred: { site, cause } };
}
