import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { AUTHORIZATION, echoRoute, exchange, type Harness, itemRoute, startServer } from "../harness.ts";

const APP = "https://app.example.com";
const VERIFY = "/v1/verify?email=a@example.com";

const send = (server: Harness, line: string, ...fields: string[]) =>
  exchange(server.port, [`${line} HTTP/1.1`, ...fields]);

const corsFields = (headers: Record<string, string>) =>
  Object.keys(headers).filter((name) => name.startsWith("access-control-"));

describe("without CORS_ORIGINS", () => {
  it("no answer says a word of it", async () => {
    const server = await startServer({ extraRoutes: [echoRoute()] });
    try {
      for (const line of [`GET ${VERIFY}`, "OPTIONS /v1/verify", "OPTIONS /v1/echo", "GET /nowhere"]) {
        const { headers } = await send(server, line, AUTHORIZATION, `Origin: ${APP}`);
        assert.deepEqual(corsFields(headers), [], line);
        assert.equal(headers.vary, undefined, line);
      }
    } finally {
      await server.close();
    }
  });
});

describe("with CORS_ORIGINS", () => {
  let server: Harness;
  before(async () => {
    server = await startServer({
      extraRoutes: [echoRoute(), itemRoute()],
      corsOrigins: [APP, "http://localhost:3000"],
    });
  });
  after(() => server.close());

  it("a page of a known origin may read answers, also refusals", async () => {
    for (const origin of [APP, "http://localhost:3000"])
      for (const [line, status] of [
        [`GET ${VERIFY}`, 200],
        ["GET /v1/verify", 400],
        ["GET /nowhere", 404],
        ["POST /v1/verify", 405],
      ] as const) {
        const reply = await send(server, line, AUTHORIZATION, `Origin: ${origin}`);
        assert.equal(reply.status, status, line);
        assert.equal(reply.headers["access-control-allow-origin"], origin, line);
        assert.equal(reply.headers.vary, "Origin");
        const exposed = reply.headers["access-control-expose-headers"] ?? "";
        const needed =
          "Accept-Ranges, Content-Disposition, Content-Range, ETag, Idempotent-Replayed, Location, RateLimit, " +
          "Retry-After, X-Request-Id";
        for (const name of needed.split(", ")) assert.ok(exposed.split(", ").includes(name), name);
        assert.equal(reply.headers["access-control-allow-credentials"], undefined);
      }
  });

  it("answers a preflight with the path's methods and our headers", async () => {
    const preflight = (path: string, method: string) =>
      send(
        server,
        `OPTIONS ${path}`,
        `Origin: ${APP}`,
        `Access-Control-Request-Method: ${method}`,
        "Access-Control-Request-Headers: authorization,content-type,idempotency-key",
      );
    for (const [path, method] of [
      ["/v1/echo", "POST"],
      ["/v1/items/known", "DELETE"],
      ["/v1/verify", "GET"],
    ] as const) {
      const { status, headers } = await preflight(path, method);
      assert.equal(status, 204);
      assert.equal(headers["access-control-allow-origin"], APP);
      assert.ok(headers["access-control-allow-methods"]?.split(", ").includes(method), path);
      const allowed = headers["access-control-allow-headers"]?.toLowerCase().split(", ") ?? [];
      const sent = ["authorization", "content-type", "idempotency-key", "range", "if-range", "last-event-id"];
      for (const name of sent) assert.ok(allowed.includes(name), name);
      assert.match(headers["access-control-max-age"] ?? "", /^\d+$/);
      assert.equal(headers.vary, "Origin");
    }
  });

  it("tells any other origin nothing", async () => {
    for (const origin of [
      "https://app.example.com.evil.test",
      "http://app.example.com",
      "https://APP.example.com",
      "https://app.example.com/",
      "null",
      "*",
    ])
      for (const line of [`GET ${VERIFY}`, "OPTIONS /v1/echo"]) {
        const { headers } = await send(server, line, AUTHORIZATION, `Origin: ${origin}`);
        assert.deepEqual(corsFields(headers), [], `${line} ${origin}`);
        // A shared cache must not give this answer to a page of a known origin.
        assert.equal(headers.vary, "Origin");
      }
    const none = await send(server, `GET ${VERIFY}`, AUTHORIZATION);
    assert.deepEqual(corsFields(none.headers), []);
  });
});
