import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import * as v from "valibot";
import { signedRoute } from "../../../../src/api/routing/route.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { newSecret } from "../../../../src/features/identity/api-key.ts";
import { createClientLimiter } from "../../../../src/features/rate-limit/clients.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { until } from "../../../support/until.ts";
import {
  AUTHORIZATION,
  connect,
  EchoSchema,
  echoRoute,
  entryRoute,
  exchange,
  type Harness,
  startServer,
} from "../harness.ts";

const BURST = 5;
const JSON_TYPE = "Content-Type: application/json";

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
  verify() {
    throw new AppError("invalid_signature", "Not signed.");
  },
  handler: () => ({}),
});

/** One unit a second, five at once. */
async function serve() {
  const clock = createFakeClock();
  const clients = createClientLimiter({ ...LIMITS.clients, burst: BURST, unitsPerS: 1, debt: 0 });
  const server = await startServer({
    extraRoutes: [echoRoute(), entryRoute(), notifyRoute],
    trustedProxies: ["127.0.0.1"],
    clients,
    clock,
  });
  return { server, clock };
}

type Sent = { path?: string; fields?: string[]; body?: string; from?: string };

function post(server: Harness, { path = "/v1/enter", fields, body = '{"label":"x"}', from }: Sent = {}) {
  const head = [`POST ${path} HTTP/1.1`, `X-Forwarded-For: ${from ?? "2001:db8::1"}`];
  return exchange(server.port, [...head, ...(fields ?? [JSON_TYPE]), `Content-Length: ${body.length}`], body);
}

describe("refused bodies", () => {
  const servers: Harness[] = [];
  after(async () => {
    for (const server of servers) await server.close();
  });

  const refused: [string, Sent, number][] = [
    ["malformed", { body: "{" }, 400],
    ["too large", { body: " ".repeat(20_000) }, 413],
    ["of another type", { fields: ["Content-Type: text/plain"] }, 415],
    ["without a signature", { path: "/notify" }, 401],
    ["without a credential", { path: "/v1/echo" }, 401],
    ["for a path that does not exist", { path: "/v1/nothing" }, 404],
    [
      "for such a path with a forged key",
      { path: "/v1/nothing", fields: [JSON_TYPE, `Authorization: Bearer ${newSecret("live")}`] },
      404,
    ],
  ];
  for (const [what, sent, status] of refused)
    it(`count for their client's network, which is refused early once there are too many (${what})`, async () => {
      const { server, clock } = await serve();
      servers.push(server);
      for (let i = 0; i < BURST; i++) assert.equal((await post(server, sent)).status, status);
      const over = await post(server, { from: "2001:db8::2" });
      assert.deepEqual([over.status, over.json().code], [429, "rate_limited"]);
      assert.ok(Number(over.headers["retry-after"]) >= 1);
      // Refused before its body, of which nothing is sent here.
      const client = connect(server.port);
      client.send(
        `POST /v1/enter HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 2001:db8::3\r\n${JSON_TYPE}\r\nContent-Length: 9\r\n\r\n`,
      );
      await until("it is refused", () => client.received().includes('"rate_limited"'));
      client.destroy();
      // Clients in another network, and a team at the same address, are not affected.
      assert.equal((await post(server, { from: "2001:db8:0:1::1" })).status, 201);
      const ofTeam = await post(server, { path: "/v1/echo", fields: [JSON_TYPE, AUTHORIZATION] });
      assert.equal(ofTeam.status, 201);
      clock.advance(1_000);
      assert.equal((await post(server)).status, 201);
    });

  it("that come too slowly count", async () => {
    const { server, clock } = await serve();
    servers.push(server);
    const clients = Array.from({ length: BURST }, () => connect(server.port));
    for (const client of clients)
      client.send(
        `POST /v1/enter HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n${JSON_TYPE}\r\nContent-Length: 9\r\n\r\n{`,
      );
    await until("they have begun", async () =>
      (await server.metrics.registry.metrics()).includes(`rcpt_http_requests_in_flight ${BURST}`),
    );
    await clock.advanceAsync(6_000);
    for (const client of clients)
      await until("it is refused", () => client.received().startsWith("HTTP/1.1 408 "));
    assert.equal((await post(server, { from: "192.0.2.1" })).status, 429);
    assert.equal((await post(server, { from: "192.0.2.2" })).status, 201);
    for (const client of clients) client.destroy();
  });

  it("with a credential that is known are not charged for a path that does not exist", async () => {
    const { server } = await serve();
    servers.push(server);
    const sent = { path: "/v1/nothing", fields: [JSON_TYPE, AUTHORIZATION] };
    for (let i = 0; i < 2 * BURST; i++) assert.equal((await post(server, sent)).status, 404);
    assert.equal((await post(server)).status, 201);
  });

  it("of a team are not charged to its address", async () => {
    const { server } = await serve();
    servers.push(server);
    for (let i = 0; i < 2 * BURST; i++) {
      const reply = await post(server, { path: "/v1/echo", fields: [JSON_TYPE, AUTHORIZATION], body: "{" });
      assert.equal(reply.status, 400);
    }
    assert.equal((await post(server)).status, 201);
  });
});
