import { DomainsByBytes } from "../check/address/domain-bytes.ts";
import { probedSiteOf, type SiteDirectory } from "../check/site.ts";
import { isUncharged } from "../check/verdict/verdict.ts";
import { type Clock, msToNextInterval, type Timer } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { DrawnRows } from "../services/bulk/drawn-rows.ts";
import type { AddressQuestion } from "../services/verify/address-question.ts";
import { cutByDomain } from "../services/verify/batch-cut.ts";
import { type DeferralReason, deferrable, wasDeferred } from "../services/verify/deferrable.ts";
import { type DrawnRow, drawnResultOf } from "../services/verify/draw-rows.ts";
import type { EvidenceFinding } from "../services/verify/evidence-finding.ts";
import type { Examiner, VerificationAsker } from "../services/verify/examine.ts";
import type { BatchAnswer, BatchExaminer, BatchRun } from "../services/verify/examine-batch.ts";
import type { TestKeys } from "../services/verify/test-keys.ts";
import type { VerificationResult } from "../services/verify/verification-result.ts";
import type { CacheEntry } from "../store/cache-entry.ts";
import { type Control, Interruption } from "./control.ts";
import { ReadyRows, type ReadyRowsDeps } from "./ready-rows.ts";
import { createRowAdmission, type SlotGrant } from "./row-admission.ts";
import { createOutcomesLookup } from "./row-outcomes.ts";
import type { HeldRowSlots } from "./row-slots.ts";

/** What a row came to, and whether it costs a unit. */
export interface VerifiedRow {
  readonly result: VerificationResult;
  readonly charged: boolean;
  /** The result as texts, where it was drawn as such: the result itself is then made of them each time it is asked for. */
  readonly drawn?: DrawnRow;
}

class DrawnVerifiedRow implements VerifiedRow {
  readonly drawn: DrawnRow;

  constructor(drawn: DrawnRow) {
    this.drawn = drawn;
  }

  get result(): VerificationResult {
    return drawnResultOf(this.drawn);
  }

  get charged(): boolean {
    return this.drawn.template.charged;
  }
}

/** `busy`: its site had no connection left for it, or it was not answered in the task's time. */
export type WaitReason = DeferralReason | "busy";

/** Why a row should be asked about again later. */
export interface RowWait {
  reason: WaitReason;
  /** '': not known yet. */
  site: string;
  /** The server asked us to wait so long; null: nobody said. */
  retryAfterMs: number | null;
  /** Nobody was asked: the site blocks us, until its next trial or until it lets us in; or nothing leaves from here. */
  parked: boolean;
  /** Bound of all its waiting, where the usual one is too long. */
  patienceMs?: number;
  /** What it is answered with when it waits no longer. */
  last(): VerifiedRow;
}

export type RowAnswer = { verified: VerifiedRow; wait?: undefined } | { verified?: undefined; wait: RowWait };

/** How the rows of a task are asked about. */
export interface RowsVerifyOptions {
  asker: VerificationAsker;
  livemode: boolean;
  withEvidence: boolean;
}

/**
 * How long rows are waited for. Those of a chunk leave a busy site at once and wait in a retry, where nobody waits behind
 * them; those of a retry wait for their site, ask anew who put them off, and have `site` in common ('': none).
 */
export type RowWaitPolicy = { kind: "chunk" } | { kind: "retry"; site: string };

/**
 * Verifies rows as single requests are, from the same cache and by the same checks, without the rate limit: bounded
 * instead by the rows at once in the process, those of chunks and those of retries each for themselves.
 */
