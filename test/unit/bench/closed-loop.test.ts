import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { closedLoopScript, inTurn, lateNotes, unlessLate } from "../../../bench/api/closed-loop.ts";
import { readTold } from "../../../bench/api/lua.ts";
import { outcomeOf } from "../../../bench/report/target.ts";

const HOW = { port: 8080, connections: 256, forMs: 1_500 };

describe("the script of the closed loop", () => {
  it("has its settings, and each request as it is sent", () => {
    const lua = inTurn(['GET /?a="\\ HTTP/1.1\r\nHost: x\r\n\r\n', "second"]);
    const script = closedLoopScript(HOW, { lua, sleeps: false });
    assert.ok(script.startsWith("local port, connections, forS, waitMs = 8080, 256, 1.5, 0\n"));
    assert.ok(script.includes('  "GET /?a=\\"\\\\ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n",\n  "second",\n'));
    assert.ok(
      closedLoopScript(HOW, { lua, sleeps: true }).startsWith(
        "local port, connections, forS, waitMs = 8080, 256, 1.5, 1\n",
      ),
    );
  });

  it("goes round its requests", () => {
    assert.ok(inTurn(["a", "b", "c"]).includes("at = at % 3 + 1"));
  });

  it("has what it counted read from among what wrk says", () => {
    const counts = { answered: 12, wrong: 3, late: 4, wallMs: 1500.25 };
    assert.deepEqual(readTold(`Running 1s test\n${JSON.stringify(counts)}\n`), counts);
    assert.throws(() => readTold("unable to connect"), /did not say what it counted: unable/);
    assert.throws(() => readTold("", "the generator: cannot connect"), /the generator: cannot connect/);
  });
});

describe("answers that took 2 s or longer", () => {
  const target = { id: "x.cpu", what: "CPU a request", unit: "× raw", figure: 0.9, atLeast: 0.8 };

  it("are reported for each server that has any", () => {
    const servers = [
      { name: "rcpt", late: 0 },
      { name: "raw", late: 3 },
    ];
    assert.deepEqual(lateNotes(servers), ["raw: 3 answers took 2 s or longer"]);
  });

  it("leave a line of CPU without a figure, which keeps an earlier reason", () => {
    assert.equal(outcomeOf(unlessLate(target, { name: "rcpt", late: 0 })), "reached");
    const late = unlessLate(target, { name: "rcpt", late: 1 });
    assert.equal(outcomeOf(late), "void");
    assert.match(late.reason ?? "", /rcpt: 1 .* 2 s/);
    const idle = { ...target, figure: null, reason: "idle" };
    assert.equal(unlessLate(idle, { name: "rcpt", late: 1 }).reason, "idle");
  });
});
