import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { sendStream } from "../../../../src/api/body/stream-body.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import fc from "../../../support/properties.ts";
import { UwsConnection } from "../../../support/uws-connection.ts";

const { chunkBytes, keptBytes, pieceBytes } = LIMITS.http.streams;

/** The payload of a chunked answer. @throws if the length of a chunk differs from its head's */
function payloadOf(answer: Buffer): Buffer {
  const parts: Buffer[] = [];
  let at = answer.indexOf("\r\n\r\n") + 2;
  for (;;) {
    assert.equal(answer.toString("latin1", at, at + 2), "\r\n", `a chunk ends at ${at}`);
    const end = answer.indexOf("\r\n", at + 2);
    const bytes = Number.parseInt(answer.toString("latin1", at + 2, end), 16);
    if (bytes === 0) return Buffer.concat(parts);
    parts.push(answer.subarray(end + 2, end + 2 + bytes));
    at = end + 2 + bytes;
  }
}

/** Sends pieces to a client that reads `readBytes()` bytes a turn of the event loop. */
async function send(
  pieces: readonly Uint8Array[],
  { sendBytes, readBytes, endless }: { sendBytes: number; readBytes: () => number; endless: boolean },
) {
  const connection = new UwsConnection(sendBytes);
  const gone = new AbortController();
  async function* open() {
    for (const piece of pieces) yield piece;
  }
  let isOver = false;
  const sending = sendStream(
    connection,
    { bytes: null, endless, open },
    {
      clientGone: gone.signal,
      clock: createFakeClock(),
      onSent: () => undefined,
      onWaiting: () => undefined,
    },
  ).then(() => {
    isOver = true;
  });
  const read: Buffer[] = [];
  for (let turns = 0; turns < 2_000; turns++) {
    await turn();
    const taken = connection.read(readBytes());
    read.push(taken);
    if (isOver && taken.length === 0) break;
  }
  gone.abort(new Error("over"));
  await sending.catch(() => undefined);
  return { payload: () => payloadOf(Buffer.concat(read)), isOver, keptMax: connection.keptMax };
}

/** Pieces that tell where they stand. */
function piecesOf(sizes: readonly number[]): Buffer[] {
  let at = 0;
  return sizes.map((bytes) => Buffer.from(Array.from({ length: bytes }, () => at++ % 251)));
}

describe("a body of unknown length", () => {
  it("reaches a client whole, wherever the connection becomes full", async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 3 * chunkBytes }), { minLength: 1, maxLength: 12 });
    const connection = fc.record({
      sendBytes: fc.integer({ min: 1_000, max: 2 * pieceBytes }),
      readBytes: fc.integer({ min: 1_000, max: pieceBytes }),
      endless: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(sizes, connection, async (bytes, { sendBytes, readBytes, endless }) => {
        const pieces = piecesOf(bytes);
        const sent = await send(pieces, { sendBytes, readBytes: () => readBytes, endless });
        assert.ok(sent.isOver);
        assert.deepEqual(sent.payload(), Buffer.concat(pieces));
      }),
      { numRuns: 60 },
    );
  });

  it("reaches a client whole that becomes full between a chunk's head and its bytes", async () => {
    const pieces = piecesOf(Array.from({ length: 4 }, () => pieceBytes));
    for (let sendBytes = pieceBytes - 64; sendBytes < pieceBytes + 128; sendBytes++) {
      const sent = await send(pieces, { sendBytes, readBytes: () => 50_000, endless: false });
      assert.deepEqual(sent.payload(), Buffer.concat(pieces));
    }
  });

  it("is kept within its bound for a client that reads a little now and then", async () => {
    const pieces = Array.from({ length: (3 * keptBytes) / 4_096 }, () => Buffer.alloc(4_096));
    for (const endless of [true, false]) {
      let turns = 0;
      const readBytes = () => (++turns % 8 < 1 ? 512 : 0);
      const { isOver, keptMax } = await send(pieces, { sendBytes: 4_096, readBytes, endless });
      assert.equal(isOver, false);
      assert.ok(keptMax <= keptBytes + 2 * chunkBytes, `${keptMax} bytes`);
    }
  });
});
