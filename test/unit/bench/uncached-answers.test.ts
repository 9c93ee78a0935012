import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countAnswers, requireAsked } from "../../../bench/api/uncached-answers.ts";
import { busyShareOf, loweredNote, loweredShareOf } from "../../../bench/cpu/busy.ts";
import { InvalidRun } from "../../../bench/report/figures.ts";
import { createMetrics } from "../../../src/platform/telemetry/metrics.ts";

type Answer = [reason: string, cached: string, count: number];

/** The text of `/metrics` as the service writes it. */
async function metricsOf(answers: readonly Answer[]): Promise<string> {
  const { registry, verifications } = createMetrics();
  for (const [reason, cached, count] of answers)
    verifications.inc({ verdict: "unknown", reason, cached }, count);
  return registry.metrics();
}

describe("the answers of a run without probing", () => {
  it("are counted by their reason, and whether they were known", async () => {
    const text = await metricsOf([
      ["smtp_not_in_tier", "false", 7],
      ["smtp_not_in_tier", "true", 2],
      ["internal_error", "false", 1],
    ]);
    assert.deepEqual(countAnswers(text), { asked: 7, others: 3 });
    assert.deepEqual(countAnswers(""), { asked: 0, others: 0 });
  });

  it("count only where all that clients took are what was asked for", async () => {
    const before = await metricsOf([
      ["smtp_not_in_tier", "false", 7],
      ["timeout", "false", 3],
    ]);
    const after = (asked: number, late: number) =>
      metricsOf([
        ["smtp_not_in_tier", "false", asked],
        ["timeout", "false", late],
      ]);
    requireAsked(before, await after(107, 3), 100);
    // Some requests are in flight when the clients stop.
    requireAsked(before, await after(120, 3), 100);
    const late = await after(107, 4);
    assert.throws(() => requireAsked(before, late, 100), InvalidRun);
    const fewer = await after(106, 3);
    assert.throws(() => requireAsked(before, fewer, 100), InvalidRun);
  });
});

const summary = (cpuUs: number, busy: number) => ({ perS: 1, cpuUs, busy, spread: 0 });

describe("the share of a ceiling", () => {
  it("says nothing where either was idle for more than a twentieth of the time", () => {
    assert.deepEqual(busyShareOf(summary(8, 0.95), summary(6, 1)), { figure: 0.75 });
    for (const [ours, theirs] of [
      [0.94, 1],
      [1, 0.94],
    ] as const) {
      const { figure, reason } = busyShareOf(summary(8, ours), summary(6, theirs));
      assert.equal(figure, null);
      assert.match(reason ?? "", /94 %/);
    }
  });

  it("is void where either answered nothing", () => {
    const mute = { perS: 0, cpuUs: Number.POSITIVE_INFINITY, busy: 1, spread: 0 };
    for (const shareOf of [busyShareOf, loweredShareOf])
      for (const [ours, theirs] of [
        [mute, summary(6, 1)],
        [summary(8, 1), mute],
        // In one of two rounds.
        [summary(8, 1), { ...mute, perS: 500 }],
      ] as const)
        assert.deepEqual(shareOf(ours, theirs), { figure: null, reason: "a server answered nobody" });
  });

  it("counts a ceiling that waited for no more than it was busy, and ours as it is", () => {
    assert.deepEqual(loweredShareOf(summary(8, 0.7), summary(6, 1)), { figure: 0.75 });
    assert.deepEqual(loweredShareOf(summary(8, 1), summary(6, 0.95)), { figure: 0.75 });
    assert.deepEqual(loweredShareOf(summary(9, 1), summary(10, 0.9)), { figure: 1 });
    const { figure, reason } = loweredShareOf(summary(8, 1), summary(6, 0.89));
    assert.equal(figure, null);
    assert.match(reason ?? "", /89 %/);
    assert.match(loweredNote(summary(6, 0.92)) ?? "", /92 %/);
    assert.deepEqual([loweredNote(summary(6, 1)), loweredNote(summary(6, 0.5))], [null, null]);
    assert.equal(loweredShareOf(summary(8, 1), summary(6, Number.NaN)).figure, null);
  });
});
