import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createPublicLimitsView } from "../../../src/features/quota/limits-view.ts";
import { createPublicRate } from "../../../src/features/rate-limit/clients.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { limitFields } from "../../support/rate-fields.ts";
import { connect, entryRoute, exchange, get, type Harness, openGate, startServer } from "./harness.ts";

/** What answers without a credential say of the rate of the client's address. */
describe("the rate of a client's address", () => {
  let server: Harness;
  before(async () => {
    const publicRate = createPublicRate();
    server = await startServer({
      extraRoutes: [entryRoute()],
      trustedProxies: ["127.0.0.1"],
      gate: openGate({ publicRate, publicLimitsLeft: createPublicLimitsView(publicRate) }),
      clock: createFakeClock(),
    });
  });
  after(() => server.close());

  async function enter(from: string, body = '{"label":"x"}') {
    const fields = ["POST /v1/enter HTTP/1.1", "Content-Type: application/json", `X-Forwarded-For: ${from}`];
    const reply = await exchange(server.port, [...fields, `Content-Length: ${body.length}`], body);
    const headers = new Headers();
    for (const name of ["ratelimit", "ratelimit-policy"]) headers.set(name, reply.headers[name] ?? "");
    return { status: reply.status, limits: limitFields(headers) };
  }

  it("is in each answer of a route that it is taken from, the refusal too", async () => {
    const left = (r: number) => ({ client: { q: 500, w: 10, r, t: 1 } });
    assert.deepEqual(await enter("192.0.2.1"), { status: 201, limits: left(499) });
    assert.deepEqual(await enter("192.0.2.1", "{}"), { status: 400, limits: left(498) });
    assert.deepEqual(await enter("192.0.2.2"), { status: 201, limits: left(499) });
    const client = connect(server.port);
    const body = '{"label":"x"}';
    for (let i = 0; i < 498; i++) {
      client.send(
        "POST /v1/enter HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-Forwarded-For: 192.0.2.1\r\n" +
          `Content-Length: ${body.length}\r\n\r\n${body}`,
      );
      assert.equal((await client.reply()).status, 201);
    }
    client.destroy();
    assert.deepEqual(await enter("192.0.2.1"), { status: 429, limits: left(0) });
  });

  it("is not told where it is not taken from", async () => {
    for (const path of ["/healthz", "/openapi.json", "/v1/nothing"])
      assert.equal((await get(server.port, path)).headers.ratelimit, undefined, path);
  });
});
