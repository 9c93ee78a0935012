import { DomainsByBytes } from "../check/address/domain-bytes.ts";
import { askedSite, type SiteDirectory } from "../check/site.ts";
import { isFree } from "../check/verdict/verdict.ts";
import { type Clock, msToNextBeat, type Timer } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { DrawnRows } from "../services/bulk/drawn-rows.ts";
import { cutByDomain } from "../services/verify/batch-cut.ts";
import { type DeferralReason, deferrable, wasPutOff } from "../services/verify/deferrable.ts";
import { type DrawnRow, resultOf } from "../services/verify/draw-rows.ts";
import type { Asker, Examiner } from "../services/verify/examine.ts";
import type { BatchAnswer, BatchExaminer, BatchRun } from "../services/verify/examine-batch.ts";
import type { Finding } from "../services/verify/finding.ts";
import type { Question } from "../services/verify/question.ts";
import type { TestKeys } from "../services/verify/test-keys.ts";
import type { VerificationResult } from "../services/verify/verification-result.ts";
import type { CacheEntry } from "../store/cache-entry.ts";
import { type Control, Interruption } from "./control.ts";
import { createPlaces, type HeldPlaces, type Places } from "./places.ts";
import { ReadyRows, type ReadyRowsDeps } from "./ready-rows.ts";
import { createOutcomesOf } from "./row-outcomes.ts";

/** What a row came to, and whether it costs a unit. */
export interface Verified {
  readonly result: VerificationResult;
  readonly charged: boolean;
  /** The result as texts, where it was drawn as such: the result itself is then made of them each time it is asked for. */
  readonly drawn?: DrawnRow;
}

class DrawnVerified implements Verified {
  readonly drawn: DrawnRow;

  constructor(drawn: DrawnRow) {
    this.drawn = drawn;
  }

  get result(): VerificationResult {
    return resultOf(this.drawn);
  }

  get charged(): boolean {
    return this.drawn.template.charged;
  }
}

/** `busy`: its site had no connection left for it, or it was not answered in the task's time. */
export type WaitReason = DeferralReason | "busy";

/** Why a row should be asked about again later. */
export interface Wait {
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
  last(): Verified;
}

export type RowAnswer = { verified: Verified; wait?: undefined } | { verified?: undefined; wait: Wait };

/** How the rows of a task are asked about. */
export interface RowsAsk {
  asker: Asker;
  livemode: boolean;
  withEvidence: boolean;
}

/**
 * How long rows are waited for. Those of a chunk leave a busy site at once and wait in a retry, where nobody waits behind
 * them; those of a retry are patient, ask anew who put them off, and have `site` in common ('': none).
 */
export type Manner =
  | { kind: "chunk" }
  | {
      kind: "retry";
      site: string;
      /** They are a chunk's that stays: for no longer than it may, and only in places that are free when they are asked about. */
      stay?: StayTime;
    };

/** How long a chunk stays. */
export interface StayTime {
  /** Monotonic: then it leaves. May change. */
  readonly untilMs: number;
  /** Some of its rows were answered. */
  heard(): void;
}

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
    ask: RowsAsk,
    manner: Manner,
    control: Control,
    /** Is shown what was found of each; null, absent: nobody wants to know. */
    watch?: RowsWatch | null,
    /** Of the addresses, where they were read before. */
    questions?: readonly Question[] | undefined,
  ): Promise<RowAnswer[]>;
  /**
   * Draws rows whose answers are at hand: as `verify` would answer them as rows of a chunk, without places, since none of them
   * waits. A list that was verified lately has nearly nothing else; by all of `verify` a row of it costs twice as much.
   * @param drawn gets them
   * @returns null: there are none among rows that are asked about so
   */
  drawReady(ask: RowsAsk, drawn: DrawnRows): ReadyRows | null;
  /** The same without asking anybody: `unknown`, `internal_error`, free. */
  giveUp(emails: readonly string[], ask: RowsAsk): Verified[];
}

