import { LIMITS } from "../../../config/limits/limits.ts";
import type { CheckPool } from "../../../engine/threads/pool.ts";
import type { Logger } from "../../../platform/log.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { RequestedSignals } from "../../../verification/evidence.ts";
import type { AddressQuestion } from "../answer/address-question.ts";
import type { EvidenceFinding } from "../answer/evidence-finding.ts";
import { answerWithoutLookup, type NoLookupDeps, needsLookup } from "../answer/examine.ts";
import type { CacheEntry } from "../cache/cache-entry.ts";
import type { EvidenceCache } from "../cache/evidence-cache.ts";
import type { InFlightChecksDeps, VerificationWaiter } from "../checks/in-flight-checks.ts";
import { type BatchChecks, createBatchChecks } from "./batch-checks.ts";
import { cutByDomain } from "./batch-cut.ts";
import { type AskedRow, type BatchAnswer, BatchWork } from "./batch-work.ts";
import { createDisposableRows, type DisposableRows } from "./disposable-rows.ts";

export type { BatchAnswer } from "./batch-work.ts";

export interface BatchOptions {
  /** Do not be content with this entry of the cache. */
  refresh(entry: CacheEntry): boolean;
  /** Stand in line at a busy site, until handed in, instead of leaving it at once. */
  waitsForSite: boolean;
  /** Questions that are put to the check pool at once, at least 1; absent: all. The others follow in order, by the same thread's sessions. */
  atOnce?: number;
}

/** Questions under way. */
export interface BatchRun {
  /**
   * One answer for each question, in order. Never rejects. Questions interrupted by a cancellation or the end of the pool
   * are `unfinished`.
   */
  readonly done: Promise<BatchAnswer[]>;
  /** Questions without an answer at present. */
  readonly left: number;
  /** Ends the waiting: `done` resolves soon with what is known, all else is `unfinished`. Idempotent. */
  stopWaiting(): void;
}

/**
 * Examines many addresses at once, as the rows of a chunk are, each of which stands in it once. The cache is asked in one
 * round trip, and addresses that are not in it go through the check pool many at a time. How many rows are under way at
 * once is its caller's to bound, by `left`; rows that the pool has no room for are asked again until it has.
 *
 * There is no single flight as for requests: a job asks about an address once, and the few that two jobs ask about in the
 * same moment cost a probe each, where a table of millions of flights would cost every row.
 */
export interface BatchExaminer {
  /**
   * What is found of a question at once: no server need be asked, or the last check of its throw-away domain says it, or
   * memory has it; undefined: it has to be examined, and `examine` asks memory no more. A caller that uses what memory had
   * calls `countMemoryHits`.
   */
  ready(question: AddressQuestion): EvidenceFinding | undefined;
  /** Counts questions that were answered from memory. */
  countMemoryHits(fromMemory: number): void;
  examine(
    questions: readonly AddressQuestion[],
    options: BatchOptions,
    control: Pick<VerificationWaiter, "cancelled" | "onCancel">,
  ): BatchRun;
}

export interface BatchExaminerDeps extends NoLookupDeps {
  clock: Clock;
  log: Logger;
  cache: Pick<EvidenceCache, "peek" | "fetchMany" | "storeMany">;
  pool: Pick<CheckPool, "checkBatch">;
  keep: InFlightChecksDeps["keep"];
  /** Signals that the check threads request. */
  signals: RequestedSignals;
  /** Called with the results of looks into the cache's memory, `count` of them alike. */
  onLookup(result: "memory" | "miss", count: number): void;
}

class PooledBatchExaminer implements BatchExaminer {
  readonly #deps: BatchExaminerDeps;
  readonly #disposables: DisposableRows;
  readonly #checks: BatchChecks;

  constructor(deps: BatchExaminerDeps) {
    this.#deps = deps;
    this.#disposables = createDisposableRows(deps);
    this.#checks = createBatchChecks({ ...deps, disposables: this.#disposables });
  }

