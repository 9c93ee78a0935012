import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { escapeXml, headroom, renderPlot } from "../../../bench/report/plot.ts";
import { escapeCell, type Results, renderResults } from "../../../bench/report/results.ts";
import type { Target } from "../../../bench/report/target.ts";

const HOSTILE = `<script>alert("x")</script> & 'y' | z\n\`\`\``;

const targets: Target[] = [
  { id: "http.cpu", what: "CPU", unit: "× raw", figure: 0.4, atLeast: 0.8 },
  { id: "startup", what: "start", unit: "s", figure: 0.5, atMost: 1 },
  { id: "void", what: HOSTILE, unit: "×", figure: null, reason: HOSTILE, atMost: 2 },
  { id: "told", what: "memory", unit: "MiB", figure: 195 },
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

describe("the plot", () => {
  const svg = renderPlot(targets, HOSTILE);

  it("holds no markup but its own, no script, and refers to nothing", () => {
    const tags = new Set([...svg.matchAll(/<\/?([^\s>]+)/g)].map(([, name]) => name));
    assert.deepEqual([...tags].sort(), ["line", "rect", "svg", "text", "title"]);
    assert.doesNotMatch(svg, /<script|\son\w+=|href|url\(|<style/i);
    assert.equal(escapeXml("a\u0000<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  });

  it("has a bar for each bounded figure: left of the bound where missed, right of it where reached", () => {
    const bound = Number(/<line x1="([\d.]+)"[^>]*stroke-width="1.5"/.exec(svg)?.[1]);
    const bars = [...svg.matchAll(/<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"/g)].map(([, x, width]) => ({
      from: Number(x),
      to: Number(x) + Number(width),
    }));
    assert.equal(bars.length, 2);
    const [missed, reached] = bars;
    assert.ok(missed && reached);
    assert.ok(missed.from < bound && Math.abs(missed.to - bound) < 0.2);
    assert.ok(reached.to > bound && Math.abs(reached.from - bound) < 0.2);
    assert.match(svg, /void/);
    assert.doesNotMatch(svg, />told</);
  });

  it("stays in its frame however far a figure is from its bound, and with none at all", () => {
    const far = renderPlot(
      [
        { id: "zero", what: "", unit: "", figure: 0, atLeast: 1 },
        { id: "huge", what: "", unit: "", figure: 1e12, atLeast: 1 },
      ],
      "far",
    );
    assert.doesNotMatch(far, /NaN|Infinity/);
    for (const [, x, width] of far.matchAll(/<rect x="(-?[\d.]+)" y="[\d.]+" width="(-?[\d.]+)"/g)) {
      assert.ok(Number(x) >= 0 && Number(width) > 0);
      assert.ok(Number(x) + Number(width) <= 960);
    }
    assert.match(renderPlot([], "nothing"), /<\/svg>/);
  });
});

describe("the files of a run", () => {
  const files = renderResults(results);

  it("are the same for the same results", () => {
    assert.deepEqual(renderResults(structuredClone(results)), files);
    assert.deepEqual(Object.keys(files), ["RESULTS.md", "results.svg", "results.json"]);
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