export interface RowsWatch {
  /** @param domain of the row, "" where it has none */
  saw(answer: BatchAnswer, domain: string): void;
}

export interface RowVerifierDeps {
  clock: Clock;
  examiner: Pick<Examiner, "understand" | "draw" | "standing">;
  batches: BatchExaminer;
  /** Absent: each result is made for itself. */
  drawing?: Pick<ReadyRowsDeps, "drawer" | "mayBeRole"> & {
    /** See `PromotedDisposables.asOf`. */
    promotedAsOf(): number;
  };
  testKeys: Pick<TestKeys, "answer">;
  sites: Pick<SiteDirectory, "siteOf">;
  /** Rows that keep a site's connections busy, at least 1: more of a retry at once would only stand in line there. */
  roomAt(site: string): number;
}

const BROKEN: Finding = { entry: null, cached: false, failure: "internal_error" };
const LATE: Finding = { entry: null, cached: false, failure: "deadline" };

/** What a chunk's rows come to that stays and finds no places: as before. */
const NO_PLACES: BatchAnswer = { deferred: { site: "", cause: "busy" } };

/** Sites' places for retries: one slow site must not have all of them. Forgotten when nobody is there. */
function createSitePlaces() {
  const sites = new Map<string, { places: Places; users: number }>();
  return {
    async within<T>(site: string, work: (places: Places) => Promise<T>): Promise<T> {
      const entry = sites.get(site) ?? { places: createPlaces(LIMITS.bulk.siteRowsAtOnce), users: 0 };
      sites.set(site, entry);
      entry.users += 1;
      try {
        return await work(entry.places);
      } finally {
        entry.users -= 1;
        if (entry.users === 0) sites.delete(site);
      }
    },
  };
}

/** A question, and where it stands among those of its task. */
interface PlacedQuestion {
  question: Question;
  at: number;
}

/**
 * The rows of a chunk take their places in pieces: who waited for room for all of them would leave the room of those idle
 * that are put off at once. The rows of a retry are all of one kind, and stay together.
 */
function piecesOf(questions: readonly Question[], manner: Manner): PlacedQuestion[][] {
  const placed = questions.map((question, at) => {
    const { address, scope } = question;
    return { question, at, scope, address: { domain: address?.domain ?? "" } };
  });
  if (manner.kind === "retry") return [placed];
  const { pieceRows, largePieceRows, chunkRowsAtOnce } = LIMITS.bulk;
  return cutByDomain(placed, placed.length > chunkRowsAtOnce ? largePieceRows : pieceRows);
}

function stayOf(manner: Manner): StayTime | null {
  return manner.kind === "retry" ? (manner.stay ?? null) : null;
}

/**
 * Watches rows under way: places of those that are answered are given back, and what is left is handed in when its time is
 * over; that of the small rest of a chunk's piece is short, since the rows of whole chunks wait behind it.
 */
function watch(
  clock: Clock,
  run: BatchRun,
  rows: number,
  manner: Manner,
  held: readonly HeldPlaces[],
): Timer {
  const { chunkBudgetMs, rowDeadlineMs, restMs, restShare } = LIMITS.bulk;
  const isChunk = manner.kind === "chunk";
  const stay = stayOf(manner);
  const everyMs = LIMITS.bulk.watchEveryMs[manner.kind];
  const startedMs = clock.monotonic();
  let dueMs = startedMs + (isChunk ? chunkBudgetMs : rowDeadlineMs);
  let isRest = false;
  let timer: Timer;
  // All tasks at the same moments: sixty retries, each at its own, woke the process 120 times a second.
  const nextMs = () => msToNextBeat(clock.monotonic(), everyMs);
  function look(): void {
    const { left } = run;
    const nowMs = clock.monotonic();
    for (const places of held) places.keep(left);
    if (isChunk && !isRest && left <= Math.floor(rows * restShare)) {
      isRest = true;
      dueMs = Math.min(dueMs, nowMs + restMs);
    }
    if (left < rows) stay?.heard();
    if (nowMs >= dueMs || (stay !== null && nowMs >= stay.untilMs)) run.handIn();
    timer = clock.after(nextMs(), look);
  }
  timer = clock.after(nextMs(), look);
  return { cancel: () => timer.cancel() };
}