  ready(question: AddressQuestion): EvidenceFinding | undefined {
    if (!needsLookup(question)) return answerWithoutLookup(this.#deps, question);
    const found = this.#disposables.find(question);
    if (found !== undefined || question.isMemoryMiss) return found;
    const entry = this.#deps.cache.peek(question.scope, question.address.cacheKey);
    if (entry !== undefined) return { entry, cached: true };
    question.isMemoryMiss = true;
    return undefined;
  }

  countMemoryHits(fromMemory: number): void {
    if (fromMemory > 0) this.#deps.onLookup("memory", fromMemory);
  }

  examine(
    questions: readonly AddressQuestion[],
    options: BatchOptions,
    control: Pick<VerificationWaiter, "cancelled" | "onCancel">,
  ): BatchRun {
    const work = new BatchWork(questions.length);
    control.onCancel(() => work.cancel());
    const done = this.#run(work, questions, options).then(
      () => work.answers(),
      (error: unknown) => {
        this.#deps.log.error({ err: error }, "a batch could not be examined");
        return work.answers();
      },
    );
    return {
      done,
      get left() {
        return work.left;
      },
      stopWaiting: () => work.stopWaiting(),
    };
  }

  /** Answers questions that need no server; @returns the rest */
  #look(work: BatchWork, questions: readonly AddressQuestion[], options: BatchOptions): AskedRow[] {
    const asked: AskedRow[] = [];
    let known = 0;
    for (const [at, question] of questions.entries()) {
      if (!needsLookup(question)) {
        work.answer(at, { finding: answerWithoutLookup(this.#deps, question) });
        continue;
      }
      const { address, scope } = question;
      const { cacheKey } = address;
      const row: AskedRow = { at, address, scope, cacheKey, redisKey: undefined, question };
      // A look into the memory of a long list is 0.7 us: its Map is far larger than what the core has at hand.
      const entry = question.isMemoryMiss ? undefined : this.#remembered(row, options);
      if (entry === undefined) asked.push(row);
      else {
        known += 1;
        work.answer(at, { finding: { entry, cached: true } });
      }
    }
    if (known > 0) this.#deps.onLookup("memory", known);
    if (asked.length > 0) this.#deps.onLookup("miss", asked.length);
    return asked;
  }

  #remembered({ scope, cacheKey }: AskedRow, { refresh }: BatchOptions): CacheEntry | undefined {
    const entry = this.#deps.cache.peek(scope, cacheKey);
    return entry !== undefined && !refresh(entry) ? entry : undefined;
  }

  /** Those that other processes know are answered; @returns the rest */
  async #fetch(work: BatchWork, rows: readonly AskedRow[], { refresh }: BatchOptions): Promise<AskedRow[]> {
    const entries = rows.length === 0 ? [] : await this.#deps.cache.fetchMany(rows);
    const unknown: AskedRow[] = [];
    for (const [i, row] of rows.entries()) {
      const entry = entries[i];
      if (entry === undefined || refresh(entry)) unknown.push(row);
      else work.answer(row.at, { finding: { entry, cached: true } });
    }
    return unknown;
  }

  /** Rows that no cache knows go to check threads. */
  async #send(work: BatchWork, unknown: readonly AskedRow[], options: BatchOptions): Promise<void> {
    const { waitsForSite: patient, atOnce = unknown.length } = options;
    const mode = patient ? "patient" : "bulk";
    if (atOnce >= unknown.length) {
      const cuts = cutByDomain(unknown, LIMITS.bulk.batchRows);
      await Promise.all(cuts.map((rows) => this.#checks.check(work, rows, { mode, atOnce: rows.length })));
      return;
    }
    // Each is with a thread in one piece, where one row follows another without a word between threads.
    for (const rows of cutByDomain(unknown, LIMITS.check.batchAddresses)) {
      if (work.halted.aborted) return;
      await this.#checks.check(work, rows, { mode, atOnce });
    }
  }

  async #run(work: BatchWork, questions: readonly AddressQuestion[], options: BatchOptions): Promise<void> {
    const asked = this.#look(work, questions, options);
    await this.#send(work, await this.#fetch(work, asked, options), options);
  }
}

export function createBatchExaminer(deps: BatchExaminerDeps): BatchExaminer {
  return new PooledBatchExaminer(deps);
}
