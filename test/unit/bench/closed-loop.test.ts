import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { closedLoopScript, readClosedRun } from "../../../bench/closed-loop.ts";

const HOW = { port: 8080, connections: 256, forMs: 1_500 };

describe("the script of the closed loop", () => {
  it("is told its settings, and holds each request as it goes on the wire", () => {
    const script = closedLoopScript(HOW, ['GET /?a="\\ HTTP/1.1\r\nHost: x\r\n\r\n', "second"]);
    assert.ok(script.startsWith("local port, connections, forS = 8080, 256, 1.5\n"));
    assert.ok(script.includes('  "GET /?a=\\"\\\\ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n",\n  "second",\n'));
  });

  it("goes round its requests", () => {
    assert.ok(closedLoopScript(HOW, ["a", "b", "c"]).includes("at = at % 3 + 1"));
  });

  it("has what it counted read, wrong answers as faults", () => {
    const run = readClosedRun('\n{"answered":12,"wrong":3,"late":4,"wallMs":1500.250}\n');
    assert.deepEqual(run, {
      answered: 12,
      wrong: 3,
      late: 4,
      wallMs: 1500.25,
      faults: { "answers without success": 3 },
    });
    assert.throws(() => readClosedRun("unable to connect"), /did not say what it counted/);
  });
});