/** Places, for as many rows at once. */
interface Turn {
  held: readonly HeldPlaces[];
  atOnce: number;
}

/**
 * @param waits for places that are not free
 * @param work with so many of each; it may give them back one by one
 * @returns null: it does not wait, and some are not free
 */
async function inPlaces<T>(
  all: readonly Places[],
  { atOnce, waits }: { atOnce: number; waits: boolean },
  work: (turn: Turn) => Promise<T>,
): Promise<T | null> {
  const held: HeldPlaces[] = [];
  try {
    for (const places of all) {
      const taken = waits ? await places.take(atOnce) : places.tryTake(atOnce);
      if (taken === null) return null;
      held.push(taken);
    }
    return await work({ held, atOnce });
  } finally {
    for (const places of held) places.keep(0);
  }
}

/** null: each result is made for itself. */
function createReadyRows({ drawing, examiner, batches }: RowVerifierDeps) {
  if (drawing === undefined) return null;
  const domains = new DomainsByBytes();
  const parts = { examiner, batches, domains, ...drawing };
  const outcomesOf = createOutcomesOf(domains, examiner, drawing.promotedAsOf);
  return (asker: Asker, drawn: DrawnRows) => new ReadyRows(parts, asker, drawn, outcomesOf(asker));
}

export function createRowVerifier(deps: RowVerifierDeps): RowVerifier {
  const { clock, examiner } = deps;
  const chunkPlaces = createPlaces(LIMITS.bulk.chunkRowsAtOnce);
  const retryPlaces = createPlaces(LIMITS.bulk.retryRowsAtOnce);
  const stayPlaces = createPlaces(LIMITS.bulk.stayRowsAtOnce);
  const sitePlaces = createSitePlaces();
  const readyRows = createReadyRows(deps);

  function drawn(question: Question, finding: Finding) {
    const { decision, result } = examiner.draw(question, finding);
    return { decision, verified: { result, charged: question.address !== null && !isFree(decision.reason) } };
  }

  function answerOf(question: Question, answer: BatchAnswer, manner: Manner): RowAnswer {
    if (answer.deferred !== undefined) {
      const last = () => drawn(question, LATE).verified;
      // A row whose turn never came waits where the others do.
      const site = answer.deferred.site || (manner.kind === "retry" ? manner.site : "");
      return { wait: { reason: "busy", site, retryAfterMs: null, parked: false, last } };
    }
    const { finding } = answer;
    const row = deps.drawing?.drawer.draw(question, finding);
    // Nobody whose result is drawn as texts was put off.
    if (row) return { verified: new DrawnVerified(row) };
    const { decision, verified } = drawn(question, finding);
    const again = deferrable(decision, finding.entry?.evidence ?? null);
    if (again === null || question.address === null) return { verified };
    const { reason, retryAfterS, ...rest } = again;
    const { domain } = question.address;
    const evidence = finding.entry?.evidence;
    const site = evidence === undefined ? domain : askedSite(deps.sites, evidence, domain);
    const retryAfterMs = retryAfterS === null ? null : retryAfterS * 1_000;
    return { wait: { reason, site, retryAfterMs, ...rest, last: () => verified } };
  }

  async function examine(
    questions: readonly Question[],
    manner: Manner,
    control: Control,
    { held, atOnce }: Turn,
  ): Promise<BatchAnswer[]> {
    if (control.cancelled()) throw new Interruption("cancelled");
    const patient = manner.kind === "retry";
    const options = {
      patient,
      atOnce,
      refresh: patient ? ({ evidence }: CacheEntry) => wasPutOff(evidence) : () => false,
    };
    const run = deps.batches.examine(questions, options, control);
    const watching = watch(clock, run, questions.length, manner, held);
    try {
      const answers = await run.done;
      if (answers.some(({ deferred }) => deferred === undefined)) stayOf(manner)?.heard();
      return answers;
    } finally {
      watching.cancel();
    }
  }

  /**
   * Of so many rows those that are under way at once. A list that is sorted by domain has retries of hundreds of rows of one
   * small site each: with a place for each row a few sites had them all (20,000 rows of 50 sites of a connection each: 490 rows/s, 11
   * to 16 retries at a time and up to 45 waiting; 1,250 with places for what keeps each site busy, all 50 at a time).
   */
  function atOnceOf(manner: Manner, rows: number): number {
    return manner.kind === "chunk" || manner.site === "" ? rows : Math.min(rows, deps.roomAt(manner.site));
  }

  /**
   * @param work with places for those of `rows` that may be under way at once; it may give them back one by one
   * @returns null: they are a chunk's that stays, and its time is over or there are no places: what waited for them would have the chunk's
   *   rows and its stay meanwhile, and others' retries behind it
   */
  async function inTurn<T>(
    manner: Manner,
    rows: number,
    work: (turn: Turn) => Promise<T>,
  ): Promise<T | null> {
    const atOnce = atOnceOf(manner, rows);
    if (manner.kind === "chunk") return inPlaces([chunkPlaces], { atOnce, waits: true }, work);
    const { site, stay } = manner;
    if (stay === undefined)
      return sitePlaces.within(site, (at) => inPlaces([at, retryPlaces], { atOnce, waits: true }, work));
    if (clock.monotonic() >= stay.untilMs) return null;
    return sitePlaces.within(site, (at) =>
      inPlaces([at, stayPlaces, retryPlaces], { atOnce, waits: false }, work),
    );
  }

  async function verifyTest(
    emails: readonly string[],
    ask: RowsAsk,
    manner: Manner,
    control: Control,
  ): Promise<RowAnswer[]> {
    const answer = async (email: string) => deps.testKeys.answer(email, ask.withEvidence, ask.asker);
    const results = await inTurn(manner, emails.length, () => Promise.all(emails.map(answer)));
    if (results === null) throw new Error("rows of a test key find no site busy, hence do not stay");
    if (control.cancelled()) throw new Interruption("cancelled");
    return results.map((result) => ({ verified: { result, charged: false } }));
  }

  return {
    async verify(emails, ask, manner, control, watch = null, known = undefined) {
      const { asker, withEvidence } = ask;
      if (!ask.livemode) return verifyTest(emails, ask, manner, control);
      const questions = known ?? emails.map((email) => examiner.understand(email, withEvidence, asker));
      const answers = new Array<RowAnswer>(emails.length);
      const verifyPiece = async (piece: readonly PlacedQuestion[]) => {
        const asked = piece.map(({ question }) => question);
        const found = await inTurn(manner, piece.length, (turn) => examine(asked, manner, control, turn));
        // What was answered in the moment of the cancellation may say that nobody waited.
        if (control.cancelled()) throw new Interruption("cancelled");
        for (const [i, { question, at }] of piece.entries()) {
          const answer = found === null ? NO_PLACES : (found[i] as BatchAnswer);
          watch?.saw(answer, question.address?.domain ?? "");
          answers[at] = answerOf(question, answer, manner);
        }
      };
      await Promise.all(piecesOf(questions, manner).map(verifyPiece));
      if (control.cancelled()) throw new Interruption("cancelled");
      return answers;
    },
    drawReady({ asker, livemode, withEvidence }, drawn) {
      if (readyRows === null || !livemode || withEvidence) return null;
      return readyRows(asker, drawn);
    },
    giveUp: (emails, { asker, withEvidence, livemode }) =>
      emails.map((email) => {
        const { verified } = drawn(examiner.understand(email, withEvidence, asker), BROKEN);
        return { result: { ...verified.result, livemode }, charged: false };
      }),
  };
}
