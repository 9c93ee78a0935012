import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { type StreamWriter, sendStream } from "../../../../src/api/body/stream-body.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const PIECE_BYTES = 4_096;
const { keptBytes, quietMs } = LIMITS.http.streams;

/** Events of so many bytes in all, one each second, to a connection that tells nothing of small pieces. */
async function send(totalBytes: number, onPiece: (drain: () => void) => void) {
  const clock = createFakeClock();
  let drain = () => {};
  let written = 0;
  const response: StreamWriter = {
    cork: (write) => write(),
    write(chunk) {
      written += chunk.length;
      return true;
    },
    tryEnd: () => [true, true],
    getWriteOffset: () => written,
    onWritable(handler) {
      drain = () => void handler(written);
    },
    end: () => undefined,
  };
  async function* open() {
    for (let bytes = 0; bytes < totalBytes; bytes += PIECE_BYTES) {
      clock.advance(1_000);
      onPiece(drain);
      yield Buffer.alloc(PIECE_BYTES);
    }
  }
  const gone = new AbortController();
  let isSent = false;
  const sending = sendStream(
    response,
    { bytes: null, endless: true, open },
    {
      clientGone: gone.signal,
      clock,
      onSent: () => undefined,
    },
  ).then(
    () => {
      isSent = true;
    },
    () => undefined,
  );
  // Nothing is waited for but the sender itself, which lets others have their turn each MiB.
  for (let turns = 0; turns < 100 && !isSent; turns++) await turn();
  gone.abort(new Error("over"));
  await sending;
  return { isSent, written };
}

describe("small pieces of a body without an end", () => {
  it("are sent on and on to who takes them as they come", async () => {
    const { isSent, written } = await send(3 * keptBytes, () => {});
    assert.deepEqual([isSent, written], [true, 3 * keptBytes]);
  });

  it("are bounded for who takes a little now and then", async () => {
    let pieces = 0;
    const { isSent, written } = await send(3 * keptBytes, (drain) => {
      if (++pieces % (quietMs / 2_000) < 1) drain();
    });
    assert.equal(isSent, false);
    assert.ok(written <= keptBytes + PIECE_BYTES, `${written} bytes`);
  });
});
