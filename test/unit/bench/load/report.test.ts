import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { faultOf } from "../../../../bench/load/bulk.ts";
import type { BulkView } from "../../../../bench/load/bulk-view.ts";
import { parseOptions } from "../../../../bench/load/options.ts";
import { linearAxis, logAxis, ninesAxis, renderChart } from "../../../../bench/load/report/chart.ts";
import { joinPoints, renderHtml } from "../../../../bench/load/report/html.ts";
import { createProgress, progressLine } from "../../../../bench/load/report/progress.ts";
import { type Report, reportOf } from "../../../../bench/load/report/report.ts";
import { renderText } from "../../../../bench/load/report/text.ts";
import { Tally } from "../../../../bench/load/tally.ts";
import { result } from "../../../support/load-fakes.ts";

const HOSTILE = `</td><script>alert("x")</script>&'`;
const KEY = "rcpt_live_verysecret";

function job(more: Partial<BulkView> = {}): BulkView {
  return {
    ...{
      number: 1,
      id: "job_1",
      rows: 100,
      atS: 0,
      status: "completed",
      submitMs: 12,
      endToEndMs: 500,
      rowsPerS: 200,
    },
    ...{ downloadMs: 20, downloadBytes: 900, verdicts: { valid: 100 }, triedAgain: 0, fault: null },
    ...more,
  };
}

function report(requests: number, bulk: BulkView[] = [], seconds = 3): Report {
  const argv = ["--url", "http://127.0.0.1:1", "--fail-on", "p99<1s,errors<0.1%", "--bulk-every", "9s"];
  const parsed = parseOptions(argv, { RCPT_KEY: KEY }, 1);
  assert.ok(!parsed.help);
  const tally = new Tally();
  for (let i = 0; i < requests; i++) {
    const request = {
      kind: "new",
      path: "/secret@example.com",
      intendedMs: 0,
      sentMs: 0,
      isWarmUp: false,
    } as const;
    tally.planned(request);
    tally.sent(request);
    tally.ended(
      request,
      i === 5 ? result({ status: 503, verdict: null, code: "unavailable" }) : result(),
      i + 1,
    );
  }
  for (let s = 1; s <= seconds; s++) tally.tick(s * 1_000);
  return reportOf({
    ...{ options: parsed.options, tally, bulk, bulkLeftOut: 0, ended: "duration", singlesMs: 2_000 },
    ...{ startedAtMs: 0, endedAtMs: 3_000, busy: 0.95, addresses: HOSTILE, isLive: true, notes: [HOSTILE] },
  });
}

