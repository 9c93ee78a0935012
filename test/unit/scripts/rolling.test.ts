import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { quantile } from "../../../bench/report/figures.ts";
import { faultsOf, rowsOf } from "../../../scripts/rolling/lists.ts";
import { readOptions } from "../../../scripts/rolling/options.ts";
import { faultsOfPass, type Pass, renderPass } from "../../../scripts/rolling/report.ts";
import { causesOf, linesBy, type Sample } from "../../../scripts/rolling/tally.ts";

const sample = (changes: Partial<Sample> = {}): Sample => ({
  kind: "keep-alive",
  what: "verify, cached",
  ms: 2,
  failure: null,
  ...changes,
});

const pass = (changes: Partial<Pass> = {}): Pass => ({
  balancer: "HAProxy",
  rounds: 2,
  seconds: 10,
  samples: [sample(), sample({ kind: "new connection", ms: 4 })],
  restarts: [{ role: "api", endedMs: 1_600, startedMs: 900, exit: "exit code 0" }],
  lists: { jobs: 1, completed: 1, rowsIn: 30, rowsOut: 30, faults: [] },
  units: 32,
  charges: { used: 32, leased: 0, held: 0 },
  ...changes,
});

describe("rolling", () => {
  it("reads its options, and refuses what is none", () => {
    assert.deepEqual(readOptions([]), { balancers: ["haproxy", "nginx"], rounds: 2, rate: 30 });
    assert.deepEqual(readOptions(["--balancer", "nginx", "--rounds", "1"]).balancers, ["nginx"]);
    for (const wrong of [
      ["--balancer", "f5"],
      ["--rounds", "0"],
      ["--rate", "1.5"],
      ["--rate", "501"],
    ])
      assert.throws(() => readOptions(wrong), /^Error: --/);
  });

  it("counts by kind and by cause", () => {
    const samples = [
      sample(),
      sample({ failure: "ECONNRESET" }),
      sample({ what: "job", failure: "HTTP 503 x", kind: "new connection" }),
      sample({ failure: "ECONNRESET" }),
    ];
    assert.deepEqual(
      linesBy(samples, ({ kind }) => kind).map(({ name, requests, failed }) => [name, requests, failed]),
      [
        ["keep-alive", 3, 2],
        ["new connection", 1, 1],
      ],
    );
    assert.deepEqual(Object.fromEntries(causesOf(samples)), {
      "verify, cached: ECONNRESET": 2,
      "job: HTTP 503 x": 1,
    });
    assert.deepEqual([quantile([3, 1, 2], 0.5), quantile([], 0.5)], [2, 0]);
  });

  it("finds no fault where there is none, and each that is there", () => {
    assert.deepEqual(faultsOfPass(pass()), []);
    assert.match(renderPass(pass()), /nothing failed/);
    const faulty = pass({
      samples: [sample({ failure: "HTTP 502 bad" })],
      restarts: [{ role: "bulk", endedMs: 1, startedMs: 1, exit: "SIGKILL" }],
      charges: { used: 33, leased: 1, held: 2 },
    });
    assert.equal(faultsOfPass(faulty).length, 5);
    assert.match(renderPass(faulty), /failed requests 1, of these 5xx 1[\s\S]*FAULT bulk: SIGKILL/);
  });

  it("compares results with what was sent: each row once, in its place, answered truly", () => {
    const rows = rowsOf("t", 5);
    const line = (address: string) => `${address},${address.startsWith("missing") ? "invalid" : "valid"},r\n`;
    const csv = (addresses: readonly string[]) =>
      `email,rcpt_verdict,rcpt_reason\n${addresses.map(line).join("")}`;
    assert.deepEqual(faultsOf(rows, csv(rows)), { rows: 5, faults: [] });
    assert.ok(faultsOf(rows, csv(rows.slice(1))).faults.length > 0);
    assert.ok(faultsOf(rows, csv([...rows, ...rows.slice(0, 1)])).faults.length > 0);
    assert.equal(faultsOf(rows, csv(rows).replace(",invalid,", ",valid,")).faults.length, 1);
  });
});
