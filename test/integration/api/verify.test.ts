import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import * as v from "valibot";
import { VerificationResultSchema } from "../../../src/api/schemas/verification.ts";
import { AppError } from "../../../src/platform/errors.ts";
import { actor, exchange, get, type Harness, openGate, resultFor, startServer } from "./harness.ts";

describe("GET /v1/verify", () => {
  let server: Harness;
  before(async () => {
    server = await startServer();
  });
  after(() => server.close());

  it("answers with the contract's fields and every standing header", async () => {
    const reply = await get(server.port, "/v1/verify?email=a@example.com");
    assert.equal(reply.status, 200);
    assert.ok(v.is(VerificationResultSchema, reply.json()));
    assert.equal(reply.headers["content-type"], "application/json");
    assert.equal(reply.headers["cache-control"], "no-store");
    assert.equal(reply.headers["x-content-type-options"], "nosniff");
    assert.equal(reply.headers["ratelimit-policy"], '"default";q=10;w=1');
    assert.equal(reply.headers.ratelimit, '"default";r=9;t=1');
    assert.match(reply.headers["x-request-id"] ?? "", /^req_[0-9a-z]{26}$/);
  });

  it("passes the address decoded, with a literal + as a plus, and the flags", async () => {
    server.verified.length = 0;
    await get(server.port, "/v1/verify?email=a+b%2Bc%40example.com&refresh=1&evidence=true&probe=0");
    await get(server.port, "/v1/verify?refresh=false&email=%C3%BC@example.com");
    assert.deepEqual(server.verified, [
      { email: "a+b+c@example.com", refresh: true, withEvidence: true, probe: false },
      { email: "ü@example.com", refresh: false, withEvidence: false, probe: true },
    ]);
  });

  it("gives control characters to the address check instead of cutting or refusing them", async () => {
    server.verified.length = 0;
    const reply = await get(server.port, "/v1/verify?email=a%0D%0ARCPT%00@example.com");
    assert.equal(reply.status, 200);
    assert.equal(server.verified[0]?.email, "a\r\nRCPT\0@example.com");
  });

  const refused: [string, string, string][] = [
    ["a missing address", "/v1/verify", "email"],
    ["an empty address", "/v1/verify?email=", "email"],
    ["an address over 320 bytes", `/v1/verify?email=${"%C3%BC".repeat(161)}`, "email"],
    ["two addresses", "/v1/verify?email=a@b.c&email=a@b.c", "email"],
    ["two addresses, one encoded", "/v1/verify?email=a@b.c&e%6dail=a@b.c", "email"],
    ["a refresh that is no boolean", "/v1/verify?email=a@b.c&refresh=yes", "refresh"],
    ["a probe that is no boolean", "/v1/verify?email=a@b.c&probe=no", "probe"],
    ["an unknown parameter", "/v1/verify?email=a@b.c&refesh=true", "refesh"],
    ["a parameter named like a prototype's", "/v1/verify?email=a@b.c&__proto__=1", "__proto__"],
  ];
  for (const [what, target, path] of refused) {
    it(`refuses ${what}`, async () => {
      const reply = await get(server.port, target);
      assert.equal(reply.status, 400);
      assert.equal(reply.headers["content-type"], "application/problem+json");
      const problem = reply.json() as { code: string; request_id: string; errors: { path: string }[] };
      assert.equal(problem.code, "validation_failed");
      assert.equal(problem.request_id, reply.headers["x-request-id"]);
      assert.deepEqual(
        problem.errors.map((error) => error.path),
        [path],
      );
    });
  }

  for (const value of ["%", "%4", "%zz", "%ff%fe", "%c0%80", "%ed%a0%80", "\xff\xfe"]) {
    it(`refuses ${JSON.stringify(value)}, which is not UTF-8 in percent-encoding`, async () => {
      const reply = await get(server.port, `/v1/verify?email=${value}@b.c`);
      assert.equal(reply.status, 400);
      assert.equal(reply.json().code, "bad_request");
    });
  }

  it("accepts 320 bytes exactly", async () => {
    const reply = await get(server.port, `/v1/verify?email=${"%C3%BC".repeat(160)}`);
    assert.equal(reply.status, 200);
  });

  it("answers 401 before it looks at the input", async () => {
    const reply = await exchange(server.port, ["GET /v1/verify?nonsense=% HTTP/1.1"]);
    assert.equal(reply.status, 401);
    assert.equal(reply.json().code, "unauthorized");
    assert.match(reply.headers["www-authenticate"] ?? "", /^Bearer/);
    assert.equal(reply.headers.ratelimit, undefined);
  });

  it("refuses HEAD, which would be charged for an answer without a body", async () => {
    const asked = server.verified.length;
    const reply = await exchange(server.port, [
      "HEAD /v1/verify?email=a@example.com HTTP/1.1",
      "Authorization: Bearer good",
    ]);
    assert.equal(reply.status, 405);
    assert.equal(reply.headers.allow, "GET, OPTIONS");
    assert.equal(server.verified.length, asked);
  });
});

describe("GET /v1/verify behind a gate that waits or refuses", () => {
  it("works when every step is asynchronous", async () => {
    const server = await startServer({
      gate: openGate({ authenticate: async () => actor, rateLimit: { take: async () => {} } }),
      verify: async (input) => resultFor(input.email),
    });
    try {
      const reply = await get(server.port, "/v1/verify?email=a@example.com");
      assert.equal(reply.status, 200);
      assert.equal(reply.json().email, "a@example.com");
    } finally {
      await server.close();
    }
  });

  it("says Retry-After and the limits on 429, before it validates", async () => {
    const take = () => {
      throw new AppError("rate_limited", "Slow down.", { retryAfterS: 2.1 });
    };
    const server = await startServer({ gate: openGate({ rateLimit: { take } }) });
    try {
      const reply = await get(server.port, "/v1/verify");
      assert.equal(reply.status, 429);
      assert.equal(reply.json().code, "rate_limited");
      assert.equal(reply.headers["retry-after"], "3");
      assert.equal(reply.headers.ratelimit, '"default";r=9;t=1');
    } finally {
      await server.close();
    }
  });

  it("is answered with a retryable error when a store is down, not with an internal one", async () => {
    const server = await startServer({ verify: () => Promise.reject(new Error("the database is gone")) });
    try {
      const reply = await get(server.port, "/v1/verify?email=someone@example.com");
      assert.deepEqual([reply.status, reply.json().code], [503, "unavailable"]);
      assert.equal(reply.headers["retry-after"], "1");
      assert.doesNotMatch(reply.body, /gone/);
    } finally {
      await server.close();
    }
  });

  for (const [how, verify] of [
    [
      "thrown",
      () => {
        throw new Error("secret someone@example.com");
      },
    ],
    ["rejected", () => Promise.reject(new Error("secret someone@example.com"))],
  ] as const) {
    it(`leaks nothing of an unexpected error that is ${how}, and logs it`, async () => {
      const server = await startServer({ verify });
      try {
        const reply = await get(server.port, "/v1/verify?email=someone@example.com");
        assert.equal(reply.status, 500);
        assert.equal(reply.json().code, "internal_error");
        assert.doesNotMatch(reply.body, /secret|someone|Error:|\.ts/);
        const failure = server.logged.find((event) => event.message === "a handler failed");
        assert.ok(failure?.err instanceof Error);
        assert.equal(failure.request_id, reply.headers["x-request-id"]);
      } finally {
        await server.close();
      }
    });
  }
});
