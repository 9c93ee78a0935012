import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createClient } from "../../../packages/client/src/client.ts";
import { RcptError, retryAfterOf } from "../../../packages/client/src/http/errors.ts";
import { LimitsSeen } from "../../../packages/client/src/http/limits.ts";
import { urlOf } from "../../../packages/client/src/http/paths.ts";
import { Waits } from "../../../packages/client/src/http/pause.ts";
import {
  KEYED_PATHS,
  mayRepeat,
  type Repeating,
  repeatingOf,
} from "../../../packages/client/src/http/repeat.ts";
import { describedRoutes } from "../../../scripts/build/described-routes.ts";

const error = (code: RcptError["code"], status: number) => new RcptError(code, code, { status });

describe("what is repeated", () => {
  it("by a key is what the service knows again by it", () => {
    const idempotent = describedRoutes(null).filter(
      (route) => "idempotent" in route && route.idempotent === true,
    );
    const paths = idempotent.map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual(paths.sort(), KEYED_PATHS.map((path) => `POST ${path}`).sort());
  });

  it("is by its method, its path, its key and its body", () => {
    const of = (method: string, path: string, hasKey = false, hasStream = false) =>
      repeatingOf({ method, path, hasKey, hasStream });
    assert.equal(of("GET", "/v1/verify"), "free");
    assert.equal(of("DELETE", "/v1/keys/{id}"), "free");
    assert.equal(of("POST", "/v1/uploads/{upload}/complete"), "free");
    assert.equal(of("POST", "/v1/verify/bulk", true), "keyed");
    assert.equal(of("POST", "/v1/verify/bulk"), "refused");
    assert.equal(of("POST", "/v1/team/transfer", true), "refused");
    assert.equal(of("PATCH", "/v1/team"), "refused");
    assert.equal(of("PUT", "/v1/uploads/{upload}", false, true), "never");
  });

  it("is what cannot be done twice by it", () => {
    const table: [RcptError, Repeating[]][] = [
      [error("rate_limited", 429), ["free", "keyed", "refused"]],
      [error("overloaded", 503), ["free", "keyed", "refused"]],
      [error("unavailable", 503), ["free"]],
      [error("network_error", 0), ["free", "keyed"]],
      [error("http_error", 502), ["free", "keyed"]],
      [error("http_error", 404), []],
      [error("idempotency_in_flight", 409), ["keyed"]],
      [error("internal_error", 500), []],
      [error("feature_unconfigured", 503), []],
      [error("unauthorized", 401), []],
      [error("malformed_answer", 0), []],
      [error("timeout", 0), []],
    ];
    for (const [failure, expected] of table)
      for (const repeating of ["free", "keyed", "refused", "never"] as const)
        assert.equal(
          mayRepeat(failure, repeating),
          expected.includes(repeating),
          `${failure.code} ${repeating}`,
        );
  });
});

describe("waits", () => {
  it("grow to a bound, with chance in them, and are never shorter than what was asked for", () => {
    const waits = new Waits(100, 400);
    for (const most of [100, 200, 400, 400]) {
      const ms = waits.nextMs();
      assert.ok(ms >= most / 2 && ms <= most, `${ms} of ${most}`);
    }
    assert.ok(waits.nextMs(5_000) >= 5_000);
    waits.reset();
    assert.ok(waits.nextMs() <= 100);
  });

  it("are read as seconds or as a date", () => {
    const nowMs = Date.parse("2026-01-01T00:00:00Z");
    const of = (value: string) => retryAfterOf(new Headers({ "Retry-After": value }), nowMs);
    assert.equal(of("7"), 7);
    assert.equal(of("Thu, 01 Jan 2026 00:00:09 GMT"), 9);
    assert.equal(of("Wed, 31 Dec 2025 00:00:00 GMT"), 0);
    assert.equal(of("soon"), null);
    assert.equal(retryAfterOf(new Headers(), nowMs), null);
  });
});

describe("limits that are no limits", () => {
  it("are left out", () => {
    const seen = new LimitsSeen();
    seen.onAnswer(
      "GET /v1/keys",
      new Headers({ RateLimit: '"mine";r=1;t=1, "read";r=x;t=1, "__proto__";r=1, "write' }),
    );
    assert.deepEqual(seen.limits, {});
    seen.onAnswer("GET /v1/keys", new Headers({ RateLimit: '"read";r=0;t=60' }));
    assert.equal(seen.limits.read?.limit, null);
    assert.ok(seen.waitMs("GET /v1/keys") > 0);
    assert.equal(seen.waitMs("POST /v1/keys"), 0);
  });
});

describe("a key", () => {
  it("that no header takes is refused by an error that does not say it", () => {
    for (const key of ["rcpt_live_a\nb", "rcpt_live_…b", "rcpt_live_a b", " "])
      assert.throws(
        () => createClient({ url: "https://x.test", key }),
        (error) => error instanceof TypeError && !error.message.includes("rcpt_live"),
      );
    // As files of secrets have it.
    createClient({ url: "https://x.test", key: "rcpt_live_ab\n" });
  });
});

describe("a request's URL", () => {
  it("has its parameters encoded, and no value that is not there", () => {
    const url = urlOf(
      "https://x.test/below",
      "/v1/a/{id}/b",
      { id: "a/../b?" },
      { n: 1, no: undefined, plus: "a+b" },
    );
    assert.equal(url, "https://x.test/below/v1/a/a%2F..%2Fb%3F/b?n=1&plus=a%2Bb");
    assert.throws(() => urlOf("", "/v1/a/{id}", {}), TypeError);
    assert.throws(() => urlOf("", "/v1/a/{id}", { id: "" }), TypeError);
  });
});
