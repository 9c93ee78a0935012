import { setMaxListeners } from "node:events";
import type { PendingBatch } from "../../../engine/threads/pool.ts";
import type { Deferred } from "../../../engine/threads/thread-tasks.ts";
import type { ParsedAddress } from "../../../verification/address/address.ts";
import type { AddressQuestion } from "../answer/address-question.ts";
import type { EvidenceFinding } from "../answer/evidence-finding.ts";
import type { BatchCacheLookup } from "../cache/evidence-lookup.ts";

/** The result of a question: a finding, or the reason why there is none yet, with the site ("" if unknown). */
export type BatchAnswer =
  | { finding: EvidenceFinding; deferred?: undefined }
  | { finding?: undefined; deferred: Deferred };

/** A question that has to be asked. */
export interface AskedRow extends BatchCacheLookup {
  /** Index among the questions. */
  at: number;
  address: ParsedAddress;
  question: AddressQuestion;
}

const UNFINISHED: BatchAnswer = { deferred: { site: "", cause: "unfinished" } };

/** The state of one run: the answers so far, the checks under way, and whether it was halted. */
export class BatchWork {
  readonly #answers: (BatchAnswer | undefined)[];
  #unanswered: number;
  /** Batches under way, with the number of their rows. */
  readonly #running = new Map<PendingBatch, number>();
  readonly #halt = new AbortController();
  #cancelled = false;

  constructor(questions: number) {
    this.#answers = new Array(questions);
    this.#unanswered = questions;
    // One for each of its batches that waits, and no leak.
    setMaxListeners(0, this.#halt.signal);
  }

  /** Aborted when the run was handed in or cancelled. */
  get halted(): AbortSignal {
    return this.#halt.signal;
  }

  get left(): number {
    let left = this.#unanswered;
    for (const [batch, rows] of this.#running) left -= rows - batch.remaining;
    return left;
  }

  stopWaiting(): void {
    for (const batch of this.#running.keys()) batch.finishEarly();
    this.#halt.abort();
  }

  cancel(): void {
    this.#cancelled = true;
    for (const batch of this.#running.keys()) batch.cancel();
    this.#halt.abort();
  }

  /** Cancelling or ending the run also affects `batch`, until it leaves. */
  join(batch: PendingBatch, rows: number): void {
    this.#running.set(batch, rows);
    if (this.#cancelled) batch.cancel();
    else if (this.#halt.signal.aborted) batch.finishEarly();
  }

  leave(batch: PendingBatch): void {
    this.#running.delete(batch);
  }

  /** Once for each question. */
  answer(at: number, answer: BatchAnswer): void {
    this.#answers[at] = answer;
    this.#unanswered -= 1;
  }

  /** A question without an answer is `unfinished`. */
  answers(): BatchAnswer[] {
    return Array.from(this.#answers, (answer) => answer ?? UNFINISHED);
  }
}
