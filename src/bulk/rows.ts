import { isFree } from "../check/verdict/verdict.ts";
import { type Clock, sleep } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import type { SourceRow } from "../services/bulk/source.ts";
import type { Asker, Examiner, Finding, Question } from "../services/verify/examine.ts";
import type { TestKeys } from "../services/verify/test-keys.ts";
import type { VerificationResult } from "../services/verify/verification-result.ts";
import { type Control, Interruption } from "./control.ts";

/** What a row came to, and whether it costs a unit. */
export interface Verified {
  result: VerificationResult;
  charged: boolean;
}

/** How the rows of a task are asked about. */
export interface RowsAsk {
  asker: Asker;
  livemode: boolean;
  withEvidence: boolean;
}

/**
 * Verifies rows as single requests are, from the same cache and by the same checks, with a deadline of their own and
 * without the rate limit: bounded instead by LIMITS.bulk.rowsAtOnce in the process.
 */
export interface RowVerifier {
  /**
   * One result for each row that repeats no other; null for those that do. In order.
   * @throws Interruption when the task was cancelled
   */
  verify(rows: readonly SourceRow[], ask: RowsAsk, control: Control): Promise<(Verified | null)[]>;
  /** The same without asking anybody: `unknown`, `internal_error`, free. */
  giveUp(rows: readonly SourceRow[], ask: RowsAsk): (Verified | null)[];
}

export interface RowVerifierDeps {
  clock: Clock;
  log: Logger;
  examiner: Examiner;
  testKeys: Pick<TestKeys, "answer">;
  /** Told of each row that a live job asked about. */
  onVerified(result: VerificationResult): void;
}

/** Places for so many at once; who waits is served in turn. */
function createPlaces(count: number) {
  let free = count;
  const waiting: (() => void)[] = [];
  return {
    async take(): Promise<void> {
      if (free > 0) {
        free -= 1;
        return;
      }
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
      });
    },
    giveBack(): void {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    },
  };
}

const BROKEN: Finding = { entry: null, cached: false, failure: "internal_error" };
const LATE: Finding = { entry: null, cached: false, failure: "deadline" };

export function createRowVerifier(deps: RowVerifierDeps): RowVerifier {
  const { clock, log, examiner } = deps;
  const places = createPlaces(LIMITS.bulk.rowsAtOnce);

  /** When the check pool is full it is asked again until the row's deadline: an overload is no finding. */
  async function find(question: Question, control: Control): Promise<Finding> {
    const startedMs = clock.monotonic();
    const { cancelled, onCancel } = control;
    for (;;) {
      try {
        return await examiner.find(question, false, { startedMs, cancelled, onCancel });
      } catch (error) {
        if (!(error instanceof AppError)) {
          log.error({ err: error }, "a row could not be verified");
          return BROKEN;
        }
      }
      await sleep(clock, LIMITS.bulk.retryMs);
      if (control.cancelled()) return BROKEN;
      if (clock.monotonic() - startedMs >= LIMITS.bulk.rowDeadlineMs) return LATE;
    }
  }

  function drawn(question: Question, finding: Finding): Verified {
    const { decision, result } = examiner.draw(question, finding);
    return { result, charged: question.address !== null && !isFree(decision.reason) };
  }

  async function verifyOne(email: string, ask: RowsAsk, control: Control): Promise<Verified> {
    const { asker, withEvidence } = ask;
    if (!ask.livemode)
      return { result: await deps.testKeys.answer(email, withEvidence, asker), charged: false };
    const question = examiner.understand(email, withEvidence, asker);
    const verified = drawn(question, await find(question, control));
    if (!control.cancelled()) deps.onVerified(verified.result);
    return verified;
  }

  async function verifyInTurn(row: SourceRow, ask: RowsAsk, control: Control): Promise<Verified | null> {
    if (row.same_as !== undefined) return null;
    await places.take();
    try {
      if (control.cancelled()) throw new Interruption("cancelled");
      return await verifyOne(row.email, ask, control);
    } finally {
      places.giveBack();
    }
  }

  return {
    async verify(rows, ask, control) {
      const settled = await Promise.allSettled(rows.map((row) => verifyInTurn(row, ask, control)));
      // What was answered in the moment of the cancellation may say that nobody waited.
      if (control.cancelled()) throw new Interruption("cancelled");
      return settled.map((outcome) => {
        if (outcome.status === "rejected") throw outcome.reason;
        return outcome.value;
      });
    },
    giveUp: (rows, ask) =>
      rows.map(({ email, same_as }) => {
        if (same_as !== undefined) return null;
        const question = examiner.understand(email, ask.withEvidence, ask.asker);
        const { result } = drawn(question, BROKEN);
        return { result: { ...result, livemode: ask.livemode }, charged: false };
      }),
  };
}