export interface RowVerifier {
  /**
   * One answer an address, in order.
   * @throws Interruption when the task was cancelled
   */
  verify(
    emails: readonly string[],
    ask: RowsVerifyOptions,
    policy: RowWaitPolicy,
    control: Control,
    /** Is shown what was found of each; null, absent: nobody wants to know. */
    observer?: AnswerObserver | null,
    /** Of the addresses, where they were read before. */
    questions?: readonly AddressQuestion[] | undefined,
  ): Promise<RowAnswer[]>;
  /**
   * Draws rows whose answers are at hand: as `verify` would answer them as rows of a chunk, without places, since none of them
   * waits. A list that was verified lately has nearly nothing else; by all of `verify` a row of it costs twice as much.
   * @param drawn gets them
   * @returns null: there are none among rows that are asked about so
   */
  drawReady(ask: RowsVerifyOptions, drawn: DrawnRows): ReadyRows | null;
  /** The same without asking anybody: `unknown`, `internal_error`, free. */
  giveUp(emails: readonly string[], ask: RowsVerifyOptions): VerifiedRow[];
}

export interface AnswerObserver {
  /** @param domain of the row, "" where it has none */
  onAnswer(answer: BatchAnswer, domain: string): void;
}

export interface RowVerifierDeps {
  clock: Clock;
  examiner: Pick<Examiner, "understand" | "draw" | "standing">;
  batches: BatchExaminer;
  /** Absent: each result is made for itself. */
  drawing?: Pick<ReadyRowsDeps, "drawer" | "mayBeRole"> & {
    /** See `PromotedDisposables.version`. */
    promotedAsOf(): number;
  };
  testKeys: Pick<TestKeys, "answer">;
  sites: Pick<SiteDirectory, "siteOf">;
  /** Rows that keep a site's connections busy, at least 1: more of a retry at once would only stand in line there. */
  roomAt(site: string): number;
}

const INTERNAL_ERROR: EvidenceFinding = { entry: null, cached: false, failure: "internal_error" };
const DEADLINE_PASSED: EvidenceFinding = { entry: null, cached: false, failure: "deadline" };

/** A question, and where it stands among those of its task. */
interface PlacedQuestion {
  question: AddressQuestion;
  at: number;
}

/**
 * The rows of a chunk take their places in pieces: who waited for room for all of them would leave the room of those idle
 * that are put off at once. The rows of a retry are all of one kind, and stay together.
 */
function cutIntoPieces(questions: readonly AddressQuestion[], policy: RowWaitPolicy): PlacedQuestion[][] {
  const placed = questions.map((question, at) => {
    const { address, scope } = question;
    return { question, at, scope, address: { domain: address?.domain ?? "" } };
  });
  if (policy.kind === "retry") return [placed];
  const { pieceRows, largePieceRows, chunkRowsAtOnce } = LIMITS.bulk;
  return cutByDomain(placed, placed.length > chunkRowsAtOnce ? largePieceRows : pieceRows);
}

/**
 * Watches rows under way: places of those that are answered are given back, and what is left is handed in when its time is
 * over; that of the small rest of a chunk's piece is short, since the rows of whole chunks wait behind it.
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
    for (const places of held) places.shrinkTo(left);
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

/** null: each result is made for itself. */
function createReadyRows({ drawing, examiner, batches }: RowVerifierDeps) {
  if (drawing === undefined) return null;
  const domains = new DomainsByBytes();
  const parts = { examiner, batches, domains, ...drawing };
  const outcomesOf = createOutcomesLookup(domains, examiner, drawing.promotedAsOf);
  return (asker: VerificationAsker, drawn: DrawnRows) =>
    new ReadyRows(parts, asker, drawn, outcomesOf(asker));
}

