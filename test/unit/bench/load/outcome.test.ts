import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readAnswer, retryAfterMs } from "../../../../bench/load/outcome.ts";

describe("what an answer says", () => {
  const read = (status: number, body: string, retryAfter: string | null = null) =>
    readAnswer(status, retryAfter, body, Date.UTC(2026, 0, 1));

  it("is a result where it is one", () => {
    assert.deepEqual(read(200, '{"verdict":"valid","cached":false}'), {
      ...{ kind: "answer", status: 200, code: null, verdict: "valid", cached: false, retryAfterMs: null },
    });
  });

  it("is no result by its status alone", () => {
    for (const body of ["", "{", "[]", "null", "{}", '{"verdict":1}', '{"verdict":"<b>"}', "<html>"])
      assert.deepEqual(read(200, body), { kind: "failure", cause: "malformed" }, body);
  });

  it("is a problem with its code and when to come again, and a refusal also without", () => {
    const refused = read(429, '{"code":"rate_limited"}', "3");
    assert.deepEqual(refused, {
      ...{
        kind: "answer",
        status: 429,
        code: "rate_limited",
        verdict: null,
        cached: null,
        retryAfterMs: 3_000,
      },
    });
    const bad = read(502, "<html>");
    assert.ok(bad.kind === "answer" && bad.status === 502 && bad.code === null);
    const odd = read(500, '{"code":"<script>"}');
    assert.ok(odd.kind === "answer" && odd.code === null, "a code is a name, or it is not told");
  });

  it("may name a date for coming again", () => {
    const nowMs = Date.UTC(2026, 0, 1);
    assert.equal(retryAfterMs("Thu, 01 Jan 2026 00:00:05 GMT", nowMs), 5_000);
    assert.equal(retryAfterMs("Wed, 31 Dec 2025 23:00:00 GMT", nowMs), 0);
    assert.equal(retryAfterMs("soon", nowMs), null);
    assert.equal(retryAfterMs(null, nowMs), null);
  });
});
