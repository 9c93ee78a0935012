import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ownFields } from "../../../bench/api/http-connection.ts";
import { commandCounts } from "../../../bench/api/touched.ts";
import { InvalidRun } from "../../../bench/report/figures.ts";
import { requireRight } from "../../../bench/setup/context.ts";

describe("what a benchmark counts", () => {
  it("distinguishes calls of Redis from the commands of its scripts, and omits its own", () => {
    const info = [
      "# Commandstats",
      "cmdstat_evalsha:calls=10,usec=100,usec_per_call=10.00,rejected_calls=0,failed_calls=0",
      "cmdstat_time:calls=10,usec=5,usec_per_call=0.50,rejected_calls=0,failed_calls=0",
      "cmdstat_hset:calls=10,usec=5,usec_per_call=0.50,rejected_calls=0,failed_calls=0",
      "cmdstat_config|get:calls=2,usec=5,usec_per_call=0.50,rejected_calls=0,failed_calls=0",
      "cmdstat_info:calls=7,usec=5,usec_per_call=0.50,rejected_calls=0,failed_calls=0",
    ].join("\r\n");
    assert.deepEqual(commandCounts(info), { calls: 12, commands: 32 });
    assert.deepEqual(commandCounts(""), { calls: 0, commands: 0 });
  });

  it("calls a run invalid for a single wrong verdict, and says which", () => {
    assert.doesNotThrow(() => requireRight("engine", {}));
    assert.doesNotThrow(() => requireRight("bare", 0));
    assert.throws(() => requireRight("bare", 2), new InvalidRun("bare: 2 × wrong answers"));
    assert.throws(
      () => requireRight("engine", { "unknown timeout": 1 }),
      new InvalidRun("engine: 1 × unknown timeout"),
    );
  });

  it("copies the fields that the server wrote, not those that uWebSockets.js adds to any answer", () => {
    const head = [
      "HTTP/1.1 200 OK",
      "X-Request-Id: req_1",
      'RateLimit: "rate";r=1;t=1',
      "Date: Thu, 01 Jan 2026 00:00:00 GMT",
      "uWebSockets: 20",
      "Content-Length: 12",
    ].join("\r\n");
    assert.deepEqual(ownFields({ head, body: "" }), [
      ["X-Request-Id", "req_1"],
      ["RateLimit", '"rate";r=1;t=1'],
    ]);
  });
});
