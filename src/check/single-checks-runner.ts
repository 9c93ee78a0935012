import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { CheckCaller, EngineResult } from "./caller.ts";
import { type CheckTimes, CheckTrace } from "./check-times.ts";
import type { CheckEngine } from "./engine.ts";
import { OutcomePacker } from "./evidence/outcomes.ts";
import type { Scope } from "./evidence.ts";
import type { SharedBoard } from "./shared-board.ts";
import {
  type CheckAnswers,
  SCOPE_LETTERS,
  type SingleCheckOutcome,
  type SingleChecksTask,
  slotOf,
  TRACED_LETTERS,
} from "./thread-tasks.ts";

export interface SingleChecksRunnerDeps {
  engine: CheckEngine;
  board: Pick<SharedBoard, "isCancelled" | "noteStarted">;
  /** Brings answers to the main thread while no task ends. */
  post(answers: CheckAnswers): void;
  /** Runs it when this turn of the event loop has brought what it brings. */
  afterTick(callback: () => void): void;
  /** Of checks that are traced. */
  clock: Pick<Clock, "monotonic">;
  /** `processMonotonicMs`. */
  now(): number;
}

/** Runs the checks of requests. Never rejects. */
export type SingleChecksRunner = (task: SingleChecksTask) => CheckAnswers | Promise<CheckAnswers | null>;

/** A task that waits for some of its checks. */
interface OpenTask {
  remaining: number;
  /** Its checks are being begun: what is known at once goes back with the task, if it is all. */
  isStarting: boolean;
  resolve(answers: CheckAnswers | null): void;
}

/** Answers that are known and not yet on their way. */
class AnswerOutbox {
  #tickets: number[] = [];
  #errors: Error[] = [];
  #times: CheckTimes[] | null = null;
  readonly #packer = new OutcomePacker();

  get isEmpty(): boolean {
    return this.#packer.count === 0;
  }

  add(ticket: number, line: SingleCheckOutcome | "busy"): void {
    // Only rows of batches leave a busy site.
    if (line === "busy") {
      this.addFailure(ticket, new Error("a check of a request left a busy site"));
      return;
    }
    this.#tickets.push(ticket);
    this.#packer.add(line);
  }

  addFailure(ticket: number, error: unknown): void {
    const isBroken = !isOverload(error);
    this.add(ticket, isBroken ? "broken" : "overloaded");
    if (isBroken) this.#errors.push(plainError(error));
  }

  addTimes(times: CheckTimes): void {
    this.#times ??= [];
    this.#times.push(times);
  }

  take(postedMs: number): CheckAnswers {
    const answers: CheckAnswers = {
      tickets: this.#tickets,
      outcomes: this.#packer.take(),
      postedMs,
      errors: this.#errors,
    };
    if (this.#times !== null) answers.times = this.#times;
    this.#tickets = [];
    this.#errors = [];
    this.#times = null;
    return answers;
  }
}

/**
 * What is known at once goes back with the task. The rest is gathered turn by turn, over all tasks, and goes with a
 * task that ends or in a message of its own: so a slow check holds up nobody, and a busy thread sends few messages.
 */
export function createSingleChecksRunner({
  engine,
  board,
  post,
  afterTick: afterTurn,
  clock,
  now,
}: SingleChecksRunnerDeps): SingleChecksRunner {
  const outbox = new AnswerOutbox();
  const ended: OpenTask[] = [];
  let flushing = false;

  function flush(): void {
    flushing = false;
    const [first, ...others] = ended.splice(0);
    if (first !== undefined) first.resolve(outbox.take(now()));
    else if (!outbox.isEmpty) post(outbox.take(now()));
    for (const task of others) task.resolve(null);
  }

  function flushSoon(): void {
    if (flushing) return;
    flushing = true;
    afterTurn(flush);
  }

  function settled({ task, ticket, trace }: SingleCheck): void {
    if (trace !== null) outbox.addTimes(trace.finish(ticket));
    task.remaining -= 1;
    if (task.isStarting) return;
    if (task.remaining === 0) ended.push(task);
    flushSoon();
  }

  function answered(check: SingleCheck, line: SingleCheckOutcome | "busy"): void {
    outbox.add(check.ticket, line);
    settled(check);
  }

  function failed(check: SingleCheck, error: unknown): void {
    outbox.addFailure(check.ticket, error);
    settled(check);
  }

  function begin(task: OpenTask, ticket: number, text: string): void {
    const letter = text.charAt(0);
    const isTraced = letter === TRACED_LETTERS.probed || letter === TRACED_LETTERS.unprobed;
    const isProbed = letter === SCOPE_LETTERS.probed || letter === TRACED_LETTERS.probed;
    const scope: Scope = isProbed ? "probed" : "unprobed";
    const check = new SingleCheck(tower, { task, ticket }, isTraced ? new CheckTrace(clock) : null);
    try {
      engine.submit(text.slice(1), scope, check);
    } catch (error) {
      check.onError(error);
    }
  }

  const tower: SingleCheckListener = {
    isCancelled: (slot) => board.isCancelled(slot),
    onAnswered: answered,
    onFailed: failed,
  };

  return ({ addresses, tickets, postedMs }) => {
    board.noteStarted(tickets.length, now() - postedMs);
    const texts = addresses.split("\n");
    const task: OpenTask = { remaining: texts.length, isStarting: true, resolve: () => {} };
    for (let i = 0; i < texts.length; i++) begin(task, tickets[i] ?? 0, texts[i] ?? "");
    task.isStarting = false;
    // What others left there goes along.
    if (task.remaining === 0) return outbox.take(now());
    // What was known at once goes with what is known soon.
    if (!outbox.isEmpty) flushSoon();
    return new Promise((resolve) => {
      task.resolve = resolve;
    });
  };
}

/** What checks tell. */
interface SingleCheckListener {
  isCancelled(slot: number): boolean;
  onAnswered(check: SingleCheck, line: SingleCheckOutcome | "busy"): void;
  onFailed(check: SingleCheck, error: unknown): void;
}

/** One check: the engine's caller, without a promise or a closure of its own. */
class SingleCheck implements CheckCaller {
  readonly mode = "single";
  readonly task: OpenTask;
  readonly ticket: number;
  readonly trace: CheckTrace | null;
  readonly #listener: SingleCheckListener;
  #isAnswered = false;

  constructor(
    tower: SingleCheckListener,
    { task, ticket }: { task: OpenTask; ticket: number },
    trace: CheckTrace | null,
  ) {
    this.#listener = tower;
    this.task = task;
    this.ticket = ticket;
    this.trace = trace;
  }

  cancelled(): boolean {
    return this.#listener.isCancelled(slotOf(this.ticket));
  }

  onSite(): void {
    // Only rows of batches are told where they wait.
  }

  onChecked(found: EngineResult): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#listener.onAnswered(this, found);
  }

  onError(error: unknown): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#listener.onFailed(this, error);
  }
}

/** What can cross to another thread, whatever else hangs on it. */
function plainError(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const plain = new Error(error.message);
  if (error.stack !== undefined) plain.stack = error.stack;
  return plain;
}

export function isOverload(error: unknown): boolean {
  return error instanceof AppError && error.code === "overloaded";
}
