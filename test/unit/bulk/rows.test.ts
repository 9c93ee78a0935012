import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createControl, Interruption } from "../../../src/bulk/control.ts";
import { createRowVerifier, type RowsAsk } from "../../../src/bulk/rows.ts";
import { parseAddress } from "../../../src/check/address.ts";
import { AppError } from "../../../src/core/errors.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import { createLog } from "../../../src/core/log.ts";
import type { Answer, Examiner, Finding, Question } from "../../../src/services/verify/examine.ts";
import type { VerificationResult } from "../../../src/services/verify/verification-result.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const overlay = { isBlocked: () => false, isDisposable: () => false };
const ask: RowsAsk = {
  asker: { teamId: "team_1", probing: true, overlay },
  livemode: true,
  withEvidence: false,
};
const UNANSWERED: Finding = { entry: null, cached: false };

/** An examiner whose `find` is the test's; a finding without failure is `valid`. */
function fixture(find: (question: Question, call: number) => Finding | Promise<Finding>) {
  const clock = createFakeClock();
  let calls = 0;
  const examiner: Examiner = {
    understand(email, withEvidence) {
      const parsed = parseAddress(email);
      const address = parsed.ok ? parsed.address : null;
      return {
        teamId: "team_1",
        email,
        withEvidence,
        address,
        blocked: false,
        overridden: false,
        scope: "probed",
      };
    },
    find: (question) => find(question, ++calls),
    draw({ email, address }, { failure }) {
      const reason = address === null ? "invalid_format" : (failure ?? "accepted_mailbox");
      const verdict = reason === "accepted_mailbox" ? "valid" : "unknown";
      return { decision: { reason }, result: { email, verdict, reason } } as unknown as Answer;
    },
  };
  const told: VerificationResult[] = [];
  const rows = createRowVerifier({
    clock,
    log: createLog("silent"),
    examiner,
    testKeys: { answer: (email) => ({ email, livemode: false }) as VerificationResult },
    onVerified: (result) => told.push(result),
  });
  return { clock, rows, told, calls: () => calls };
}

const reasons = (verified: ({ result: VerificationResult } | null)[]) =>
  verified.map((row) => row?.result.reason ?? null);

describe("the rows of a chunk", () => {
  it("are asked about once each, repeats not at all; what fails or is no address is free", async () => {
    const { rows, told, calls } = fixture(({ email }) =>
      email.startsWith("late") ? { entry: null, cached: false, failure: "deadline" } : UNANSWERED,
    );
    const source = [
      { email: "a@example.com", copies: 1 },
      { email: "a@EXAMPLE.com", same_as: 0 },
      { email: "late@example.com" },
      { email: "no address" },
    ];
    const verified = await rows.verify(source, ask, createControl());
    assert.deepEqual(reasons(verified), ["accepted_mailbox", null, "deadline", "invalid_format"]);
    assert.deepEqual(
      verified.map((row) => row?.charged ?? null),
      [true, null, false, false],
    );
    assert.deepEqual([calls(), told.length], [3, 3]);
  });

  it("wait while the check pool is full, until their deadline", async () => {
    const full = () => {
      throw new AppError("overloaded", "full");
    };
    const later = fixture((_, call) => (call < 3 ? full() : UNANSWERED));
    const verified = later.rows.verify([{ email: "a@example.com" }], ask, createControl());
    await later.clock.advanceAsync(2 * LIMITS.bulk.retryMs);
    assert.deepEqual(reasons(await verified), ["accepted_mailbox"]);
    const never = fixture(full);
    const late = never.rows.verify([{ email: "a@example.com" }], ask, createControl());
    for (let ms = 0; ms < LIMITS.bulk.rowDeadlineMs; ms += LIMITS.bulk.retryMs)
      await never.clock.advanceAsync(LIMITS.bulk.retryMs);
    assert.deepEqual(reasons(await late), ["deadline"]);
  });

  it("are unknown by our fault when asking breaks, and the others are answered", async () => {
    const { rows } = fixture(({ email }) => {
      if (email.startsWith("bug")) throw new Error("a bug");
      return UNANSWERED;
    });
    const verified = await rows.verify(
      [{ email: "bug@example.com" }, { email: "a@example.com" }],
      ask,
      createControl(),
    );
    assert.deepEqual(reasons(verified), ["internal_error", "accepted_mailbox"]);
  });

  it("are no more at once than the process has places for", async () => {
    let under = 0;
    let most = 0;
    const { rows } = fixture(async () => {
      under += 1;
      most = Math.max(most, under);
      await new Promise((resolve) => setImmediate(resolve));
      under -= 1;
      return UNANSWERED;
    });
    const source = Array.from({ length: LIMITS.bulk.rowsAtOnce + 100 }, (_, i) => ({
      email: `a${i}@example.com`,
    }));
    await Promise.all([rows.verify(source, ask, createControl()), rows.verify(source, ask, createControl())]);
    assert.equal(most, LIMITS.bulk.rowsAtOnce);
  });

  it("come to nothing when they are cancelled, also those in the air", async () => {
    const control = createControl();
    let land: (finding: Finding) => void = () => assert.fail("nothing was asked");
    const { rows, told } = fixture(
      () =>
        new Promise<Finding>((resolve) => {
          land = resolve;
        }),
    );
    const verified = rows.verify([{ email: "a@example.com" }], ask, control);
    await new Promise((resolve) => setImmediate(resolve));
    control.cancel();
    land({ entry: null, cached: false, failure: "internal_error" });
    await assert.rejects(verified, Interruption);
    assert.deepEqual(told, []);
  });

  it("of a test key ask nobody and cost nothing; given up, neither", async () => {
    const { rows, calls } = fixture(() => assert.fail("somebody was asked"));
    const test = { ...ask, livemode: false };
    const verified = await rows.verify([{ email: "valid@example.com" }], test, createControl());
    assert.deepEqual([verified[0]?.charged, verified[0]?.result.livemode, calls()], [false, false, 0]);
    const givenUp = rows.giveUp([{ email: "a@example.com" }, { email: "a@example.com", same_as: 0 }], test);
    assert.deepEqual(reasons(givenUp), ["internal_error", null]);
    assert.equal(givenUp[0]?.result.livemode, false);
  });
});
