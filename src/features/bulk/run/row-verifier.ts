import { LIMITS } from "../../../config/limits/limits.ts";
import { type Clock, msToNextInterval, type Timer } from "../../../platform/time/clock.ts";
import { probedSiteOf, type SiteDirectory } from "../../../verification/lists/site.ts";
import { type Decision, isUncharged } from "../../../verification/verdict/verdict.ts";
import type { AddressQuestion } from "../../verify/answer/address-question.ts";
import type { EvidenceFinding } from "../../verify/answer/evidence-finding.ts";
import type { Examiner, VerificationAsker } from "../../verify/answer/examine.ts";
import type { TestKeys } from "../../verify/answer/test-keys.ts";
import type { VerificationResult } from "../../verify/answer/verification-result.ts";
import { cutByDomain } from "../../verify/batch/batch-cut.ts";
import type { BatchAnswer, BatchExaminer, BatchRun } from "../../verify/batch/examine-batch.ts";
import type { RowFiller } from "../../verify/batch/fill-rows.ts";
import type { CacheEntry } from "../../verify/cache/cache-entry.ts";
import type { TemplatedRows } from "../results/templated-rows.ts";
import { type Control, Interruption } from "./control.ts";
import { type DeferralReason, deferrable, wasDeferred } from "./deferrable.ts";
import { createRowAdmission, type RowAdmission } from "./row-admission.ts";
import type { HeldRowSlots } from "./row-slots.ts";

/** The result of a row, and whether it costs a unit. */
export interface VerifiedRow {
  readonly result: VerificationResult;
  readonly charged: boolean;
}

/** `busy`: no connection to its site was free, or there was no answer in the task's time. */
export type WaitReason = DeferralReason | "busy";

/** The reason why a row should be retried later. */
export interface RowWait {
  reason: WaitReason;
  /** '': not known yet. */
  site: string;
  /** Delay that the server named, in milliseconds; null: it named none. */
  retryAfterMs: number | null;
  /** No server was asked: the site blocks us until its next trial or until it accepts us, or our network is down. */
  parked: boolean;
  /** Bound of all its waiting, where the usual one is too long. */
  patienceMs?: number;
  /** The row's answer once it may wait no longer. */
  last(): VerifiedRow;
}

export type RowAnswer = { verified: VerifiedRow; wait?: undefined } | { verified?: undefined; wait: RowWait };

/** A row of a task with an address of its own: it repeats no other. */
export interface DistinctRow {
  /** Index in the chunk, from 0. */
  offset: number;
  /** The text of its cell, from which the address is read. */
  email: string;
}

/** A row of a chunk, and its answer. */
export interface RowWithAnswer {
  offset: number;
  answer: RowAnswer;
}

/** A row that has to be verified. */
export interface RowQuestion {
  offset: number;
  question: AddressQuestion;
}

/** Options for verifying the rows of a task. */
export interface RowsVerifyOptions {
  asker: VerificationAsker;
  livemode: boolean;
  withEvidence: boolean;
}

/**
 * How long the task waits for rows. Rows of a chunk leave a busy site at once and wait in a retry, where no other rows wait
 * behind them. Rows of a retry wait for their site, and ask a server again that deferred them. All of them have `site` in
 * common ('': none).
 */
export type RowWaitPolicy = { kind: "chunk" } | { kind: "retry"; site: string };

/**
 * Verifies rows as single requests are, from the same cache and by the same checks, but without the rate limit: the number of
 * rows at once in the process is bounded instead, separately for chunks and for retries.
 */
export interface RowVerifier {
  /**
   * Reads the address of each row, and answers the rows of a chunk that need no look-up or are in memory: these take no slot.
   * @param templated receives them
   * @returns the other rows, in order, for `verify`
   */
  answerReady(
    rows: Iterable<DistinctRow>,
    ask: RowsVerifyOptions,
    policy: RowWaitPolicy,
    templated: TemplatedRows,
  ): RowQuestion[];
  /**
   * Verifies the rows that `answerReady` returned.
   * @param templated receives the rows whose results a template can be filled for
   * @param observer receives the finding of each row, but of no row of a test job; null: not wanted
   * @returns the other rows, in no particular order
   * @throws Interruption when the task was cancelled
   */
  verify(
    rows: readonly RowQuestion[],
    ask: RowsVerifyOptions,
    policy: RowWaitPolicy,
    control: Control,
    templated: TemplatedRows,
    observer?: AnswerObserver | null,
  ): Promise<RowWithAnswer[]>;
  /** Answers without asking any mail server: `unknown`, `internal_error`, free of charge. */
  giveUp(email: string, ask: RowsVerifyOptions): VerifiedRow;
}

