import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Actor } from "../../../../../src/features/identity/actor.ts";
import type { AnswerNote, WaitTimes } from "../../../../../src/features/verify/answer/answer-note.ts";
import type { EvidenceFinding } from "../../../../../src/features/verify/answer/evidence-finding.ts";
import type { FindingHandler } from "../../../../../src/features/verify/answer/examine.ts";
import {
  createVerifyAddress,
  type VerifyDeps,
} from "../../../../../src/features/verify/answer/verify-address.ts";
import { enterBy } from "../../../../support/entrance.ts";
import { evidenceWith, smtpWith } from "../../../../support/evidence.ts";

const RESULT = { verdict: "valid", reason: "accepted_mailbox" };
/** Passed on as they are. */
const TIMES = { cacheMs: 1 } as WaitTimes;

/** The note that the caller gets about the outcome. */
async function noteOf(finding: EvidenceFinding): Promise<AnswerNote> {
  const examiner = {
    understand: () => ({ teamId: "team_1" }),
    isKnown: () => true,
    find: async (_question: unknown, _refresh: unknown, _waiter: unknown, arrival: FindingHandler<unknown>) =>
      arrival.settled(finding),
    answer: () => ({ result: RESULT }),
  };
  const verify = createVerifyAddress({
    examiner,
    enter: enterBy(examiner),
    filler: { fill: () => null },
    quota: { reserve: () => ({ day: "2026-01-01", commit() {}, giveBack() {} }) },
    usage: { count() {} },
    cachedAnswers: { remember() {} },
    tallies: () => ({ count: 0 }),
  } as unknown as VerifyDeps);
  const waiter = { startedMs: 0, cancelled: () => false, onCancel() {}, note: null as AnswerNote | null };
  const actor = { teamId: "team_1", livemode: true, limits: {} } as Actor;
  await verify({ email: "a@plain.test", refresh: false, withEvidence: false, probe: true }, actor, waiter);
  return waiter.note ?? assert.fail("nothing was noted");
}

describe("the note of an answer", () => {
  it("has the answer, what the server said, and what it waited for", async () => {
    const smtp = smtpWith({ latencyMs: 7 });
    const entry = { evidence: evidenceWith({ smtp }), storedAt: 0, ttlS: 1 };
    const note = await noteOf({ entry, cached: false, times: TIMES });
    assert.deepEqual([note.result, note.smtp, note.times], [RESULT, smtp, TIMES]);
  });

  it("says that no server was asked, or that nothing was waited for", async () => {
    const entry = { evidence: evidenceWith({ smtp: null }), storedAt: 0, ttlS: 1 };
    const atHand = await noteOf({ entry, cached: true });
    assert.deepEqual([atHand.result, atHand.smtp, atHand.times], [RESULT, null, null]);
    const failed = await noteOf({ entry: null, cached: false, failure: "deadline", times: TIMES });
    assert.deepEqual([failed.result, failed.smtp, failed.times], [RESULT, null, TIMES]);
  });
});
