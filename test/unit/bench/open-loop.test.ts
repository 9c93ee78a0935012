import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type OpenRun, openLoopScript, tailRatio } from "../../../bench/api/open-loop.ts";

const run = (p99Us: number, lagP99Us = 20, waited = 0): OpenRun => ({
  waited,
  answered: 100,
  wrong: 0,
  perS: 1,
  p50Us: 1,
  p99Us,
  p999Us: p99Us,
  lagP99Us,
});

describe("the open loop", () => {
  it("has the requests, their rate and the duration", () => {
    const load = { port: 8080, rate: 65_000, connections: 256, warmS: 0.5, forS: 3 };
    const script = openLoopScript(load, ['GET /"\r\n\r\n']);
    assert.ok(
      script.startsWith(
        "local port, rate, connections, warmS, forS = 8080, 65000, 256, 0.5, 3\nlocal requests",
      ),
    );
    assert.ok(script.includes('  "GET /\\"\\r\\n\\r\\n",\n}\n'));
  });
});

describe("the tail of an open loop", () => {
  it("is our 99th percentile over the ceiling's, by medians", () => {
    assert.equal(tailRatio([run(90), run(100), run(900)], [run(50), run(50), run(60)]).figure, 2);
  });

  it("says nothing where the generator was late itself, with either", () => {
    const { figure, reason } = tailRatio([run(90, 10)], [run(50, 390)]);
    assert.equal(figure, null);
    assert.match(reason ?? "", /390 us late/);
    assert.equal(tailRatio([run(90, 390)], [run(50, 10)]).figure, null);
  });

  it("says nothing where the generator was at its end: then it is never late by its own fault", () => {
    assert.match(
      tailRatio([run(9e5, -1, 100)], [run(9e5, -1, 100)]).reason ?? "",
      /could not keep up: 100 %/,
    );
    assert.equal(tailRatio([run(9e5, -1)], [run(50)]).figure, null);
    // If requests wait at a rate that raw sustains, the server is the cause.
    assert.equal(tailRatio([run(500, 20, 50)], [run(50, 20, 1)]).figure, 10);
  });
});