export interface AnswerObserver {
  /** @param domain of the row, "" for a row without one */
  onAnswer(answer: BatchAnswer, domain: string): void;
}

export interface RowVerifierDeps {
  clock: Clock;
  examiner: Pick<Examiner, "understand" | "answer">;
  batches: BatchExaminer;
  filler: Pick<RowFiller, "fill">;
  testKeys: Pick<TestKeys, "answer">;
  sites: Pick<SiteDirectory, "siteOf">;
  /** Number of rows that keep a site's connections busy, at least 1: more rows of a retry would only queue there. */
  roomAt(site: string): number;
}

const INTERNAL_ERROR: EvidenceFinding = { entry: null, cached: false, failure: "internal_error" };
const DEADLINE_PASSED: EvidenceFinding = { entry: null, cached: false, failure: "deadline" };

/**
 * Cuts the rows of a chunk into pieces, which take their slots separately. A chunk that waited for slots for all of its
 * rows would hold idle slots for rows that leave a busy site at once. The rows of a retry have one site and stay together.
 */
function cutIntoPieces(rows: readonly RowQuestion[], policy: RowWaitPolicy): (readonly RowQuestion[])[] {
  if (policy.kind === "retry") return [rows];
  const { pieceRows, largePieceRows, chunkRowsAtOnce } = LIMITS.bulk;
  const placed = rows.map((row) => {
    const { address, scope } = row.question;
    return { row, scope, address: { domain: address?.domain ?? "" } };
  });
  const cut = cutByDomain(placed, placed.length > chunkRowsAtOnce ? largePieceRows : pieceRows);
  return cut.map((piece) => piece.map(({ row }) => row));
}

/**
 * Watches rows in progress. It gives back the slots of answered rows, and ends the others when their time is over. The time
 * of the last few rows of a chunk's piece is short, since the rows of whole chunks wait behind them.
 */
function watchRun(
  clock: Clock,
  run: BatchRun,
  rows: number,
  policy: RowWaitPolicy,
  held: readonly HeldRowSlots[],
): Timer {
  const { chunkBudgetMs, rowDeadlineMs, restMs, restShare } = LIMITS.bulk;
  const isChunk = policy.kind === "chunk";
  const everyMs = LIMITS.bulk.watchEveryMs[policy.kind];
  const startedMs = clock.monotonic();
  let dueMs = startedMs + (isChunk ? chunkBudgetMs : rowDeadlineMs);
  let isRest = false;
  let timer: Timer;
  // All tasks at the same moments: sixty retries, each at its own, woke the process 120 times a second.
  const nextMs = () => msToNextInterval(clock.monotonic(), everyMs);
  function look(): void {
    const { left } = run;
    const nowMs = clock.monotonic();
    for (const slots of held) slots.shrinkTo(left);
    if (isChunk && !isRest && left <= Math.floor(rows * restShare)) {
      isRest = true;
      dueMs = Math.min(dueMs, nowMs + restMs);
    }
    if (nowMs >= dueMs) run.stopWaiting();
    timer = clock.after(nextMs(), look);
  }
  timer = clock.after(nextMs(), look);
  return { cancel: () => timer.cancel() };
}

class PooledRowVerifier implements RowVerifier {
  readonly #deps: RowVerifierDeps;
  readonly #admission: RowAdmission;

  constructor(deps: RowVerifierDeps) {
    this.#deps = deps;
    this.#admission = createRowAdmission(deps);
  }

  answerReady(
    rows: Iterable<DistinctRow>,
    { asker, livemode, withEvidence }: RowsVerifyOptions,
    policy: RowWaitPolicy,
    templated: TemplatedRows,
  ): RowQuestion[] {
    const { batches, filler, examiner } = this.#deps;
    const mayBeReady = livemode && !withEvidence && policy.kind === "chunk";
    const others: RowQuestion[] = [];
    let fromMemory = 0;
    for (const { offset, email } of rows) {
      const question = examiner.understand(email, withEvidence, asker);
      const finding = mayBeReady ? batches.ready(question) : undefined;
      const row = finding === undefined ? null : filler.fill(question, finding);
      if (row === null) others.push({ offset, question });
      else {
        if (finding?.cached) fromMemory += 1;
        templated.add(offset, row);
      }
    }
    batches.countMemoryHits(fromMemory);
    return others;
  }

