import { LIMITS } from "../../src/config/limits/limits.ts";
import { TemplatedRows } from "../../src/features/bulk/results/templated-rows.ts";
import { type Control, createControl } from "../../src/features/bulk/run/control.ts";
import {
  createRowVerifier,
  type RowAnswer,
  type RowsVerifyOptions,
  type RowWaitPolicy,
} from "../../src/features/bulk/run/row-verifier.ts";
import type { AddressQuestion } from "../../src/features/verify/answer/address-question.ts";
import type { EvidenceFinding } from "../../src/features/verify/answer/evidence-finding.ts";
import type { DecidedAnswer, Examiner } from "../../src/features/verify/answer/examine.ts";
import type { VerificationResult } from "../../src/features/verify/answer/verification-result.ts";
import type {
  BatchAnswer,
  BatchExaminer,
  BatchOptions,
} from "../../src/features/verify/batch/examine-batch.ts";
import { parseAddress } from "../../src/verification/address/address.ts";
import { siteOf } from "../../src/verification/lists/site.ts";
import { createFakeClock } from "./fake-clock.ts";

/** A verifier of rows over batches that the test answers. */

/** Rows that a small site has room for. */
export const SMALL_ROOM = 20;
const overlay = { isBlocked: () => false, isDisposable: () => false };
export const ask: RowsVerifyOptions = {
  asker: { teamId: "team_1", probing: true, overlay },
  livemode: true,
  withEvidence: false,
};
export const CHUNK: RowWaitPolicy = { kind: "chunk" };
export const retryAt = (site: string): RowWaitPolicy => ({ kind: "retry", site });
const UNFINISHED: BatchAnswer = { deferred: { site: "slow.example", cause: "unfinished" } };
export const ANSWERED: BatchAnswer = { finding: { entry: null, cached: false } };

/** A batch in progress, answered row by row by the test. */
export interface Batch {
  emails: string[];
  options: BatchOptions;
  answers: (BatchAnswer | null)[];
  handedIn: boolean;
  /** Answers the next rows. */
  answer(...answers: BatchAnswer[]): void;
}

function createBatches() {
  const started: Batch[] = [];
  const examiner: BatchExaminer = {
    ready: () => undefined,
    countMemoryHits() {},
    examine(questions, options, control) {
      let end = (_: BatchAnswer[]) => {};
      const done = new Promise<BatchAnswer[]>((resolve) => {
        end = resolve;
      });
      const batch: Batch = {
        emails: questions.map(({ email }) => email),
        options,
        answers: questions.map(() => null),
        handedIn: false,
        answer(...answers) {
          for (const answer of answers) batch.answers[batch.answers.indexOf(null)] = answer;
          if (!batch.answers.includes(null)) end(batch.answers as BatchAnswer[]);
        },
      };
      const handIn = () => {
        batch.handedIn = true;
        end(batch.answers.map((answer) => answer ?? UNFINISHED));
      };
      control.onCancel(handIn);
      started.push(batch);
      return {
        done,
        get left() {
          return batch.answers.filter((answer) => answer === null).length;
        },
        stopWaiting: handIn,
      };
    },
  };
  return { started, examiner };
}

/**
 * A row verifier. Sites whose names begin with `small` have room for SMALL_ROOM rows, others for all that a site may
 * have.
 */
export function createRowFixture() {
  const clock = createFakeClock();
  const { started, examiner: batches } = createBatches();
  const examiner: Pick<Examiner, "understand" | "answer"> = {
    understand(email, withEvidence) {
      const parsed = parseAddress(email);
      const address = parsed.ok ? parsed.address : null;
      const rest = { teamId: "team_1", blocked: false, overridden: false, scope: "probed" } as const;
      return { email, withEvidence, address, unwrapped: false, malformed: null, ...rest };
    },
    answer({ email, address }: AddressQuestion, { failure, entry }: EvidenceFinding) {
      const smtpClass = entry?.evidence.smtp?.class ?? "accepted_mailbox";
      const reason = address === null ? "invalid_format" : (failure ?? smtpClass);
      const verdict = reason === "accepted_mailbox" ? "valid" : "unknown";
      return { decision: { reason }, result: { email, verdict, reason } } as unknown as DecidedAnswer;
    },
  };
  const rows = createRowVerifier({
    clock,
    examiner,
    batches,
    filler: { fill: () => null },
    testKeys: { answer: (email) => ({ email, livemode: false }) as VerificationResult },
    sites: { siteOf },
    roomAt: (site) => (site.startsWith("small") ? SMALL_ROOM : LIMITS.bulk.siteRowsAtOnce),
  });
  /** @returns one answer an address, in order */
  async function verify(
    emails: readonly string[],
    policy: RowWaitPolicy = CHUNK,
    control: Control = createControl(),
    options = ask,
  ): Promise<RowAnswer[]> {
    const templated = new TemplatedRows();
    const distinct = emails.map((email, offset) => ({ offset, email }));
    const questions = rows.answerReady(distinct, options, policy, templated);
    const found = await rows.verify(questions, options, policy, control, templated);
    return found.sort((a, b) => a.offset - b.offset).map(({ answer }) => answer);
  }
  return { clock, rows, verify, started };
}

/** One tick of the event loop, for promise callbacks. */
export const turn = () => new Promise((resolve) => setImmediate(resolve));
export const emailsOf = (count: number) => Array.from({ length: count }, (_, i) => `a${i}@example.com`);
