import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createControl,
  Interruption,
  interruptOnOutage,
} from "../../../../../src/features/bulk/run/control.ts";

const failing = (code: string) => () => Promise.reject(Object.assign(new Error("failed"), { code }));

describe("what a dependency answers", () => {
  it("is passed on; an outage interrupts the task, and keeps its cause", async () => {
    assert.equal(await interruptOnOutage(async () => 7), 7);
    for (const code of ["ECONNREFUSED", "57P01", "40P01", "53300", "25006", "28P01"])
      await assert.rejects(interruptOnOutage(failing(code)), (error) => {
        assert.ok(error instanceof Interruption);
        return (error.cause as { code: string }).code === code;
      });
  });

  it("is the task's own failure where waiting does not help", async () => {
    const permanent = [
      ...["23505", "22P02", "42703", "ERR_INVALID_ARG_TYPE"].map((code) => failing(code)),
      () => Promise.reject(new TypeError("undefined is no result")),
      async () => JSON.parse("<html>"),
      () => Promise.reject(Object.assign(new Error("denied"), { $metadata: { httpStatusCode: 403 } })),
    ];
    for (const question of permanent)
      await assert.rejects(interruptOnOutage(question), (error) => !(error instanceof Interruption));
  });

  it("is waited for where object storage, or what stands before it, is not well", async () => {
    const passing = [
      Object.assign(new Error("late"), { name: "TimeoutError" }),
      Object.assign(new SyntaxError("a proxy's page"), { $metadata: { httpStatusCode: 502 } }),
      Object.assign(new Error("skewed"), {
        name: "RequestTimeTooSkewed",
        $metadata: { httpStatusCode: 403 },
      }),
    ];
    for (const error of passing)
      await assert.rejects(
        interruptOnOutage(() => Promise.reject(error)),
        Interruption,
      );
  });
});

describe("a control", () => {
  it("notifies each listener once, and a late one at once", () => {
    const control = createControl();
    const told: string[] = [];
    control.onCancel(() => told.push("early"));
    assert.equal(control.cancelled(), false);
    control.cancel();
    control.cancel();
    control.onCancel(() => told.push("late"));
    assert.deepEqual([told, control.cancelled()], [["early", "late"], true]);
    assert.throws(() => control.signal.throwIfAborted(), Interruption);
  });
});
