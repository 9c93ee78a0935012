import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseQuery } from "../../../../src/api/request/query.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import fc from "../../../support/properties.ts";

describe("parseQuery", () => {
  it("takes + as a plus in email and as a space elsewhere", () => {
    assert.deepEqual({ ...parseQuery("email=a+b@c.d&label=a+b") }, { email: "a+b@c.d", label: "a b" });
  });

  it("splits at the first = and skips empty pairs", () => {
    assert.deepEqual({ ...parseQuery("&a=b=c&&d&=e&") }, { a: "b=c", d: "", "": "e" });
  });

  it("returns any string that was percent-encoded, byte for byte", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        assert.equal(parseQuery(`email=${encodeURIComponent(text)}&x=1`).email, text);
      }),
    );
  });

  it("returns a record or throws an AppError with status 400, whatever it is given", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        try {
          for (const value of Object.values(parseQuery(text))) assert.equal(typeof value, "string");
        } catch (error) {
          assert.ok(error instanceof AppError);
          assert.equal(error.status, 400);
        }
      }),
    );
  });

  it("bounds the number of parameters", () => {
    const of = (count: number) => Array.from({ length: count }, (_, i) => `p${i}=`).join("&");
    assert.equal(
      Object.keys(parseQuery(of(LIMITS.http.queryParameters))).length,
      LIMITS.http.queryParameters,
    );
    assert.throws(() => parseQuery(of(LIMITS.http.queryParameters + 1)), { code: "bad_request" });
  });
});
