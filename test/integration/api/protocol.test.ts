import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import * as v from "valibot";
import { publicRoute, teamRoute } from "../../../src/api/routing/route.ts";
import { AppError } from "../../../src/platform/errors.ts";
import {
  AUTHORIZATION,
  actor,
  connect,
  echoRoute,
  exchange,
  get,
  type Harness,
  itemRoute,
  openGate,
  READY,
  resultFor,
  startServer,
} from "./harness.ts";

describe("paths, methods and ids", () => {
  let server: Harness;
  before(async () => {
    server = await startServer({ extraRoutes: [echoRoute(), itemRoute()] });
  });
  after(() => server.close());

  for (const path of [
    "/",
    "/v1",
    "/v1/verify/",
    "//v1/verify",
    "/v1/VERIFY",
    "/v1/items",
    "/v1/items/",
    "/v1/items/a/b",
  ]) {
    it(`knows nothing at ${path}`, async () => {
      const reply = await get(server.port, path);
      assert.equal(reply.status, 404);
      assert.equal(reply.json().code, "not_found");
      assert.match(reply.headers["x-request-id"] ?? "", /^req_/);
    });
  }

  it("answers a wrong method with 405 and what is allowed", async () => {
    for (const method of ["POST", "BREW", "get"]) {
      const reply = await exchange(server.port, [`${method} /v1/verify HTTP/1.1`, AUTHORIZATION]);
      assert.equal(reply.status, 405);
      assert.equal(reply.json().code, "method_not_allowed");
      assert.equal(reply.headers.allow, "GET, OPTIONS");
    }
    const text = await server.metrics.registry.metrics();
    assert.match(text, /method="other",status="405"/);
    assert.doesNotMatch(text, /BREW/);
  });

  it("answers OPTIONS with 204, what is allowed, and no CORS", async () => {
    const reply = await exchange(server.port, [
      "OPTIONS /v1/items/1 HTTP/1.1",
      "Origin: https://example.com",
    ]);
    assert.equal(reply.status, 204);
    assert.equal(reply.headers.allow, "DELETE, OPTIONS");
    assert.equal(reply.headers["content-length"], undefined);
    assert.equal(reply.headers["access-control-allow-origin"], undefined);
  });

  it("decodes path parameters, refuses malformed ones, and sends 204 without a body", async () => {
    const known = await exchange(server.port, ["DELETE /v1/items/known%20one HTTP/1.1", AUTHORIZATION]);
    assert.equal(known.status, 204);
    assert.equal(known.headers["content-type"], undefined);
    const unknown = await exchange(server.port, ["DELETE /v1/items/other HTTP/1.1", AUTHORIZATION]);
    assert.equal(unknown.status, 404);
    const malformed = await exchange(server.port, ["DELETE /v1/items/%ff HTTP/1.1", AUTHORIZATION]);
    assert.equal(malformed.status, 400);
  });

  it("keeps the connection usable after 204 and HEAD", async () => {
    const client = connect(server.port);
    try {
      client.send("OPTIONS /v1/verify HTTP/1.1\r\nHost: a\r\n\r\n");
      assert.equal((await client.reply()).status, 204);
      client.send("HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
      assert.equal((await client.reply(true)).headers["content-length"], "15");
      client.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
      assert.equal((await client.reply()).body, '{"status":"ok"}');
    } finally {
      client.destroy();
    }
  });

  it("takes a sane X-Request-Id from the request and replaces any other", async () => {
    const sane = await get(server.port, "/healthz", "X-Request-Id: abc-1.2_Z");
    assert.equal(sane.headers["x-request-id"], "abc-1.2_Z");
    for (const id of [
      ...["a b", 'x"', "é", "\xe4\xf6\xfc", "a,b", "<script>alert(1)</script>", ""],
      "a%0d%0aSet-Cookie: a=b",
      "a".repeat(129),
      "a".repeat(10_000),
    ]) {
      const reply = await get(server.port, "/nowhere", `X-Request-Id: ${id}`);
      const replaced = reply.headers["x-request-id"] ?? "";
      assert.match(replaced, /^req_[0-9a-z]{26}$/);
      assert.equal(reply.json().request_id, replaced);
      assert.equal(reply.headers["set-cookie"], undefined);
    }
  });
});

describe("operations", () => {
  it("reports each dependency, and is a 503 only when a required one is down", async () => {
    let state = READY;
    const server = await startServer({ readiness: async () => state });
    try {
      const ready = await get(server.port, "/readyz");
      assert.deepEqual([ready.status, ready.json()], [200, READY]);
      state = { status: "degraded", dependencies: { ...READY.dependencies, objects: "down" } };
      const degraded = await get(server.port, "/readyz");
      assert.deepEqual([degraded.status, degraded.json()], [200, state]);
      state = { status: "unavailable", dependencies: { ...READY.dependencies, postgres: "down" } };
      const down = await get(server.port, "/readyz");
      assert.deepEqual([down.status, down.json()], [503, state]);
    } finally {
      await server.close();
    }
  });

  it("serves the OpenAPI document to anybody, also with a cache-buster", async () => {
    const server = await startServer();
    try {
      const reply = await exchange(server.port, ["GET /openapi.json?v=3 HTTP/1.1"]);
      assert.equal(reply.status, 200);
      assert.equal(reply.json().openapi, "3.1.0");
      assert.match(reply.headers["cache-control"] ?? "", /max-age/);
    } finally {
      await server.close();
    }
  });
});

describe("the client's address", () => {
  const whoami = publicRoute({
    method: "GET",
    path: "/whoami",
    operationId: "whoami",
    summary: "Who am I?",
    tag: "test",
    rate: "none",
    readsClientAddress: true,
    errors: [],
    success: { status: 200, description: "Address", schema: v.string() },
    handler: (_input, { clientAddress }) => clientAddress,
  });

  it("is the peer's unless the peer is a trusted proxy, and the last field counts last", async () => {
    const forwarded = ["X-Forwarded-For: 1.1.1.1", "X-Forwarded-For: 203.0.113.9"];
    for (const [trustedProxies, expected] of [
      [[], "127.0.0.1"],
      [["127.0.0.0/8"], "203.0.113.9"],
    ] as [string[], string][]) {
      const server = await startServer({ extraRoutes: [whoami], trustedProxies });
      try {
        assert.equal((await get(server.port, "/whoami", ...forwarded)).body, JSON.stringify(expected));
      } finally {
        await server.close();
      }
    }
  });
});

describe("roles", () => {
  it("refuses a role that is too low, and serves one that is sufficient", async () => {
    const owners = teamRoute({
      method: "GET",
      path: "/v1/owners",
      operationId: "owners",
      summary: "Owners only",
      tag: "test",
      role: "owner",
      rate: "read",
      errors: [],
      success: { status: 200, description: "Role", schema: v.string() },
      handler: (_input, caller) => caller.role,
    });
    for (const [role, status] of [
      ["member", 403],
      ["admin", 403],
      ["owner", 200],
    ] as const) {
      const gate = openGate({ authenticate: () => ({ ...actor, role }) });
      const server = await startServer({ extraRoutes: [owners], gate });
      try {
        const reply = await get(server.port, "/v1/owners");
        assert.equal(reply.status, status);
        if (status === 403) assert.equal(reply.json().code, "insufficient_role");
      } finally {
        await server.close();
      }
    }
  });
});

describe("the access log", () => {
  it("holds one wide event per request and neither query nor address", async () => {
    const server = await startServer();
    try {
      const ok = await get(server.port, "/v1/verify?email=someone@example.com");
      await get(server.port, "/v1/verify?email=%zz-someone");
      await get(server.port, "/someone@example.com");
      const [first, second, third] = server.logged;
      assert.equal(first?.request_id, ok.headers["x-request-id"]);
      assert.deepEqual(
        { ...first, ms: 0, request_id: "" },
        {
          request_id: "",
          method: "GET",
          route: "/v1/verify",
          status: 200,
          ms: 0,
          bytes: ok.body.length,
          team_id: "team_1",
          key_id: "key_1",
          credential: "key",
          tier: "enterprise",
          livemode: true,
          level: "info",
          message: "request",
        },
      );
      assert.deepEqual([second?.status, second?.code, second?.level], [400, "bad_request", "warn"]);
      assert.deepEqual([third?.status, third?.route], [404, "unmatched"]);
      assert.doesNotMatch(JSON.stringify(server.logged), /someone/);
      const text = await server.metrics.registry.metrics();
      assert.match(text, /rcpt_http_requests_total\{route="\/v1\/verify",method="GET",status="200"\} 1/);
    } finally {
      await server.close();
    }
  });

  it("logs one success in so many, and every failure", async () => {
    const verify = () => {
      throw new AppError("unavailable", "Not now.");
    };
    const server = await startServer({ verify, limits: { logSampleEvery: 10 } });
    try {
      for (let i = 0; i < 20; i++) await get(server.port, "/healthz");
      assert.equal(server.logged.length, 2);
      for (let i = 0; i < 3; i++) await get(server.port, "/v1/verify?email=a@b.c");
      assert.equal(server.logged.length, 5);
    } finally {
      await server.close();
    }
  });
});

describe("the limits of a connection", () => {
  it("answers pipelined requests in order while the answers come at once", async () => {
    const server = await startServer();
    const client = connect(server.port);
    try {
      const target = (n: number) =>
        `GET /v1/verify?email=${n}@example.com HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}\r\n\r\n`;
      client.send([1, 2, 3, 4].map(target).join(""));
      for (const n of [1, 2, 3, 4]) assert.equal((await client.reply()).json().email, `${n}@example.com`);
    } finally {
      client.destroy();
      await server.close();
    }
  });

  it("closes on a request pipelined behind one that is being worked on, and cancels that", async () => {
    let cancelled = 0;
    let release: () => void = () => {};
    const server = await startServer({
      verify: (input, _actor, context) =>
        new Promise((resolve) => {
          context.onCancel(() => cancelled++);
          release = () => resolve(resultFor(input.email));
        }),
    });
    const client = connect(server.port);
    try {
      const request = `GET /v1/verify?email=a@b.c HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}\r\n\r\n`;
      client.send(request + request);
      assert.equal(await client.closed(), "");
      assert.equal(cancelled, 1);
    } finally {
      release();
      client.destroy();
      await server.close();
    }
  });

  it("closes connections beyond the bound", async () => {
    const server = await startServer({ limits: { connections: 2 } });
    const clients = [connect(server.port), connect(server.port)];
    try {
      for (const client of clients) {
        client.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
        assert.equal((await client.reply()).status, 200);
      }
      const third = connect(server.port);
      assert.equal(await third.closed(), "");
      clients[0]?.destroy();
      await clients[0]?.closed();
      const request = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
      clients[1]?.send(request);
      assert.equal((await clients[1]?.reply())?.status, 200);
    } finally {
      for (const client of clients) client.destroy();
      await server.close();
    }
  });
});

describe("the limits of a request's head", () => {
  let server: Harness;
  before(async () => {
    server = await startServer({ gate: openGate() });
  });
  after(() => server.close());

  it("answers a target over 8 KB with 414", async () => {
    const reply = await get(server.port, `/v1/verify?email=${"a".repeat(9_000)}`);
    assert.equal(reply.status, 414);
    assert.equal(reply.json().code, "uri_too_long");
    assert.equal(server.verified.length, 0);
  });

  it("refuses a 1 MB query with an error and a closed connection, and goes on", async () => {
    for (const text of ["a", "%0D%0A"]) {
      const client = connect(server.port);
      const email = text.repeat((1 << 20) / text.length);
      client.send(`GET /v1/verify?email=${email} HTTP/1.1\r\n${AUTHORIZATION}\r\nHost: a\r\n\r\n`);
      assert.match(await client.closed(), /^(HTTP\/1\.1 (400|414|431|505) |$)/);
    }
    assert.equal(server.verified.length, 0);
    assert.equal((await get(server.port, "/healthz")).status, 200);
  });

  it("takes a header of 12 KB in pieces", async () => {
    const client = connect(server.port);
    try {
      client.send(`GET /healthz HTTP/1.1\r\nHost: a\r\nCookie: ${"a".repeat(6_000)}`);
      await new Promise((resolve) => setImmediate(resolve));
      client.send(`${"a".repeat(6_000)}\r\n\r\n`);
      assert.equal((await client.reply()).status, 200);
    } finally {
      client.destroy();
    }
  });

  for (const field of ["Cookie: ", "Authorization: Bearer "])
    it(`refuses a 64 KB header that never ends with 431: ${field}`, async () => {
      const client = connect(server.port);
      client.send(`GET /healthz HTTP/1.1\r\nHost: a\r\n${field}${"a".repeat(65_536)}`);
      assert.match(await client.closed(), /^HTTP\/1\.1 431 /);
    });

  for (const [what, bytes] of [
    ["no HTTP at all", "\x00\x01garbage\r\n\r\n"],
    ["a NUL in the target", "GET /healthz?\x00 HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["a space in the target", "GET /healthz?a b HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["bare line feeds", "GET /healthz HTTP/1.1\nHost: a\n\n"],
    ["HTTP/1.0", "GET /healthz HTTP/1.0\r\n\r\n"],
  ] as const) {
    it(`refuses ${what} and closes`, async () => {
      const client = connect(server.port);
      client.send(bytes);
      const text = await client.closed();
      assert.match(text, /^HTTP\/1\.1 (400|505) /);
      assert.match(text, /Connection: close/);
    });
  }

  it("serves nothing of a CR in the target, and closes", async () => {
    const client = connect(server.port);
    client.send("GET /healthz?\r HTTP/1.1\r\nHost: a\r\n\r\n");
    // uWebSockets.js for Node.js 20 refuses it at once; that for 22 and newer waits for more and ends with its idle timeout.
    assert.match(await client.closed(), /^$|^HTTP\/1\.1 (400|505) .*Connection: close/s);
  });
});
