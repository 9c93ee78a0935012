import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  EXIT,
  exitCodeOf,
  formatBound,
  formatFigure,
  renderTargets,
  targetRows,
} from "../../../bench/report/report.ts";
import type { Target } from "../../../bench/report/target.ts";

const reached: Target = { id: "a.cpu", what: "cost", unit: "µs", figure: 3.456, atMost: 4 };
const missed: Target = { id: "b.rate", what: "rows", unit: "rows/s", figure: 99_999, atLeast: 100_000 };
const unbounded: Target = { id: "c.memory", what: "idle", unit: "MiB", figure: 195.4 };
const empty: Target = {
  id: "d.p99",
  what: "p99",
  unit: "×",
  figure: null,
  reason: "the server was idle",
  atMost: 2,
};

const measured = (targets: Target[], isInvalid = false) => ({ targets, isInvalid });

describe("figures and bounds", () => {
  it("are as exact as their size", () => {
    assert.equal(formatFigure(0.9041, "×"), "0.90 ×");
    assert.equal(formatFigure(27.04, "µs"), "27.0 µs");
    assert.equal(formatFigure(123_456.7, "rows/s"), "123,457 rows/s");
    assert.equal(formatFigure(1.5, ""), "1.50");
  });

  it("say which way the bound is", () => {
    assert.equal(formatBound(reached), "≤ 4.00 µs");
    assert.equal(formatBound(missed), "≥ 100,000 rows/s");
    assert.equal(formatBound({ ...reached, atLeast: 2 }), "2.00 to 4.00 µs");
    assert.equal(formatBound(unbounded), "");
  });
});

describe("the table of targets", () => {
  it("has a line for each, and the reason of those without a figure", () => {
    const lines = renderTargets([reached, missed, unbounded, empty]).split("\n");
    assert.equal(lines[0], "Targets");
    assert.match(lines[4] ?? "", /^a\.cpu +cost +3\.46 µs +≤ 4\.00 µs +reached, 1\.16 ×$/);
    assert.match(lines[5] ?? "", /^b\.rate +rows +99,999 rows\/s +≥ 100,000 rows\/s +missed, 1\.00 ×$/);
    assert.match(lines[6] ?? "", /^c\.memory +idle +195 MiB +unbounded$/);
    assert.match(lines[7] ?? "", /^d\.p99 +p99 +– +≤ 2\.00 × +void: the server was idle$/);
  });

  it("has a line of bounded length for whatever reason there is", () => {
    const [, row = []] = targetRows([{ ...empty, reason: `it failed:\n${"x".repeat(5_000)}` }]);
    const said = row.at(-1) ?? "";
    assert.equal(said.length, "void: ".length + 100);
    assert.match(said, /^void: it failed: x+…$/);
    const [, exact = []] = targetRows([{ ...empty, reason: "x".repeat(100) }]);
    assert.equal(exact.at(-1), `void: ${"x".repeat(100)}`);
  });
});

describe("the exit code", () => {
  it("is 0 only when every bounded line is reached", () => {
    assert.equal(exitCodeOf([measured([reached, unbounded]), measured([])]), EXIT.reached);
    assert.equal(exitCodeOf([measured([reached]), measured([missed])]), EXIT.notReached);
    assert.equal(exitCodeOf([measured([reached, empty])]), EXIT.notReached);
    assert.equal(exitCodeOf([measured([{ ...reached, figure: Number.NaN }])]), EXIT.notReached);
  });

  it("is 2 when anything was invalid, whatever else was reached", () => {
    assert.equal(exitCodeOf([measured([reached]), measured([], true)]), EXIT.invalid);
    assert.equal(exitCodeOf([measured([missed], true)]), EXIT.invalid);
  });
});
