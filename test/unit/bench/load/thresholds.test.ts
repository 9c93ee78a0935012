import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { BulkView } from "../../../../bench/load/bulk-view.ts";
import { Latencies } from "../../../../bench/load/latency.ts";
import type { ReportFigures } from "../../../../bench/load/report/report-figures.ts";
import { judge, parseThresholds } from "../../../../bench/load/report/thresholds.ts";

const job = (rowsPerS: number | null, fault: string | null) => ({ rowsPerS, fault }) as BulkView;

function figures(more: Partial<ReportFigures> = {}): ReportFigures {
  const latencies = new Latencies();
  for (let ms = 1; ms <= 100; ms++) latencies.record(ms * 1_000);
  const requests = { planned: 220, sent: 200, answered: 190, failed: 6, cut: 4, unsent: 15, heldBack: 5 };
  return {
    ...{ requests, ok: 180, statuses: { 200: 180, 429: 7, 503: 3 }, cached: { yes: 90, no: 90 } },
    throughputPerS: 18.5,
    latency: { response: latencies.view(), service: latencies.view() },
    bulk: [job(900, null), job(1_200, null), job(null, "ended failed")],
    ...more,
  };
}

const holds = (text: string, more: Partial<ReportFigures> = {}) =>
  judge(parseThresholds(text), figures(more)).map((judged) => judged.holds);

describe("bounds of --fail-on", () => {
  it("are judged by the figures of the report", () => {
    const cases: [text: string, holds: boolean][] = [
      ["p50<51ms", true],
      ["p50<50ms", false],
      ["p99<=0.1s", true],
      ["max>99ms", true],
      ["mean<50000us", false],
      ["errors<=10%", true],
      ["errors<20", false],
      ["errors<=20", true],
      ["failed<=3%", true],
      ["cut<2%", false],
      ["unsent<15", false],
      ["unsent<7%", true],
      ["held<1%", false],
      ["429<8", true],
      ["429<1%", false],
      ["5xx<=3", true],
      ["4xx<=6", false],
      ["cached>=50%", true],
      ["cached>90", false],
      ["rate>18", true],
      ["rate>19", false],
      ["bulk.failed<1", false],
      ["bulk.rows_per_s>=900", true],
      ["bulk.rows_per_s>900", false],
    ];
    for (const [text, wanted] of cases) assert.deepEqual(holds(text), [wanted], text);
    assert.deepEqual(holds("p50 < 51ms, rate>19 ,429<8"), [true, false, true]);
  });

  it("are broken where nothing was measured", () => {
    const nothing = new Latencies().view();
    const requests = { planned: 0, sent: 0, answered: 0, failed: 0, cut: 0, unsent: 0, heldBack: 0 };
    const none = {
      ...{ requests, ok: 0, statuses: {}, cached: { yes: 0, no: 0 }, throughputPerS: 0, bulk: [] },
      latency: { response: nothing, service: nothing },
    };
    for (const text of [
      "p99<1s",
      "max<1s",
      "errors<1%",
      "errors<1",
      "rate<1",
      "cached>=0%",
      "bulk.failed<1",
      "bulk.rows_per_s<9",
    ]) {
      assert.deepEqual(holds(text, none), [false], text);
      assert.equal(judge(parseThresholds(text), figures(none))[0]?.figure, null);
    }
  });

  it("are refused when they say nothing that can be judged", () => {
    const cases: [string, RegExp][] = [
      ["", /bounds such as p99<50ms/],
      ["p99=5ms", /not "p99=5ms"/],
      ["p99<5", /p99 takes a latency such as 50ms/],
      ["errors<5ms", /errors takes no time/],
      ["rate>5%", /takes no percentage/],
      ["latency<5ms", /knows no "latency"/],
      ["600<1", /knows no "600"/],
      [Array.from({ length: 21 }, () => "p99<1s").join(","), /20 bounds at most/],
    ];
    for (const [text, message] of cases) assert.throws(() => parseThresholds(text), message, text);
  });
});
