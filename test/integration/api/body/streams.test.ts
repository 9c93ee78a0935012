import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { describe, it, type TestContext } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { BodyStream } from "../../../../src/api/reply/reply.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { until } from "../../../support/until.ts";
import { AUTHORIZATION, actor, bodyRoute, exchange, openGate, startServer } from "../harness.ts";

const MIB = 1_048_576;
/** More than all buffers of a connection hold: those of the kernel, and the server's own bound. */
const BUFFERED_BYTES = 32 * MIB;
const HEAD = `HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}\r\n\r\n`;

interface Produced {
  bytes: number;
  /** How the generator ended: at its end, or because the reader left; null: not yet. */
  ended: "end" | "left" | null;
  released: number;
}

/** Bytes that tell where they stand: a number each 4 bytes. */
function pieceAt(firstByte: number, bytes: number): Buffer {
  const piece = Buffer.allocUnsafe(bytes);
  for (let at = 0; at < bytes; at += 4) piece.writeUInt32BE((firstByte + at) / 4, at);
  return piece;
}

async function* produce(totalBytes: number, pieceBytes: number, into: Produced): AsyncGenerator<Buffer> {
  into.ended = "left";
  for (let at = 0; at < totalBytes; at += pieceBytes) {
    const piece = pieceAt(at, Math.min(pieceBytes, totalBytes - at));
    into.bytes += piece.length;
    yield piece;
  }
  into.ended = "end";
}

/** A server with a route whose body is the given stream. */
async function serve(t: TestContext, makeBody: (into: Produced) => BodyStream, gate = openGate()) {
  const produced: Produced = { bytes: 0, ended: null, released: 0 };
  const released = () => {
    produced.released += 1;
  };
  const route = bodyRoute(() => makeBody(produced), released);
  const server = await startServer({ extraRoutes: [route], gate });
  const sockets: net.Socket[] = [];
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    await server.close();
  });
  async function ask(method = "GET"): Promise<net.Socket> {
    const socket = net.connect(server.port, "127.0.0.1");
    sockets.push(socket);
    socket.on("error", () => undefined);
    await once(socket, "connect");
    socket.write(`${method} /v1/body ${HEAD}`);
    return socket;
  }
  return { server, produced, ask };
}

const known = (bytes: number, pieceBytes: number) => (into: Produced) => ({
  bytes,
  open: () => produce(bytes, pieceBytes, into),
});
const unknown = (bytes: number, pieceBytes: number) => (into: Produced) => ({
  bytes: null,
  open: () => produce(bytes, pieceBytes, into),
});

/** Takes the bytes of chunks apart as they come. */
function createDechunker(take: (bytes: Buffer) => void) {
  let kept: Buffer = Buffer.alloc(0);
  let left = 0;
  let ended = false;
  return {
    push(bytes: Buffer) {
      kept = kept.length === 0 ? bytes : Buffer.concat([kept, bytes]);
      while (kept.length > 0 && !ended) {
        if (left > 0) {
          const part = kept.subarray(0, left);
          take(part);
          left -= part.length;
          kept = kept.subarray(part.length);
          continue;
        }
        const from = kept[0] === 13 ? 2 : 0;
        const end = kept.indexOf("\r\n", from);
        if (end < 0) return;
        left = Number.parseInt(kept.toString("latin1", from, end), 16);
        ended = left === 0;
        kept = kept.subarray(end + 2);
      }
    },
    get ended() {
      return ended;
    },
  };
}

/** Reads a streamed answer, `stepBytes` at a time, and checks each byte; looks at how far ahead the server is. */
async function readSlowly(socket: net.Socket, totalBytes: number, produced: Produced, stepBytes: number) {
  let head = "";
  let taken = 0;
  let aheadMax = 0;
  const check = (bytes: Buffer) => {
    for (let at = (4 - (taken % 4)) % 4; at + 4 <= bytes.length; at += 4096)
      assert.equal(bytes.readUInt32BE(at), (taken + at) / 4);
    taken += bytes.length;
  };
  const chunks = createDechunker(check);
  let isChunked = false;
  const done = () => (isChunked ? chunks.ended : head !== "" && taken >= totalBytes);
  while (!done()) {
    const bytes: Buffer | null = socket.read(Math.min(stepBytes, Math.max(1, socket.readableLength)));
    if (bytes === null) {
      if (socket.readableEnded || socket.destroyed) break;
      await Promise.race([once(socket, "readable"), once(socket, "close")]);
      continue;
    }
    let body = bytes;
    if (head === "") {
      const end = bytes.indexOf("\r\n\r\n");
      assert.notEqual(end, -1);
      head = bytes.toString("latin1", 0, end);
      isChunked = /transfer-encoding: chunked/i.test(head);
      body = bytes.subarray(isChunked ? end + 2 : end + 4);
      if (isChunked) body = body.subarray(2);
    }
    if (isChunked) chunks.push(body);
    else check(body);
    aheadMax = Math.max(aheadMax, produced.bytes - taken);
    await turn();
  }
  return { head, taken, aheadMax, complete: done() };
}

