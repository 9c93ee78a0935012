import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLog } from "../../../src/platform/log.ts";

/** The line that `log.warn({ err }, …)` writes, as text. */
function lineOf(err: unknown): string {
  let line = "";
  createLog("debug", {}, { write: (text) => (line += text) }).warn({ err }, "failed");
  return line;
}

function logged(err: unknown) {
  return JSON.parse(lineOf(err)).err;
}

describe("an error in the log", () => {
  it("is its type, message, code, stack and causes", () => {
    const cause = Object.assign(new TypeError("inner"), { code: "EINNER" });
    const error = Object.assign(new Error("outer", { cause }), { code: 7 });
    assert.deepEqual(logged(error), {
      type: "Error",
      message: "outer",
      code: 7,
      stack: error.stack,
      cause: { type: "TypeError", message: "inner", code: "EINNER", stack: cause.stack },
    });
  });

  it("says nothing of the command that Redis refused, nor of the row that Postgres did, at any depth", () => {
    const redis = Object.assign(new Error("WRONGPASS invalid username-password pair"), {
      command: { name: "auth", args: ["pa55word"] },
      previousErrors: [new Error("pa55word")],
    });
    const postgres = Object.assign(
      new Error("duplicate key value violates unique constraint", { cause: redis }),
      {
        code: "23505",
        detail: "Key (email)=(someone@example.com) already exists.",
        query: "insert into users values ('someone@example.com')",
        parameters: ["someone@example.com"],
      },
    );
    for (const error of [redis, postgres, new Error("a request failed", { cause: postgres })]) {
      assert.match(lineOf(error), /WRONGPASS/);
      assert.doesNotMatch(lineOf(error), /pa55word|someone/);
    }
    assert.equal(logged(postgres).code, "23505");
  });

  it("may be anything that was thrown, and its causes a ring", () => {
    assert.deepEqual(logged("text"), { type: "string", message: "text" });
    assert.deepEqual(logged({ password: "pa55word" }), { type: "object", message: "" });
    const ring: Error & { cause?: unknown } = new Error("round");
    ring.cause = ring;
    assert.equal(lineOf(ring).match(/"message":"round"/g)?.length, 5);
  });
});
