import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { Board } from "./board.ts";
import type { CheckCaller, Checked } from "./caller.ts";
import { type CheckTimes, CheckTrace } from "./check-times.ts";
import type { CheckEngine } from "./engine.ts";
import type { Scope } from "./evidence.ts";
import { LinePacker } from "./evidence-codec.ts";
import {
  type Answers,
  SCOPE_LETTERS,
  type SingleLine,
  type SinglesTask,
  slotOf,
  TRACED_LETTERS,
} from "./thread.ts";

export interface SinglesRunnerDeps {
  engine: CheckEngine;
  board: Pick<Board, "isCancelled" | "noteBegun">;
  /** Brings answers to the main thread while no task ends. */
  post(answers: Answers): void;
  /** Runs it when this turn of the event loop has brought what it brings. */
  afterTurn(callback: () => void): void;
  /** Of checks that are traced. */
  clock: Pick<Clock, "monotonic">;
  /** `processMs`. */
  now(): number;
}

/** Runs the checks of requests. Never rejects. */
export type SinglesRunner = (task: SinglesTask) => Answers | Promise<Answers | null>;

/** A task that waits for some of its checks. */
interface Open {
  left: number;
  /** Its checks are being begun: what is known at once goes back with the task, if it is all. */
  isBeginning: boolean;
  resolve(answers: Answers | null): void;
}

/** Answers that are known and not yet on their way. */
class Outbox {
  #tickets: number[] = [];
  #errors: Error[] = [];
  #times: CheckTimes[] | null = null;
  readonly #packer = new LinePacker();

  get isEmpty(): boolean {
    return this.#packer.count === 0;
  }

  add(ticket: number, line: SingleLine | "busy"): void {
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

  take(postedMs: number): Answers {
    const answers: Answers = {
      tickets: this.#tickets,
      lines: this.#packer.take(),
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
export function createSinglesRunner({
  engine,
  board,
  post,
  afterTurn,
  clock,
  now,
}: SinglesRunnerDeps): SinglesRunner {
  const outbox = new Outbox();
  const ended: Open[] = [];
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

  function settled({ task, ticket, trace }: Single): void {
    if (trace !== null) outbox.addTimes(trace.end(ticket));
    task.left -= 1;
    if (task.isBeginning) return;
    if (task.left === 0) ended.push(task);
    flushSoon();
  }

  function answered(check: Single, line: SingleLine | "busy"): void {
    outbox.add(check.ticket, line);
    settled(check);
  }

  function failed(check: Single, error: unknown): void {
    outbox.addFailure(check.ticket, error);
    settled(check);
  }

  function begin(task: Open, ticket: number, text: string): void {
    const letter = text.charAt(0);
    const isTraced = letter === TRACED_LETTERS.probed || letter === TRACED_LETTERS.unprobed;
    const isProbed = letter === SCOPE_LETTERS.probed || letter === TRACED_LETTERS.probed;
    const scope: Scope = isProbed ? "probed" : "unprobed";
    const check = new Single(tower, { task, ticket }, isTraced ? new CheckTrace(clock) : null);
    try {
      engine.ask(text.slice(1), scope, check);
    } catch (error) {
      check.broke(error);
    }
  }

  const tower: Tower = { isCancelled: (slot) => board.isCancelled(slot), answered, failed };

  return ({ addresses, tickets, postedMs }) => {
    board.noteBegun(tickets.length, now() - postedMs);
    const texts = addresses.split("\n");
    const task: Open = { left: texts.length, isBeginning: true, resolve: () => {} };
    for (let i = 0; i < texts.length; i++) begin(task, tickets[i] ?? 0, texts[i] ?? "");
    task.isBeginning = false;
    // What others left there goes along.
    if (task.left === 0) return outbox.take(now());
    // What was known at once goes with what is known soon.
    if (!outbox.isEmpty) flushSoon();
    return new Promise((resolve) => {
      task.resolve = resolve;
    });
  };
}

/** What checks tell. */
interface Tower {
  isCancelled(slot: number): boolean;
  answered(check: Single, line: SingleLine | "busy"): void;
  failed(check: Single, error: unknown): void;
}

/** One check: the engine's caller, without a promise or a closure of its own. */
class Single implements CheckCaller {
  readonly mode = "single";
  readonly task: Open;
  readonly ticket: number;
  readonly trace: CheckTrace | null;
  readonly #tower: Tower;
  #isAnswered = false;

  constructor(tower: Tower, { task, ticket }: { task: Open; ticket: number }, trace: CheckTrace | null) {
    this.#tower = tower;
    this.task = task;
    this.ticket = ticket;
    this.trace = trace;
  }

  cancelled(): boolean {
    return this.#tower.isCancelled(slotOf(this.ticket));
  }

  onSite(): void {
    // Only rows of batches are told where they wait.
  }

  checked(found: Checked): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#tower.answered(this, found);
  }

  broke(error: unknown): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#tower.failed(this, error);
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
