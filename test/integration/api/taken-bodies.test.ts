import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { describe, it, type TestContext } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createLifecycle } from "../../../src/platform/lifecycle.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { silentLog } from "../../support/store.ts";
import { until } from "../../support/until.ts";
import { AUTHORIZATION, bodyRoute, connect, type Harness, startServer } from "./harness.ts";

/** More than the buffers of any connection take. */
const BODY_BYTES = 64 * 1024 * 1024;
const requestOf = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}\r\n\r\n`;

/** A client that reads only the start of a large body, and another with an idle connection. */
async function slowReader(t: TestContext, body: string | Uint8Array, leaving: boolean) {
  const answers = { bytes: BODY_BYTES, share: 1, pace: LIMITS.http.answers.pace };
  const server = await startServer({ extraRoutes: [bodyRoute(() => body)], limits: { answers } });
  const kept = connect(server.port);
  kept.send(requestOf("/healthz"));
  await kept.reply();
  if (leaving) server.leave();
  const socket = net.connect(server.port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(requestOf("/v1/body"));
  await once(socket, "readable");
  t.after(() => {
    kept.destroy();
    socket.destroy();
    server.closeNow();
  });
  return { server, socket, kept };
}

/** Reads until the connection has closed or the body is complete. */
function taken(socket: net.Socket): Promise<{ head: string; bytes: number }> {
  let head = "";
  let bytes = 0;
  return new Promise((resolve) => {
    socket.on("data", (chunk: Buffer) => {
      if (head === "") {
        const end = chunk.indexOf("\r\n\r\n") + 4;
        head = chunk.subarray(0, end).toString("latin1");
        bytes -= end;
      }
      bytes += chunk.length;
      if (bytes >= BODY_BYTES) resolve({ head, bytes });
    });
    socket.once("close", () => resolve({ head, bytes }));
  });
}

const outcomesOf = (server: Harness) =>
  server.logged.filter(({ route }) => route === "/v1/body").map(({ status }) => status);

describe("a large body that its client takes slowly", () => {
  const BODIES: [what: string, body: string | Uint8Array][] = [
    ["bytes", Buffer.alloc(BODY_BYTES, "a")],
    ["text", "a".repeat(BODY_BYTES)],
  ];
  for (const [what, body] of BODIES)
    for (const leaving of [false, true])
      it(`is waited for by a drain: ${what}${leaving ? ", asked for while leaving" : ""}`, async (t) => {
        const { server, socket, kept } = await slowReader(t, body, leaving);
        const ended = server.drain().then(() => server.closeNow());
        // A later request is refused only when nothing is in flight any more.
        kept.send(requestOf("/v1/verify?email=a@b.c"));
        assert.equal((await kept.reply()).status, 200);
        assert.deepEqual(outcomesOf(server), []);
        const { head, bytes } = await taken(socket);
        assert.equal(bytes, BODY_BYTES);
        assert.equal(/^connection: close/im.test(head), leaving);
        await ended;
        assert.deepEqual(outcomesOf(server), [200]);
      });

  it("is waited for no longer than the grace, and counts as not taken", async (t) => {
    const { server } = await slowReader(t, Buffer.alloc(BODY_BYTES), false);
    const clock = createFakeClock();
    const part = { name: "http", drain: () => server.drain(), stop: () => server.closeNow() };
    const lifecycle = createLifecycle([part], { log: silentLog, clock, graceMs: 10_000, leaveMs: 0 });
    await lifecycle.start();
    let stopped = false;
    void lifecycle.stop().then(() => {
      stopped = true;
    });
    await clock.advanceAsync(1_000);
    assert.equal(stopped, false);
    await clock.advanceAsync(9_000);
    await until("it is stopped", () => stopped);
    assert.deepEqual(outcomesOf(server), [499]);
  });
});