describe("the report of a load", () => {
  it("has every answer in it, and neither key nor address", () => {
    const made = report(100, [job()]);
    assert.deepEqual([made.ok, made.statuses, made.codes], [99, { 200: 99, 503: 1 }, { unavailable: 1 }]);
    assert.equal(made.throughputPerS, 49.5);
    assert.deepEqual(
      made.thresholds.map(({ holds }) => holds),
      [true, false],
    );
    assert.ok(made.notes.some((note) => note.includes("may have been the limit")));
    for (const text of [JSON.stringify(made), renderText(made), renderHtml(made)]) {
      assert.doesNotMatch(text, /verysecret|secret(@|%40)/);
      assert.match(text, /job_1/);
    }
    assert.match(renderText(made), /BROKEN {2}errors<0\.1% {2}\(1 %\)/);
  });

  it("is one page that fetches nothing, runs nothing and escapes everything", () => {
    for (const made of [
      report(50, [job({ fault: HOSTILE, status: HOSTILE })]),
      report(1),
      report(0),
      report(0, [job()]),
    ]) {
      const html = renderHtml(made);
      assert.doesNotMatch(html, /<script|<link|<img|<iframe|src=|href=|url\(|@import|\son\w+=/i);
      assert.doesNotMatch(html, /alert\("x"\)/);
      assert.match(html, /&lt;script&gt;/);
      assert.match(html, /default-src 'none'/);
      assert.doesNotMatch(html, /NaN|Infinity|undefined|null|\[object/);
    }
  });

  it("plots what there is, and says so where there is nothing", () => {
    const html = renderHtml(report(200));
    assert.equal(html.match(/<svg /g)?.length, 3);
    const none = { title: "Empty", x: linearAxis(1, String), y: linearAxis(1, String), series: [] };
    assert.match(renderChart(none), /Empty: nothing to plot/);
  });

  it("joins seconds of a long run without losing a peak", () => {
    const points = Array.from({ length: 1_000 }, (_, i) => ({
      ...{ s: i + 1, sent: 10, answered: 10, ok: 10, failed: 0 },
      ...{ p50Us: 5, p99Us: i === 777 ? 9_000 : 50, maxUs: i % 2 ? 60 : null },
    }));
    const joined = joinPoints(points, 100);
    assert.equal(joined.length, 100);
    assert.equal(Math.max(...joined.map(({ p99Us }) => p99Us ?? 0)), 9_000);
    assert.ok(joined.every(({ sent, maxUs }) => sent === 10 && maxUs === 60));
    assert.equal(joined.at(-1)?.s, 1_000);
  });
});

describe("axes of its plots", () => {
  it("hold their values and have round ticks", () => {
    assert.deepEqual(
      linearAxis(230, String).ticks.map(({ label }) => label),
      ["0", "50", "100", "150", "200", "250"],
    );
    assert.equal(linearAxis(230, String).place(125), 0.5);
    assert.deepEqual(
      logAxis(300, 40_000, String).ticks.map(({ value }) => value),
      [100, 1_000, 10_000, 100_000],
    );
    assert.deepEqual(logAxis(5, 5, String).ticks.length, 2);
    assert.deepEqual(
      ninesAxis(0.9995).ticks.map(({ label }) => label),
      ["0 %", "90 %", "99 %", "99.9 %", "99.99 %"],
    );
    assert.ok(Math.abs(ninesAxis(0.999).place(0.9) - 1 / 3) < 1e-9);
  });
});

describe("progress of a load", () => {
  const watched = () => ({ tally: new Tally(), loop: null, bulk: null });

  it("is a line that is written over on a terminal, and one each five seconds elsewhere", () => {
    const written = (isTTY: boolean) => {
      const lines: string[] = [];
      const parts = watched();
      const progress = createProgress({ isTTY, columns: 40, write: (text) => lines.push(text) }, parts);
      for (let s = 1; s <= 10; s++) progress.tick(parts.tally.tick(s * 1_000));
      progress.end();
      return lines;
    };
    assert.equal(written(true).length, 11);
    assert.ok(written(true).every((line) => line.startsWith("\r") && line.length < 45));
    assert.deepEqual(written(false), ["5 s\n", "10 s\n"]);
  });

  it("reports failures as soon as they occur", () => {
    const parts = watched();
    const request = { kind: "new", path: "/", intendedMs: 0, sentMs: 0, isWarmUp: false } as const;
    parts.tally.ended(request, result({ status: 429, verdict: null }), 1);
    parts.tally.ended(request, { kind: "failure", cause: "reset" }, 1);
    parts.tally.unsent(request);
    assert.equal(progressLine(parts.tally.tick(1_000), parts), "1 s | 1 failed | 1 unsent | 1 × 429");
  });
});

describe("a bulk job that calls itself completed", () => {
  it("is at fault where rows are missing anywhere", () => {
    const state = (total: number, processed: number, valid: number) => ({
      ...{ id: "job_1", status: "completed", error: null },
      ...{ rows: { total, processed }, verdicts: { valid, invalid: 0, risky: 0, unknown: 0 } },
    });
    assert.equal(faultOf(state(10, 10, 10), 10, 10), null);
    assert.match(faultOf(state(9, 9, 9), 10, 9) ?? "", /the job has 9/);
    assert.match(faultOf(state(10, 9, 9), 10, 9) ?? "", /9 were processed/);
    assert.match(faultOf(state(10, 10, 9), 10, 9) ?? "", /9 have a verdict/);
    assert.match(faultOf(state(10, 10, 10), 10, 9) ?? "", /the results have 9/);
  });
});