describe("a streamed body", () => {
  const total = 200 * MIB;
  for (const [name, makeBody] of [
    ["of a known length", known(total, 1_000_000)],
    ["of an unknown length", unknown(100 * MIB, 1_000_000)],
    ["of an unknown length, in small pieces", unknown(40 * MIB, 6_000)],
  ] as const)
    it(`${name} is made as fast as a slow client takes it, and no faster`, async (t) => {
      const { produced, ask } = await serve(t, makeBody);
      const socket = await ask();
      const { taken, aheadMax, complete } = await readSlowly(socket, total, produced, 32_768);
      assert.equal(taken, produced.bytes);
      assert.ok(complete);
      assert.ok(aheadMax < BUFFERED_BYTES, `${aheadMax} bytes ahead`);
      await until("it is released", () => produced.released > 0);
      assert.deepEqual([produced.ended === null, produced.released], [false, 1]);
    });

  it("is no longer made when its client leaves, and released once", async (t) => {
    for (const makeBody of [known(total, 65_536), unknown(total, 65_536)]) {
      const { produced, ask } = await serve(t, makeBody);
      const socket = await ask();
      await once(socket, "readable");
      socket.destroy();
      await until("it is released", () => produced.released > 0);
      assert.deepEqual([produced.ended, produced.released], ["left", 1]);
      assert.ok(produced.bytes < total);
    }
  });

  it("is notified when the client disconnects while the next piece is awaited", async (t) => {
    const { produced, ask } = await serve(t, () => ({
      bytes: null,
      async *open(gone) {
        yield Buffer.alloc(65_536);
        await new Promise((_, reject) => gone.addEventListener("abort", () => reject(gone.reason)));
      },
    }));
    const socket = await ask();
    await once(socket, "readable");
    socket.destroy();
    await until("it is released", () => produced.released > 0);
    assert.equal(produced.released, 1);
  });

  it("that fails closes its connection, so that no client takes a part for the whole, and is logged", async (t) => {
    async function* broken(): AsyncGenerator<Buffer> {
      yield Buffer.alloc(100_000);
      throw new Error("the disk is gone");
    }
    for (const bytes of [null, 200_000]) {
      const { server, produced, ask } = await serve(t, () => ({ bytes, open: broken }));
      const socket = await ask();
      const parts: Buffer[] = [];
      socket.on("data", (part) => parts.push(part));
      await once(socket, "close");
      const text = Buffer.concat(parts).toString("latin1");
      assert.match(text, /^HTTP\/1\.1 200 OK/);
      assert.doesNotMatch(text.slice(-7), /0\r\n\r\n/);
      assert.equal(produced.released, 1);
      const logged = server.logged.find(({ message }) => message === "a body broke off");
      assert.match(String(logged?.err), /the disk is gone/);
    }
  });

  it("of another length than was said ends its connection", async (t) => {
    for (const bytes of [99_999, 100_001]) {
      const { produced, ask } = await serve(t, (into) => ({
        bytes,
        open: () => produce(100_000, 50_000, into),
      }));
      const socket = await ask();
      socket.resume();
      await once(socket, "close");
      assert.equal(produced.released, 1);
    }
  });

  it("is not made for HEAD, whose answer tells its length where it is known", async (t) => {
    for (const [bytes, length] of [
      [12_345_678_901, "12345678901"],
      [null, undefined],
    ] as const) {
      const { server, produced } = await serve(t, (into) => ({ bytes, open: () => produce(8, 4, into) }));
      const { status, headers } = await exchange(server.port, ["HEAD /v1/body HTTP/1.1", AUTHORIZATION]);
      assert.deepEqual([status, headers["content-length"], produced.ended], [200, length, null]);
      assert.equal(produced.released, 1);
    }
  });

  it("of no bytes is an answer", async (t) => {
    for (const bytes of [0, null]) {
      const { server, produced } = await serve(t, (into) => ({ bytes, open: () => produce(0, 4, into) }));
      const { status, body } = await exchange(server.port, ["GET /v1/body HTTP/1.1", AUTHORIZATION]);
      assert.deepEqual([status, body], [200, ""]);
      await until("it is released", () => produced.released === 1);
    }
  });

  it("ends soon after its credential was revoked", async (t) => {
    let isRevoked = false;
    const gate = openGate({
      authenticate() {
        if (isRevoked) throw new AppError("unauthorized", "The credential is unknown.");
        return actor;
      },
    });
    for (const endless of [true, false]) {
      isRevoked = false;
      const makeBody = (): BodyStream => ({ bytes: null, endless, open: neverEnding });
      const { server, produced, ask } = await serve(t, makeBody, gate);
      const socket = await ask();
      const parts: Buffer[] = [];
      socket.on("data", (part) => parts.push(part));
      await once(socket, "data");
      isRevoked = true;
      await until("it is released", () => produced.released > 0);
      // An endless one ends as if this were its end.
      const whole = () => /\r\n0\r\n\r\n$/.test(Buffer.concat(parts).toString("latin1"));
      if (endless) await until("the last chunk", whole);
      else await until("it is closed", () => socket.destroyed);
      assert.equal(whole(), endless);
      const told = server.logged.filter(({ message }) => /^a body/.test(String(message)));
      assert.deepEqual(
        told.map(({ level, message, reason, err }) => [level, message, reason, err]),
        endless ? [] : [["info", "a body was cut off", "the credential was revoked", undefined]],
      );
    }
  });

  it("goes on while the process shuts down; one without an end does not", async (t) => {
    const { server, produced, ask } = await serve(t, known(total, 1_000_000));
    const socket = await ask();
    await once(socket, "readable");
    const drained = server.drain();
    const { taken, complete } = await readSlowly(socket, total, produced, 1_000_000);
    assert.deepEqual([taken, complete], [total, true]);
    await drained;

    const events = await serve(t, () => ({ bytes: null, endless: true, open: neverEnding }));
    const client = await events.ask();
    client.resume();
    await until("it is there", async () =>
      (await events.server.metrics.registry.metrics()).includes("rcpt_http_streams 1"),
    );
    await events.server.drain();
    assert.equal(events.produced.released, 1);
  });
});

/** Yields one piece, and then waits for ever. */
async function* neverEnding(gone: AbortSignal): AsyncGenerator<Buffer> {
  yield Buffer.alloc(65_536, "a");
  await new Promise((_, reject) => gone.addEventListener("abort", () => reject(gone.reason)));
}