export function createRowVerifier(deps: RowVerifierDeps): RowVerifier {
  const { clock, examiner } = deps;
  const admission = createRowAdmission(deps);
  const readyRows = createReadyRows(deps);

  function drawn(question: AddressQuestion, finding: EvidenceFinding) {
    const { decision, result } = examiner.draw(question, finding);
    return {
      decision,
      verified: { result, charged: question.address !== null && !isUncharged(decision.reason) },
    };
  }

  function answerOf(question: AddressQuestion, answer: BatchAnswer, policy: RowWaitPolicy): RowAnswer {
    if (answer.deferred !== undefined) {
      const last = () => drawn(question, DEADLINE_PASSED).verified;
      // A row whose turn never came waits where the others do.
      const site = answer.deferred.site || (policy.kind === "retry" ? policy.site : "");
      return { wait: { reason: "busy", site, retryAfterMs: null, parked: false, last } };
    }
    const { finding } = answer;
    const row = deps.drawing?.drawer.draw(question, finding);
    // Nobody whose result is drawn as texts was put off.
    if (row) return { verified: new DrawnVerifiedRow(row) };
    const { decision, verified } = drawn(question, finding);
    const again = deferrable(decision, finding.entry?.evidence ?? null);
    if (again === null || question.address === null) return { verified };
    const { reason, retryAfterS, ...rest } = again;
    const { domain } = question.address;
    const evidence = finding.entry?.evidence;
    const site = evidence === undefined ? domain : probedSiteOf(deps.sites, evidence, domain);
    const retryAfterMs = retryAfterS === null ? null : retryAfterS * 1_000;
    return { wait: { reason, site, retryAfterMs, ...rest, last: () => verified } };
  }

  async function examine(
    questions: readonly AddressQuestion[],
    policy: RowWaitPolicy,
    control: Control,
    { held, atOnce }: SlotGrant,
  ): Promise<BatchAnswer[]> {
    if (control.cancelled()) throw new Interruption("cancelled");
    const waitsForSite = policy.kind === "retry";
    const options = {
      waitsForSite,
      atOnce,
      refresh: waitsForSite ? ({ evidence }: CacheEntry) => wasDeferred(evidence) : () => false,
    };
    const run = deps.batches.examine(questions, options, control);
    const watching = watchRun(clock, run, questions.length, policy, held);
    try {
      return await run.done;
    } finally {
      watching.cancel();
    }
  }

  async function verifyTestRows(
    emails: readonly string[],
    ask: RowsVerifyOptions,
    policy: RowWaitPolicy,
    control: Control,
  ): Promise<RowAnswer[]> {
    const answer = async (email: string) => deps.testKeys.answer(email, ask.withEvidence, ask.asker);
    const results = await admission.withSlots(policy, emails.length, () => Promise.all(emails.map(answer)));
    if (control.cancelled()) throw new Interruption("cancelled");
    return results.map((result) => ({ verified: { result, charged: false } }));
  }

  return {
    async verify(emails, ask, policy, control, observer = null, known = undefined) {
      const { asker, withEvidence } = ask;
      if (!ask.livemode) return verifyTestRows(emails, ask, policy, control);
      const questions = known ?? emails.map((email) => examiner.understand(email, withEvidence, asker));
      const answers = new Array<RowAnswer>(emails.length);
      const verifyPiece = async (piece: readonly PlacedQuestion[]) => {
        const asked = piece.map(({ question }) => question);
        const found = await admission.withSlots(policy, piece.length, (turn) =>
          examine(asked, policy, control, turn),
        );
        // What was answered in the moment of the cancellation may say that nobody waited.
        if (control.cancelled()) throw new Interruption("cancelled");
        for (const [i, { question, at }] of piece.entries()) {
          const answer = found[i] as BatchAnswer;
          observer?.onAnswer(answer, question.address?.domain ?? "");
          answers[at] = answerOf(question, answer, policy);
        }
      };
      await Promise.all(cutIntoPieces(questions, policy).map(verifyPiece));
      if (control.cancelled()) throw new Interruption("cancelled");
      return answers;
    },
    drawReady({ asker, livemode, withEvidence }, drawn) {
      if (readyRows === null || !livemode || withEvidence) return null;
      return readyRows(asker, drawn);
    },
    giveUp: (emails, { asker, withEvidence, livemode }) =>
      emails.map((email) => {
        const { verified } = drawn(examiner.understand(email, withEvidence, asker), INTERNAL_ERROR);
        return { result: { ...verified.result, livemode }, charged: false };
      }),
  };
}