  async verify(
    rows: readonly RowQuestion[],
    ask: RowsVerifyOptions,
    policy: RowWaitPolicy,
    control: Control,
    templated: TemplatedRows,
    observer: AnswerObserver | null = null,
  ): Promise<RowWithAnswer[]> {
    if (!ask.livemode) return this.#verifyTestRows(rows, ask, policy, control);
    const answers: RowWithAnswer[] = [];
    const verifyPiece = async (piece: readonly RowQuestion[]) => {
      const questions = piece.map(({ question }) => question);
      const found = await this.#examine(questions, policy, control);
      for (const [i, { offset, question }] of piece.entries()) {
        const answer = found[i] as BatchAnswer;
        observer?.onAnswer(answer, question.address?.domain ?? "");
        const row = answer.finding && this.#deps.filler.fill(question, answer.finding);
        // No row that fills a template was deferred.
        if (row) templated.add(offset, row);
        else answers.push({ offset, answer: this.#answerOf(question, answer, policy) });
      }
    };
    await Promise.all(cutIntoPieces(rows, policy).map(verifyPiece));
    requireRunning(control);
    return answers;
  }

  giveUp(email: string, { asker, withEvidence, livemode }: RowsVerifyOptions): VerifiedRow {
    const question = this.#deps.examiner.understand(email, withEvidence, asker);
    const { result } = this.#deps.examiner.answer(question, INTERNAL_ERROR);
    return { result: { ...result, livemode }, charged: false };
  }

  /** @throws Interruption, also when the task was cancelled during the call: the answers may then be cancelled ones */
  async #examine(
    questions: readonly AddressQuestion[],
    policy: RowWaitPolicy,
    control: Control,
  ): Promise<BatchAnswer[]> {
    const { batches, clock } = this.#deps;
    const waitsForSite = policy.kind === "retry";
    const refresh = waitsForSite ? ({ evidence }: CacheEntry) => wasDeferred(evidence) : () => false;
    const answers = await this.#admission.withSlots(policy, questions.length, async ({ held, atOnce }) => {
      requireRunning(control);
      const run = batches.examine(questions, { waitsForSite, atOnce, refresh }, control);
      const watching = watchRun(clock, run, questions.length, policy, held);
      try {
        return await run.done;
      } finally {
        watching.cancel();
      }
    });
    requireRunning(control);
    return answers;
  }

  async #verifyTestRows(
    rows: readonly RowQuestion[],
    { asker, withEvidence }: RowsVerifyOptions,
    policy: RowWaitPolicy,
    control: Control,
  ): Promise<RowWithAnswer[]> {
    const answer = async ({ offset, question: { email } }: RowQuestion): Promise<RowWithAnswer> => {
      const result = await this.#deps.testKeys.answer(email, withEvidence, asker);
      return { offset, answer: { verified: { result, charged: false } } };
    };
    const answers = await this.#admission.withSlots(policy, rows.length, () => Promise.all(rows.map(answer)));
    requireRunning(control);
    return answers;
  }

  #decided(question: AddressQuestion, finding: EvidenceFinding): VerifiedRow & { decision: Decision } {
    const { decision, result } = this.#deps.examiner.answer(question, finding);
    return { decision, result, charged: question.address !== null && !isUncharged(decision.reason) };
  }

  #answerOf(question: AddressQuestion, { finding, deferred }: BatchAnswer, policy: RowWaitPolicy): RowAnswer {
    if (deferred !== undefined) {
      const last = () => this.#decided(question, DEADLINE_PASSED);
      // A row whose turn never came waits where the others do.
      const site = deferred.site || (policy.kind === "retry" ? policy.site : "");
      return { wait: { reason: "busy", site, retryAfterMs: null, parked: false, last } };
    }
    const { decision, ...verified } = this.#decided(question, finding);
    const evidence = finding.entry?.evidence;
    const again = deferrable(decision, evidence ?? null);
    if (again === null || question.address === null) return { verified };
    const { reason, retryAfterS, ...rest } = again;
    const { domain } = question.address;
    const site = evidence === undefined ? domain : probedSiteOf(this.#deps.sites, evidence, domain);
    const retryAfterMs = retryAfterS === null ? null : retryAfterS * 1_000;
    return { wait: { reason, site, retryAfterMs, ...rest, last: () => verified } };
  }
}

/** @throws Interruption */
function requireRunning(control: Control): void {
  if (control.cancelled()) throw new Interruption("cancelled");
}

export function createRowVerifier(deps: RowVerifierDeps): RowVerifier {
  return new PooledRowVerifier(deps);
}
