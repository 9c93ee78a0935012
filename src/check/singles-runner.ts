import { AppError } from "../core/errors.ts";
import type { Board } from "./board.ts";
import type { CheckControl, CheckEngine } from "./engine.ts";
import type { Scope } from "./evidence.ts";
import { LinePacker } from "./evidence-codec.ts";
import { type Answers, SCOPE_LETTERS, type SingleLine, type SinglesTask } from "./thread.ts";

export interface SinglesRunnerDeps {
  engine: CheckEngine;
  board: Pick<Board, "isCancelled">;
  /** Brings answers to the main thread while no task ends. */
  post(answers: Answers): void;
  /** Runs it when this turn of the event loop has brought what it brings. */
  afterTurn(callback: () => void): void;
}

/** Runs the checks of requests. Never rejects. */
export type SinglesRunner = (task: SinglesTask) => Answers | Promise<Answers | null>;

/** A task that waits for some of its checks. */
interface Open {
  left: number;
  resolve(answers: Answers | null): void;
}

const nobodyAsks = () => {};

/** Answers that are known and not yet on their way. */
class Outbox {
  #tickets: number[] = [];
  #errors: Error[] = [];
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

  take(): Answers {
    const answers = { tickets: this.#tickets, lines: this.#packer.take(), errors: this.#errors };
    this.#tickets = [];
    this.#errors = [];
    return answers;
  }
}

/**
 * What is known at once goes back with the task. The rest is gathered turn by turn, over all tasks, and goes with a
 * task that ends or in a message of its own: so a slow check holds up nobody, and a busy thread sends few messages.
 */
export function createSinglesRunner({ engine, board, post, afterTurn }: SinglesRunnerDeps): SinglesRunner {
  const outbox = new Outbox();
  const ended: Open[] = [];
  let flushing = false;

  function flush(): void {
    flushing = false;
    const [first, ...others] = ended.splice(0);
    if (first !== undefined) first.resolve(outbox.take());
    else if (!outbox.isEmpty) post(outbox.take());
    for (const task of others) task.resolve(null);
  }

  function flushSoon(): void {
    if (flushing) return;
    flushing = true;
    afterTurn(flush);
  }

  function settled(task: Open): void {
    task.left -= 1;
    if (task.left === 0) ended.push(task);
    flushSoon();
  }

  /** @returns whether it is answered at once */
  function check(task: Open, text: string, slot: number, ticket: number): boolean {
    const scope: Scope = text.charAt(0) === SCOPE_LETTERS.probed ? "probed" : "unprobed";
    const control: CheckControl = {
      mode: "single",
      cancelled: () => board.isCancelled(slot),
      onSite: nobodyAsks,
    };
    try {
      const known = engine.check(text.slice(1), scope, control);
      if (!(known instanceof Promise)) {
        outbox.add(ticket, known);
        return true;
      }
      known.then(
        (line) => {
          outbox.add(ticket, line);
          settled(task);
        },
        (error: unknown) => {
          outbox.addFailure(ticket, error);
          settled(task);
        },
      );
      return false;
    } catch (error) {
      outbox.addFailure(ticket, error);
      return true;
    }
  }

  return ({ addresses, slots, firstTicket }) => {
    const texts = addresses.split("\n");
    const task: Open = { left: texts.length, resolve: () => {} };
    for (const [i, text] of texts.entries())
      if (check(task, text, slots[i] ?? 0, firstTicket + i)) task.left -= 1;
    // What others left there goes along.
    if (task.left === 0) return outbox.take();
    flushSoon();
    return new Promise((resolve) => {
      task.resolve = resolve;
    });
  };
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
