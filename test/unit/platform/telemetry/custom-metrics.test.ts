import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Histogram, Registry } from "prom-client";
import {
  CellCounter,
  ClearableGauge,
  DurationHistogram,
  PulledGauge,
} from "../../../../src/platform/telemetry/custom-metrics.ts";

const BUCKETS = [0.001, 0.01, 0.1, 1];

describe("tallies", () => {
  it("are added when their counter is read, once, to the counts made otherwise", async () => {
    const registry = new Registry();
    const counter = new CellCounter({ name: "c", help: "c", labelNames: ["a"], registers: [registry] });
    const [one, again] = [counter.tally({ a: "x" }), counter.tally({ a: "x" })];
    counter.tally({ a: "never" });
    one.count += 3;
    again.count += 2;
    counter.inc({ a: "x" });
    counter.inc({ a: "y" });
    const expected = '# HELP c c\n# TYPE c counter\nc{a="x"} 6\nc{a="y"} 1\n';
    assert.deepEqual((await registry.metrics()).split("\n").sort(), expected.split("\n").sort());
    assert.deepEqual((await registry.metrics()).split("\n").sort(), expected.split("\n").sort());
    one.count += 1;
    assert.match(await registry.metrics(), /c\{a="x"\} 7\n/);
  });
});

describe("durations", () => {
  it("read as prom-client's own histogram of the same observations", async () => {
    const ours = new Registry();
    const theirs = new Registry();
    const durations = new DurationHistogram({
      name: "d",
      help: "d",
      label: "route",
      buckets: BUCKETS,
      registers: [ours],
    });
    const histogram = new Histogram({
      name: "d",
      help: "d",
      labelNames: ["route"],
      buckets: BUCKETS,
      registers: [theirs],
    });
    for (const route of ["/a", '/b"\\']) {
      const series = durations.seriesOf(route);
      assert.equal(durations.seriesOf(route), series);
      for (const seconds of [0, 0.0005, 0.001, 0.0011, 0.1, 0.5, 1, 1.5, 20]) {
        series.observe(seconds);
        histogram.observe({ route }, seconds);
      }
    }
    const lines = async (registry: Registry) => (await registry.metrics()).split("\n").sort();
    assert.deepEqual(await lines(ours), await lines(theirs));
  });
});

describe("a gauge of what has to be found out", () => {
  it("has no series before it is known, nor once it is forgotten", async () => {
    const registry = new Registry();
    const registers = [registry];
    const plain = new ClearableGauge({ name: "g", help: "g", registers });
    const labelled = new ClearableGauge({ name: "l", help: "l", labelNames: ["a"], registers });
    const series = async () => (await registry.metrics()).split("\n").filter((line) => /^[gl]/.test(line));
    assert.deepEqual(await series(), []);
    plain.set(0);
    labelled.set({ a: "x" }, 2);
    assert.deepEqual(await series(), ["g 0", 'l{a="x"} 2']);
    plain.clear();
    labelled.clear();
    assert.deepEqual(await series(), []);
    plain.set(3);
    assert.deepEqual(await series(), ["g 3"]);
  });
});

describe("a gauge that asks", () => {
  it("stands at what its owner says whenever it is read, and at nothing before there is one", async () => {
    const registry = new Registry();
    const gauge = new PulledGauge({ name: "g", help: "g", registers: [registry] });
    assert.match(await registry.metrics(), /^g 0$/m);
    let stands = 3;
    gauge.readFrom(() => stands);
    assert.match(await registry.metrics(), /^g 3$/m);
    stands = 1;
    assert.match(await registry.metrics(), /^g 1$/m);
  });
});
