import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { it, type TestContext } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { until } from "../../support/until.ts";
import { actor, bodyRoute, openGate, startServer } from "./harness.ts";

/** More than the buffers of any connection take. */
const TEXT = "x".repeat(16 * 1024 * 1024);
const TWO_ANSWERS = { bytes: 2.5 * TEXT.length, share: 0.5 };

/** A server whose route answers a long text, for any team. */
async function serve(t: TestContext) {
  const clock = createFakeClock();
  const released: string[] = [];
  const server = await startServer({
    clock,
    extraRoutes: [
      bodyRoute(
        () => TEXT,
        () => released.push("released"),
      ),
    ],
    gate: openGate({
      authenticate: (authorization) => ({ ...actor, teamId: authorization.slice("Bearer ".length) }),
    }),
    limits: { answers: { ...TWO_ANSWERS, pace: LIMITS.http.answers.pace } },
  });
  t.after(() => server.close());
  /** Begins to read the answer, and stops. */
  const stop = async (team: string) => {
    const socket = net.connect(server.port, "127.0.0.1");
    t.after(() => socket.destroy());
    socket.on("error", () => undefined);
    await once(socket, "connect");
    socket.write(`GET /v1/body HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${team}\r\n\r\n`);
    await once(socket, "readable");
    return socket;
  };
  const read = async (team: string) => {
    const url = `http://127.0.0.1:${server.port}/v1/body`;
    const reply = await fetch(url, { headers: { Authorization: `Bearer ${team}` } });
    const text = await reply.text();
    return { status: reply.status, text, retryAfter: reply.headers.get("retry-after") };
  };
  return { server, clock, released, stop, read };
}

it("a client that does not read its large answers is refused further ones, and its team alone", async (t) => {
  const { stop, read, released } = await serve(t);
  const socket = await stop("team_1");
  const refused = await read("team_1");
  assert.deepEqual([refused.status, refused.retryAfter], [503, "1"]);
  assert.equal(JSON.parse(refused.text).code, "overloaded");
  assert.equal(released.length, 1, "the refused answer's own");
  assert.equal((await read("team_2")).text.length, TEXT.length);
  socket.destroy();
  await until("its memory is free", async () => (await read("team_1")).status === 200);
});

it("a client that takes a large answer too slowly is cut off, and its memory is free", async (t) => {
  const { server, stop, read, clock } = await serve(t);
  await stop("team_1");
  await clock.advanceAsync(9_000);
  assert.equal((await read("team_1")).status, 503);
  // Until the buffers of the connection are full, what they take counts as taken.
  await until("it is cut off", async () => {
    await clock.advanceAsync(3_000);
    return server.logged.length > 1;
  });
  assert.deepEqual(
    server.logged.map(({ status }) => status),
    [503, 499],
  );
  assert.equal((await read("team_1")).text.length, TEXT.length);
});
