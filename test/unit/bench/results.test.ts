import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { escapeCell, type Results, renderResults } from "../../../bench/report/results.ts";
import { headroom, type Target } from "../../../bench/report/target.ts";

const HOSTILE = `<script>alert("x")</script> & 'y' | z\n\`\`\``;

const targets: Target[] = [
  { id: "http.cpu", what: "CPU", unit: "× raw", figure: 0.4, atLeast: 0.8 },
  { id: "startup", what: "start", unit: "s", figure: 0.5, atMost: 1 },
  { id: "void", what: HOSTILE, unit: "×", figure: null, reason: HOSTILE, atMost: 2 },
  { id: "unbounded", what: "memory", unit: "MiB", figure: 195 },
];

const results: Results = {
  machine: {
    processor: HOSTILE,
    cores: 2,
    memoryGib: 24,
    system: "Linux 6",
    node: "20.19.0",
    postgres: "18.4",
    redis: "7.0.15",
    commit: "0123456789ab",
    date: "2026-01-02T03:04:05Z",
  },
  quick: true,
  tookS: 61.4,
  measured: [
    {
      name: "http",
      section: {
        title: "Cached",
        configuration: ["64 teams"],
        unit: "requests",
        lines: [],
        table: [
          ["", "rows"],
          [HOSTILE, "1"],
        ],
        notes: [],
        targets,
      },
      failure: null,
      isInvalid: false,
      tookS: 12.3,
      allowanceS: 25,
      targets,
    },
    {
      name: "bulk",
      section: null,
      failure: HOSTILE,
      isInvalid: true,
      tookS: 1,
      allowanceS: 25,
      targets: [{ id: "bulk.cached", what: "not measured", unit: "", figure: null, reason: HOSTILE }],
    },
  ],
};

describe("how far a figure is from its bound", () => {
  it("is more than 1 when it is reached, whichever way the bound is", () => {
    assert.equal(headroom({ id: "", what: "", unit: "", figure: 4, atLeast: 2 }), 2);
    assert.equal(headroom({ id: "", what: "", unit: "", figure: 4, atMost: 2 }), 0.5);
    assert.equal(headroom({ id: "", what: "", unit: "", figure: 4, atLeast: 2, atMost: 4 }), 1);
    assert.equal(headroom({ id: "", what: "", unit: "", figure: null, atMost: 2 }), null);
    assert.equal(headroom({ id: "", what: "", unit: "", figure: 4 }), null);
  });
});

describe("the files of a run", () => {
  const files = renderResults(results);

  it("are the same for the same results", () => {
    assert.deepEqual(renderResults(structuredClone(results)), files);
    assert.deepEqual(Object.keys(files), ["RESULTS.md", "results.json"]);
  });

  it("tell the machine, each section with its configuration and time, and what was not measured", () => {
    const text = files["RESULTS.md"] ?? "";
    for (const part of ["0123456789ab", "2026-01-02T03:04:05Z", "18.4, 7.0.15", "64 teams", "quick, 61 s"])
      assert.ok(text.includes(part), part);
    assert.match(text, /`http`: 12 s of 25 s allowed\./);
    assert.match(text, /not measured: /);
    assert.match(text, /1 targets reached, 1 missed, 2 void\./);
  });

  it("keep a cell in its cell, and a text in its fence", () => {
    assert.equal(escapeCell("a|b\nc<d>"), "a\\|b c\\<d\\>");
    const text = files["RESULTS.md"] ?? "";
    const outside = text.split(/^(`{3,})text\n[\s\S]*?^\1$/m).filter((part) => !/^`+$/.test(part));
    assert.doesNotMatch(outside.join(""), /(^|[^\\])<script/);
  });

  it("are data with the outcome of each target", () => {
    const data = JSON.parse(files["results.json"] ?? "");
    assert.equal(data.sections[0].targets[0].outcome, "missed");
    assert.equal(data.sections[1].failure, HOSTILE);
    assert.equal(data.sections[0].section.targets, undefined);
  });
});
