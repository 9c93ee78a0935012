import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { describe, it, type TestContext } from "node:test";
import { until } from "../../support/until.ts";
import { AUTHORIZATION, bodyRoute, startServer } from "./harness.ts";

/** More than the buffers of any connection take. */
const LARGE_BYTES = 64 * 1024 * 1024;
const GET = `GET /v1/body HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}\r\n\r\n`;

/** A server with a route that records when the body of its answer is released. */
async function serve(t: TestContext, bytes: number, work: Promise<unknown> = Promise.resolve()) {
  const seen = { asked: 0, released: 0 };
  const makeBody = async () => {
    seen.asked += 1;
    await work;
    return Buffer.alloc(bytes);
  };
  const released = () => {
    seen.released += 1;
  };
  const route = bodyRoute(makeBody, released);
  const server = await startServer({ extraRoutes: [route] });
  const socket = net.connect(server.port, "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write(GET);
  t.after(async () => {
    socket.destroy();
    await server.close();
  });
  return { seen, socket };
}

describe("a body that somebody counts", () => {
  it("is held while the client does not read it, and released when the client disconnects", async (t) => {
    const { seen, socket } = await serve(t, LARGE_BYTES);
    await once(socket, "readable");
    assert.deepEqual(seen, { asked: 1, released: 0 });
    socket.destroy();
    await until("it is released", () => seen.released > 0);
    assert.equal(seen.released, 1);
  });

  it("is released once when all of it is sent", async (t) => {
    const { seen, socket } = await serve(t, LARGE_BYTES);
    let taken = 0;
    socket.on("data", (bytes) => {
      taken += bytes.length;
    });
    await until("all is taken", () => taken > LARGE_BYTES);
    await until("it is released", () => seen.released > 0);
    assert.equal(seen.released, 1);
    socket.destroy();
  });

  it("is released at once where a connection takes it whole", async (t) => {
    const { seen, socket } = await serve(t, 10);
    await once(socket, "readable");
    assert.equal(seen.released, 1);
  });

  it("is released when the client left before it was there", async (t) => {
    let make = () => {};
    const { seen, socket } = await serve(t, LARGE_BYTES, new Promise<void>((resolve) => (make = resolve)));
    await until("it is asked for", () => seen.asked === 1);
    socket.destroy();
    await once(socket, "close");
    make();
    await until("it is released", () => seen.released > 0);
    assert.equal(seen.released, 1);
  });
});
