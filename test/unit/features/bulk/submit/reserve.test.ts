import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { reserve, reserveInTime } from "../../../../../src/features/bulk/submit/reserve.ts";
import type { Transaction } from "../../../../../src/stores/postgres/postgres.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";

const HOLD = { jobId: "job_1", teamId: "team_1", limit: 100, units: 10 };
const MS_TO_MIDNIGHT = 1_500;

/** A ledger that first refuses, with the given answers, and then holds. `asked`: number of values of each query. */
function ledger(answers: readonly { available: number; unspent: number }[]) {
  const asked: number[] = [];
  const sql = (parts: TemplateStringsArray, ...values: unknown[]) => {
    if (!parts.join("").includes("quota_hold(")) return Promise.resolve([]);
    const answer = answers[asked.length];
    asked.push(values.length);
    const row = answer ?? { available: 100, unspent: 0 };
    return Promise.resolve([
      { held: answer === undefined, day: "2026-01-01", ...row, ms_to_midnight: MS_TO_MIDNIGHT },
    ]);
  };
  return { tx: sql as unknown as Transaction, asked };
}

async function run(answers: readonly { available: number; unspent: number }[], cancelled?: AbortSignal) {
  const clock = createFakeClock();
  const { tx, asked } = ledger(answers);
  let outcome: Awaited<ReturnType<typeof reserveInTime>> | undefined;
  let failure: unknown;
  const running = reserveInTime(clock, HOLD.units, () => reserve(tx, HOLD), cancelled).then(
    (ended) => {
      outcome = ended;
    },
    (error: unknown) => {
      failure = error;
    },
  );
  for (let i = 0; i < 20 && outcome === undefined && failure === undefined; i++)
    await clock.advanceAsync(LIMITS.bulk.quotaRetryMs);
  await running;
  return { outcome, failure, asked: asked.length };
}

describe("a reservation", () => {
  it("is made at once where there is enough", async () => {
    assert.deepEqual(await run([]), { outcome: null, failure: undefined, asked: 1 });
  });

  it("waits for units that lie idle in a process", async () => {
    const short = { available: 4, unspent: 6 };
    assert.deepEqual(await run([short, short]), { outcome: null, failure: undefined, asked: 3 });
  });

  it("is refused at once where idle units would not do", async () => {
    const { outcome, asked } = await run([{ available: 4, unspent: 5 }]);
    assert.equal(asked, 1);
    assert.deepEqual(outcome, {
      detail: "The job needs 10 units; 4 are left of the day's 100.",
      retryAfterS: 2,
    });
  });

  it("does not wait for ever", async () => {
    const { outcome, asked } = await run(Array.from({ length: 100 }, () => ({ available: 4, unspent: 6 })));
    const { quotaWaitMs, quotaRetryMs } = LIMITS.bulk;
    assert.equal(asked, quotaWaitMs / quotaRetryMs + 1);
    assert.match(outcome?.detail ?? "", /4 are left/);
  });

  it("stops waiting when it is cancelled", async () => {
    const cancelled = AbortSignal.abort(new Error("enough"));
    const { failure } = await run([{ available: 4, unspent: 6 }], cancelled);
    assert.match(String(failure), /enough/);
  });
});
