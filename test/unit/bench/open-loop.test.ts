import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type OpenRun, openLoopScript, readOpenRun, tailRatio } from "../../../bench/open-loop.ts";

const run = (p99Us: number, lagP99Us = 20): OpenRun => ({
  answered: 1,
  wrong: 0,
  perS: 1,
  p50Us: 1,
  p99Us,
  p999Us: p99Us,
  lagP99Us,
});

describe("the open loop", () => {
  it("is told what to ask, how often and how long", () => {
    const load = { port: 8080, rate: 65_000, connections: 256, warmS: 0.5, forS: 3 };
    const script = openLoopScript(load, ['GET /"\r\n\r\n']);
    assert.ok(
      script.startsWith(
        "local port, rate, connections, warmS, forS = 8080, 65000, 256, 0.5, 3\nlocal requests",
      ),
    );
    assert.ok(script.includes('  "GET /\\"\\r\\n\\r\\n",\n}\n'));
  });

  it("has its figures read from what it says", () => {
    assert.deepEqual(readOpenRun(`LuaJIT\n${JSON.stringify(run(70))}\n`), run(70));
    assert.throws(
      () => readOpenRun("open loop: cannot connect"),
      /did not say what it counted: open loop: cannot/,
    );
  });
});

describe("the tail of an open loop", () => {
  it("is our 99th percentile over the ceiling's, by medians", () => {
    assert.equal(tailRatio([run(90), run(100), run(900)], [run(50), run(50), run(60)]).figure, 2);
  });

  it("says nothing where the generator was late itself", () => {
    const { figure, reason } = tailRatio([run(90, 500)], [run(50, 900)]);
    assert.equal(figure, null);
    assert.match(reason ?? "", /700 us late/);
  });
});
