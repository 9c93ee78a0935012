import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import * as v from "valibot";
import { collectedRoute, signedRoute } from "../../../../src/api/routing/route.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { until } from "../../../support/until.ts";
import {
  AUTHORIZATION,
  connect,
  EchoSchema,
  entryRoute,
  exchange,
  type Harness,
  startServer,
} from "../harness.ts";

const JSON_TYPE = "Content-Type: application/json";
const BODY = '{"label":"x"}'.padEnd(16_000);

const notifyRoute = signedRoute({
  method: "POST",
  path: "/notify",
  operationId: "notify",
  summary: "Notify",
  tag: "test",
  rate: "none",
  errors: [],
  query: "ignored",
  signedBody: EchoSchema,
  success: { status: 200, description: "Taken", schema: v.unknown() },
  verify: () => undefined,
  handler: () => ({}),
});

/** Unknown clients have memory for eight such bodies, and a site for two of them. */
const bodies = {
  ...LIMITS.http.bodies,
  unauthenticated: { bytes: 8 * 16_384, share: 1 / 8, siteShare: 1 / 4 },
};

describe("the memory for bodies without a credential", () => {
  const servers: Harness[] = [];
  after(async () => {
    for (const server of servers) await server.close();
  });

  async function serve(kept = {}) {
    const server = await startServer({
      extraRoutes: [entryRoute(), notifyRoute],
      trustedProxies: ["127.0.0.1"],
      limits: { bodies: { ...bodies, unauthenticated: { ...bodies.unauthenticated, ...kept } } },
    });
    servers.push(server);
    const post = async (from: string, path = "/v1/enter", body = BODY) => {
      const fields = [`POST ${path} HTTP/1.1`, JSON_TYPE, `X-Forwarded-For: ${from}`];
      return (await exchange(server.port, [...fields, `Content-Length: ${body.length}`], body)).status;
    };
    /** Begins bodies that are not ended, each from an address of its own. */
    const hold = (addresses: string[]) =>
      addresses.map((address) => {
        const client = connect(server.port);
        const head = `POST /v1/enter HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${address}\r\n${JSON_TYPE}\r\n`;
        client.send(`${head}Content-Length: 16384\r\n\r\n${" ".repeat(16_000)}`);
        return client;
      });
    return { post, hold };
  }

  it("is shared by IPv6 site: further networks of it get no more", async () => {
    const { post, hold } = await serve();
    const held = hold(["2001:db8:1:1::1", "2001:db8:1:2::1"]);
    await until("the site's share is used up", async () => (await post("2001:db8:1:3::1")) === 503);
    assert.equal(await post("2001:db8:2:1::1"), 201);
    assert.equal(await post("192.0.2.1"), 201);
    for (const client of held) client.destroy();
    await until("it is free", async () => (await post("2001:db8:1:3::1")) === 201);
  });

  it("has a part for small bodies, which large ones do not use up", async () => {
    const { post, hold } = await serve({ keptShare: 1 / 8, littleBytes: 4_096 });
    const held = hold(Array.from({ length: 7 }, (_, i) => `192.0.2.${i}`));
    await until("the rest is used up", async () => (await post("198.51.100.1")) === 503);
    assert.equal(await post("198.51.100.1", "/v1/enter", '{"label":"x"}'), 201);
    for (const client of held) client.destroy();
    await until("it is free", async () => (await post("198.51.100.1")) === 201);
  });

  it("is not that of signed notifications", async () => {
    const { post, hold } = await serve();
    const held = hold(Array.from({ length: 8 }, (_, i) => `192.0.2.${i}`));
    await until("it is used up", async () => (await post("198.51.100.1")) === 503);
    assert.equal(await post("198.51.100.1", "/notify"), 200);
    for (const client of held) client.destroy();
  });
});

it("a file that is collected is bytes as they came, charged to its team until the answer", async () => {
  const asked: (() => void)[] = [];
  const route = collectedRoute({
    method: "POST",
    path: "/files",
    operationId: "collect",
    summary: "Collect",
    tag: "test",
    role: "member",
    rate: "write",
    bodyBytes: 30_000,
    errors: [],
    success: { status: 200, description: "Collected", schema: v.unknown() },
    async handler({ body }) {
      const bytes = await body.bytes;
      await new Promise<void>((resolve) => asked.push(resolve));
      return { bytes: bytes.length };
    },
  });
  const server = await startServer({
    extraRoutes: [route],
    limits: { bodies: { ...LIMITS.http.bodies, teams: { bytes: 40_000, share: 1 } } },
  });
  const send = (bytes: number) =>
    exchange(
      server.port,
      ["POST /files HTTP/1.1", AUTHORIZATION, "Content-Encoding: gzip", `Content-Length: ${bytes}`],
      Buffer.alloc(bytes, "{"),
    );
  try {
    const first = send(30_000);
    await until("it is collected", () => asked.length === 1);
    assert.equal((await send(20_000)).json().code, "overloaded");
    assert.equal((await send(30_001)).json().code, "body_too_large");
    asked[0]?.();
    assert.deepEqual((await first).json(), { bytes: 30_000 });
    const next = send(20_000);
    await until("it is collected", () => asked.length === 2);
    asked[1]?.();
    assert.equal((await next).status, 200);
  } finally {
    await server.close();
  }
});
