import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createHeadTemplates } from "../../../../src/api/reply/head-template.ts";
import { problemReply } from "../../../../src/api/reply/problem.ts";
import { HttpReply } from "../../../../src/api/reply/reply.ts";
import { headParts, writeHead } from "../../../../src/api/reply/respond.ts";
import { createRequestIds } from "../../../../src/api/request/request-id.ts";
import { NO_QUOTA, type RateLimitState } from "../../../../src/features/quota/limits-view.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import fc from "../../../support/properties.ts";

const NUMBERS = [0, 1, 9, 10, 99, 100, 9_999, 10_000, 49_999_999, 2 ** 31 - 1, 2 ** 31, 2 ** 31 + 9];
NUMBERS.push(9_999_999_999, Number.MAX_SAFE_INTEGER);

function setUp() {
  const ids = createRequestIds();
  const heads = createHeadTemplates(ids, headParts);
  /** The head written field by field, for comparison with the template's. */
  function asText(reply: HttpReply, id: number, rate: RateLimitState, cors: string): string {
    const written: string[] = reply.status === 200 ? ["200 OK"] : [];
    const writer = {
      writeStatus: (status: string | Uint8Array) => written.push(String(status)),
      writeHeader: (name: string, value: string | Uint8Array) => written.push(`${name}: ${value}`),
    };
    const options = { requestId: ids.text(id), rate, cors, head: null };
    writeHead(writer, reply, {
      ...options,
      headOnly: false,
      close: false,
      mustClose: false,
    });
    return written.join("\r\n");
  }
  function requireSame(rate: RateLimitState, cors: string, reply = new HttpReply(200, "{}")): string {
    assert.ok(reply.isHeadShared);
    const id = ids.take();
    const bytes = Buffer.from(heads.fill(reply, id, rate, cors)).toString("latin1");
    assert.equal(bytes, asText(reply, id, rate, cors));
    return ids.text(id);
  }
  return { requireSame };
}

const REFUSALS = [
  new AppError("overloaded", "Too much.", { retryAfterS: 3 }),
  new AppError("bad_request", "Unclear.", { headers: { Connection: "close", Location: "/a\r\nX: 1" } }),
];

/** As it is sent from the second time on. */
function refusedAgain(error: AppError): HttpReply {
  problemReply(error, "req_1");
  return problemReply(error, "req_2");
}

describe("the head that answers share", () => {
  it("says the same in bytes as in strings, with an id of its own each time", () => {
    const { requireSame } = setUp();
    const seen = new Set<string>();
    const policy = '"rate";q=1;w=2, "quota";q=3;w=86400';
    for (const [i, rate] of NUMBERS.entries())
      for (const [j, quota] of NUMBERS.entries()) {
        const left = { rate, rateResetS: i + 1, quota, quotaResetS: 86_400 - j };
        seen.add(requireSame({ policy, name: "rate", ...left }, ""));
      }
    assert.equal(seen.size, NUMBERS.length ** 2);
  });

  it("is that of a refusal once what is thrown has refused another", () => {
    for (const error of REFUSALS) {
      const own = new AppError(error.code, error.message);
      assert.deepEqual(
        [own, own, own].map((one) => problemReply(one, "req_1").isHeadShared),
        [false, true, true],
      );
    }
    assert.equal(new HttpReply(200, "{}", { headers: { ETag: "x" } }).isHeadShared, false);
    assert.equal(new HttpReply(201, "{}").isHeadShared, false);
    assert.equal(new HttpReply(200, null).isHeadShared, false);
  });

  it("has nothing left of an earlier head, wherever numbers stay, move, grow or shrink", () => {
    const number = fc.constantFrom(0, 1, 9, 10, 99, 100, 10_000);
    const numbers = { rate: number, rateResetS: number, quotaResetS: number };
    const limits = fc.oneof(
      fc.record({
        policy: fc.constantFrom('"rate";q=1;w=2, "quota";q=3;w=4', '"rate";q=10;w=2, "quota";q=3;w=4'),
        name: fc.constant("rate"),
        quota: number,
        ...numbers,
      }),
      fc.record({
        policy: fc.constantFrom('"read";q=1;w=2', "odd\r\nInjected: yes"),
        name: fc.constant("read"),
        quota: fc.constant(NO_QUOTA),
        ...numbers,
      }),
    );
    const replies = [new HttpReply(200, "{}"), ...REFUSALS.map(refusedAgain)];
    const asked = fc.tuple(limits, fc.constantFrom("", "\r\nVary: Origin"), fc.constantFrom(...replies));
    fc.assert(
      fc.property(fc.array(asked, { minLength: 2, maxLength: 30 }), (all) => {
        const { requireSame } = setUp();
        for (const [rate, cors, reply] of all) requireSame(rate, cors, reply);
      }),
    );
  });
});
