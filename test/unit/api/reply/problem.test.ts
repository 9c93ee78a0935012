import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { problemReply } from "../../../../src/api/reply/problem.ts";
import { HttpReply } from "../../../../src/api/reply/reply.ts";
import { type ResponseWriter, writeReply } from "../../../../src/api/reply/respond.ts";
import { ProblemSchema } from "../../../../src/api/schemas/problem.ts";
import { AppError, ERRORS, type ErrorCode } from "../../../../src/platform/errors.ts";

const body = (reply: HttpReply) => JSON.parse(String(reply.body));

describe("problemReply", () => {
  for (const code of Object.keys(ERRORS) as ErrorCode[]) {
    it(`renders ${code} with its status and what the status demands`, () => {
      const reply = problemReply(new AppError(code, "Detail."), "req_1");
      assert.equal(reply.status, ERRORS[code].status);
      assert.equal(reply.contentType, "application/problem+json");
      assert.ok(v.is(ProblemSchema, body(reply)));
      assert.equal(reply.headers["WWW-Authenticate"] !== undefined, reply.status === 401);
      assert.equal(reply.headers["Retry-After"] !== undefined, reply.status === 429 || reply.status === 503);
    });
  }

  it("shows nothing of what is no AppError", () => {
    for (const thrown of [
      new TypeError("secret"),
      "secret",
      null,
      { message: "secret", code: "not_found" },
    ]) {
      const reply = problemReply(thrown, "req_1");
      assert.equal(reply.status, 500);
      assert.doesNotMatch(String(reply.body), /secret/);
    }
  });

  it("rounds Retry-After up to whole seconds, at least one", () => {
    const of = (retryAfterS: number) =>
      problemReply(new AppError("rate_limited", "", { retryAfterS }), "req_1").headers["Retry-After"];
    assert.deepEqual([of(0), of(0.2), of(1.01), of(60)], ["1", "1", "2", "60"]);
  });
});

describe("writeReply", () => {
  it("lets no control character of a header value reach the wire", () => {
    const written: string[] = [];
    const note = (...parts: unknown[]) => written.push(parts.join("="));
    const writer: ResponseWriter = { writeStatus: note, writeHeader: note, end: note, endWithoutBody: note };
    const reply = new HttpReply(202, "{}", { headers: { Location: "/a\r\nSet-Cookie: x=1\0" } });
    const numbers = { rate: 1, rateResetS: 1, quota: 1, quotaResetS: 1 };
    const rate = { policy: "p\r\nX: 1", name: "n\r\nX: 2", ...numbers };
    writeReply(writer, reply, {
      requestId: "req_1",
      rate,
      cors: "",
      head: null,
      headOnly: false,
      close: false,
      mustClose: false,
    });
    const text = written.join("\r\n");
    assert.match(text, /Location: \/aSet-Cookie: x=1/);
    assert.doesNotMatch(text, /^(Set-Cookie|X):/m);
  });
});
