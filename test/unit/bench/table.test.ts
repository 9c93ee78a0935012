import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { alignColumns, ratio, renderSection } from "../../../bench/report/table.ts";

describe("the table of a benchmark", () => {
  it("aligns names and ratios to the left, figures to the right", () => {
    const rows = alignColumns([
      ["", "a/s", "ratio"],
      ["engine", "1", "x"],
      ["raw", "20,000", "longest"],
    ]);
    assert.deepEqual(rows, ["           a/s  ratio", "engine       1  x", "raw     20,000  longest"]);
    assert.deepEqual(alignColumns([]), []);
  });

  it("says what a ratio is of", () => {
    assert.equal(ratio(83, 100, "raw"), "0.83 × raw");
  });

  it("shows configuration, figures with their spread, ratios and notes", () => {
    const text = renderSection({
      title: "Probing",
      configuration: ["20 sites"],
      unit: "addresses",
      lines: [
        {
          name: "engine",
          figures: { perS: 12_345.6, cpuUs: 86.71, busy: 1.69, spread: 0.24 },
          ratios: ["0.83 × lock step", "2.18 × others"],
        },
      ],
      notes: ["406 connections"],
      targets: [],
    });
    const lines = text.split("\n");
    assert.equal(lines[0], "Probing");
    assert.equal(lines[1], "  20 sites");
    assert.match(lines[3] ?? "", /addresses\/s {2}spread {2}CPU µs each {3}busy {2}ratio/);
    assert.match(lines[4] ?? "", /^-+$/);
    assert.match(lines[5] ?? "", /^engine +12,346 +±12 % +86\.7 +169 % +0\.83 × lock step; 2\.18 × others$/);
    assert.equal(lines[6], "  406 connections");
  });
});
