import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Latencies } from "../../../../bench/load/latency.ts";
import type { Outcome } from "../../../../bench/load/outcome.ts";
import { Names, type Sent, Tally } from "../../../../bench/load/tally.ts";
import { result } from "../../../support/load-fakes.ts";

const request = (more: Partial<Sent> = {}): Sent => ({
  ...{ kind: "new", path: "/", intendedMs: 0, sentMs: 0, isWarmUp: false },
  ...more,
});

describe("the account of a load", () => {
  it("adds up, over all and by kind, whatever became of requests", () => {
    const tally = new Tally();
    const ending = (outcome: Outcome) => (of: Sent) => {
      tally.sent(of);
      tally.ended(of, outcome, 5);
    };
    const cut = (of: Sent) => {
      tally.sent(of);
      tally.cut(of);
    };
    const fates: ((of: Sent) => void)[] = [
      (of) => tally.unsent(of),
      (of) => tally.heldBack(of),
      cut,
      ending(result()),
      ending(result({ status: 500, code: "internal_error" })),
      ending({ kind: "failure", cause: "reset" }),
    ];
    for (const kind of ["new", "repeated"] as const) {
      for (const isWarmUp of [false, true]) {
        for (const fate of fates) {
          const one = request({ kind, isWarmUp });
          tally.planned(one);
          fate(one);
        }
      }
    }
    const wanted = { planned: 12, sent: 8, answered: 4, failed: 2, cut: 2, unsent: 2, heldBack: 2 };
    assert.deepEqual(tally.measured, wanted);
    assert.deepEqual(tally.warmUp, wanted);
    assert.equal(tally.byKind.new.planned, 6);
    assert.deepEqual([tally.statuses.view(), tally.failures.view()], [{ 200: 2, 500: 2 }, { reset: 2 }]);
    assert.deepEqual(tally.faults(), []);
    tally.planned(request());
    assert.deepEqual(tally.faults(), [
      "measured: 13 planned, but 8 sent, 2 unsent, 2 held back",
      "new: 7 planned, but 4 sent, 1 unsent, 1 held back",
    ]);
    tally.sent(request());
    assert.match(tally.faults()[0] ?? "", /measured: 9 sent, but 4 answered, 2 failed, 2 cut/);
  });

  it("measures results by when they were due and by when they were sent, and refusals by themselves", () => {
    const tally = new Tally();
    tally.ended(request({ intendedMs: 10, sentMs: 30 }), result(), 40);
    tally.ended(request({ intendedMs: 10, sentMs: 10 }), result({ status: 429, verdict: null }), 11);
    assert.equal(tally.response.view().maxUs, 30_000);
    assert.equal(tally.service.view().maxUs, 10_000);
    assert.deepEqual(
      [...tally.latencyOfStatus].map(([status, of]) => [status, of.count]),
      [
        ["200", 1],
        ["429", 1],
      ],
    );
    assert.equal(tally.latencyOfKind.get("new")?.count, 1);
  });

  it("has a point for each second, the warm-up's too", () => {
    const tally = new Tally();
    const warm = request({ isWarmUp: true });
    tally.sent(warm);
    tally.ended(warm, result(), 7);
    const { s, sent, answered, ok, maxUs } = tally.tick(1_000);
    assert.deepEqual({ s, sent, answered, ok, maxUs }, { s: 1, sent: 1, answered: 1, ok: 1, maxUs: 7_000 });
    assert.deepEqual(tally.tick(2_000), {
      ...{ s: 2, sent: 0, answered: 0, ok: 0, failed: 0 },
      ...{ p50Us: null, p99Us: null, maxUs: null },
    });
    assert.equal(tally.timeline.length, 2);
  });

  it("distinguishes a bounded number of names, and loses no count", () => {
    const names = new Names();
    for (let i = 0; i < 200; i++) names.add(`n${i}`);
    names.add("n0");
    const view = names.view();
    assert.equal(Object.keys(view).length, 65);
    assert.equal(view.n0, 2);
    assert.equal(
      Object.values(view).reduce((sum, count) => sum + count, 0),
      201,
    );
  });
});

describe("a distribution of latencies", () => {
  it("is exact to three figures from a microsecond to an hour", () => {
    const latencies = new Latencies();
    for (let us = 1; us <= 1_000_000; us += 7) latencies.record(us);
    for (const p of [1, 50, 90, 99, 99.9]) {
      const found = latencies.percentile(p) ?? 0;
      const wanted = p * 10_000;
      assert.ok(Math.abs(found - wanted) / wanted < 0.002, `p${p}: ${found}`);
    }
    latencies.record(1e13);
    assert.equal(latencies.view().maxUs, 3_600_000_000);
    latencies.record(0);
    assert.equal(latencies.view().minUs, 1);
  });

  it("of nothing is nothing", () => {
    const { count, minUs, meanUs, maxUs, percentiles } = new Latencies().view();
    assert.deepEqual([count, minUs, meanUs, maxUs, percentiles.p99], [0, null, null, null, null]);
    assert.deepEqual(new Latencies().curve(), []);
  });

  it("has a curve that goes up, as far as its values tell", () => {
    const latencies = new Latencies();
    for (let i = 1; i <= 1_000; i++) latencies.record(i * 100);
    const curve = latencies.curve();
    assert.ok(
      curve.every(([share, us], i) => share >= (curve[i - 1]?.[0] ?? 0) && us >= (curve[i - 1]?.[1] ?? 0)),
    );
    assert.ok((curve.at(-1)?.[0] ?? 0) > 0.998 && (curve.at(-1)?.[0] ?? 0) < 0.9991);
  });
});
