import { AppError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import type { CheckTimes } from "./check-times.ts";
import type { CheckWaits } from "./check-waits.ts";
import { readOutcomes } from "./evidence/outcomes.ts";
import type { Evidence, Scope } from "./evidence.ts";
import {
  type CheckAnswers,
  type CheckOutcome,
  SCOPE_LETTERS,
  type SingleChecksTask,
  slotOf,
  TRACED_LETTERS,
  ticketOf,
} from "./thread-tasks.ts";

/** A check on its way. */
export interface PendingCheck {
  /** The evidence, or null when it was cancelled before it knew. Rejects when the check itself broke. */
  evidence: Promise<Evidence | null>;
  /** Nobody waits any more: what has not begun is left, what runs ends at its next step. */
  cancel(): void;
}

/** Who asks for a check. Told one of the two, once, and not within the call that asked. */
export interface CheckListener {
  /** Its thread is to tell how it went; absent: not. */
  readonly isTraced?: boolean;
  /** Told before the answer, of one that is traced. */
  onTimes?(times: CheckTimes): void;
  /** The evidence, or null when it was cancelled before it knew. */
  onEvidence(evidence: Evidence | null): void;
  /** The check itself broke, or there was no room for it. */
  onError(error: unknown): void;
}

/**
 * The main thread's end of the checks of requests. A task of Piscina's costs 34 us, there and back, whatever is in it: so
 * the checks that begin in one turn of the event loop are one task, and each is answered by itself.
 */
export interface SingleChecks {
  /** @param slot its cells on the board, begun */
  check(address: string, scope: Scope, slot: number): PendingCheck;
  /** The same for who has an object of its own to be told, and needs no promise. */
  submit(address: string, scope: Scope, slot: number, asker: CheckListener): Pick<PendingCheck, "cancel">;
  /** What a task ended with, or a thread told meanwhile. Of checks that nobody knows any more it says nothing. */
  receive(answers: CheckAnswers): void;
  /** The pool is closed: whoever waits is answered null. */
  close(): void;
  /** Checks without an answer. */
  readonly size: number;
}

export interface SingleChecksDeps {
  /** Resolves when all of its checks are answered, see `receive`; rejects when its thread is gone. */
  run(task: SingleChecksTask): Promise<CheckAnswers | null>;
  cancel(slot: number): void;
  /** The slot may be another check's. */
  onSlotFree(slot: number): void;
  /** Runs it when this turn of the event loop has brought what it brings. */
  afterTick(callback: () => void): void;
  /** `processMonotonicMs`. */
  now(): number;
  waits: Pick<CheckWaits, "onSent" | "onReceived" | "onThreadLost">;
}

/** A check without an answer. One object for all that it needs to be. */
class UnansweredCheck {
  readonly ticket: number;
  readonly slot: number;
  readonly listener: CheckListener;
  readonly #cancel: (slot: number) => void;
  /** From then on the slot may be another's. */
  answered = false;

  constructor(ticket: number, asker: CheckListener, cancel: (slot: number) => void) {
    this.ticket = ticket;
    this.slot = slotOf(ticket);
    this.listener = asker;
    this.#cancel = cancel;
  }

  cancel(): void {
    if (!this.answered) this.#cancel(this.slot);
  }
}

export function createSingleChecks(deps: SingleChecksDeps): SingleChecks {
  /** By slot. Not by ticket: see docs/decisions/v8-costs.md on Maps. */
  const waiting: (UnansweredCheck | undefined)[] = [];
  let size = 0;
  let asked = 0;
  /** What the next task takes along. */
  let addresses: string[] = [];
  let tickets: number[] = [];
  /** When the first of these was asked for. */
  let askedMs = 0;
  let closed = false;

  function known(ticket: number): UnansweredCheck | null {
    const check = waiting[slotOf(ticket)];
    return check?.ticket === ticket ? check : null;
  }

  /** @returns null when it has been answered before */
  function take(ticket: number): UnansweredCheck | null {
    const check = known(ticket);
    if (check === null) return null;
    waiting[check.slot] = undefined;
    size -= 1;
    check.answered = true;
    deps.onSlotFree(check.slot);
    return check;
  }

  function receive({ tickets, outcomes: lines, errors, times, postedMs }: CheckAnswers): void {
    if (tickets.length > 0) deps.waits.onReceived(tickets.length, deps.now() - postedMs);
    if (times !== undefined) for (const one of times) known(one.ticket)?.listener.onTimes?.(one);
    let broken = 0;
    const read = readOutcomes(lines);
    for (let i = 0; i < read.length; i++) {
      const line = read[i] ?? null;
      const error = line === "broken" ? errors[broken++] : undefined;
      const check = take(tickets[i] ?? -1);
      if (check !== null) answer(check, line, error);
    }
  }

  async function run(task: SingleChecksTask): Promise<void> {
    try {
      const answers = await deps.run(task);
      if (answers !== null) receive(answers);
    } catch (error) {
      deps.waits.onThreadLost();
      for (const ticket of task.tickets) take(ticket)?.listener.onError(error);
    }
  }

  function send(): void {
    if (tickets.length === 0 || closed) return;
    const postedMs = deps.now();
    const task: SingleChecksTask = {
      mode: "single",
      addresses: addresses.join("\n"),
      tickets,
      postedMs,
    };
    deps.waits.onSent(tickets.length, postedMs - askedMs);
    addresses = [];
    tickets = [];
    void run(task);
  }

  function ask(address: string, scope: Scope, slot: number, asker: CheckListener): UnansweredCheck {
    const ticket = ticketOf(asked++, slot);
    const check = new UnansweredCheck(ticket, asker, deps.cancel);
    if (tickets.length === 0) askedMs = deps.now();
    waiting[slot] = check;
    size += 1;
    addresses.push((asker.isTraced === true ? TRACED_LETTERS : SCOPE_LETTERS)[scope] + address);
    tickets.push(ticket);
    if (tickets.length === 1) deps.afterTick(send);
    else if (tickets.length === LIMITS.check.singlesPerTask) send();
    return check;
  }

  return {
    submit: ask,
    check(address, scope, slot) {
      let cancel = () => {};
      const evidence = new Promise<Evidence | null>((learnt, broke) => {
        const check = ask(address, scope, slot, { onEvidence: learnt, onError: broke });
        cancel = () => check.cancel();
      });
      return { evidence, cancel };
    },
    receive,
    close() {
      closed = true;
      for (const check of [...waiting])
        if (check !== undefined) take(check.ticket)?.listener.onEvidence(null);
    },
    get size() {
      return size;
    },
  };
}

function answer({ listener: asker }: UnansweredCheck, line: CheckOutcome, error: Error | undefined): void {
  if (line === "overloaded") asker.onError(tooManyChecks());
  else if (line === "broken") asker.onError(error ?? new Error("a check broke"));
  else if (line !== null && "deferred" in line) asker.onError(new Error("a check of a request was deferred"));
  else asker.onEvidence(line);
}

export function tooManyChecks(): AppError {
  return new AppError("overloaded", "Too many checks are under way.", { retryAfterS: 1 });
}
