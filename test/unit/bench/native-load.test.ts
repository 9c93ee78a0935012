import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { lateNotes, loneScript, readNativeRun, unlessLate } from "../../../bench/native-load.ts";
import { coresOf } from "../../../bench/pin.ts";
import { outcomeOf } from "../../../bench/target.ts";

describe("the script of wrk's own loop", () => {
  it("has wrk itself send the one request, whatever it consists of", () => {
    const script = loneScript('GET /?a="\\ HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.ok(
      script.startsWith(
        'wrk.format = function() return "GET /?a=\\"\\\\ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" end\n',
      ),
    );
    // With a function of the script it would be called for each.
    assert.ok(!script.includes("request = function"));
  });

  it("has what it counted read from among what wrk says", () => {
    const counts = '{"answered":12,"connect":0,"read":1,"write":0,"status":2,"late":4,"wallMs":1000.250}';
    const run = readNativeRun(`Running 1s test\n  12 requests in 1s\n\n${counts}\n`);
    const { answered, wrong, faults, late, wallMs } = run;
    // What took long was right.
    assert.deepEqual({ answered, wrong, late, wallMs }, { answered: 12, wrong: 3, late: 4, wallMs: 1000.25 });
    assert.deepEqual(Object.values(faults), [0, 1, 0, 2]);
    assert.throws(() => readNativeRun("unable to connect"), /did not say what it counted/);
  });
});

describe("answers that took 2 s or longer", () => {
  const target = { id: "x.cpu", what: "CPU a request", unit: "× raw", figure: 0.9, atLeast: 0.8 };

  it("are told of each server that has any", () => {
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

describe("the cores of a process", () => {
  it("are read from taskset's list", () => {
    assert.deepEqual(coresOf("0,1"), [0, 1]);
    assert.deepEqual(coresOf("2-4,8"), [2, 3, 4, 8]);
    assert.deepEqual(coresOf("5"), [5]);
  });
});
