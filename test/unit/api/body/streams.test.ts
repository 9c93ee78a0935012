import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createStreams } from "../../../../src/api/body/streams.ts";
import type { BodyStream } from "../../../../src/api/reply/reply.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { actorFor } from "../../../support/store.ts";
import { UwsConnection } from "../../../support/uws-connection.ts";

const { pace, chunkBytes, keptBytes } = LIMITS.http.streams;

/** Streams a body to a client that takes so many bytes a second, in so many reads, for five minutes. */
async function streamTo(bytesPerS: number, body: BodyStream, readsPerS = 1) {
  const clock = createFakeClock();
  const streams = createStreams({ authenticate: () => actorFor("team_1"), clock, onCount: () => undefined });
  const connection = Object.assign(new UwsConnection(4 * chunkBytes), {
    closed: 0,
    close() {
      this.closed += 1;
    },
  });
  const seen = { seconds: 0, error: null as unknown, released: 0 };
  const leave = streams.start({
    response: connection,
    body,
    authorization: null,
    onSent: () => undefined,
    onEnded: (error) => {
      seen.error = error;
    },
    onReleased: () => {
      seen.released += 1;
    },
  });
  while (seen.seconds < 300 && seen.released === 0) {
    seen.seconds += 1;
    for (let reads = 0; reads < readsPerS; reads++) {
      await clock.advanceAsync(1_000 / readsPerS);
      connection.read(bytesPerS / readsPerS);
    }
  }
  leave();
  return { ...seen, closed: connection.closed };
}

async function* endlessPieces() {
  for (;;) yield Buffer.alloc(65_536);
}
const waitForEver = () => new Promise<never>(() => undefined);

describe("a streamed body", () => {
  it("is cut off when its client takes it too slowly, which frees its slot", async () => {
    const { seconds, error, released, closed } = await streamTo(512, { bytes: null, open: endlessPieces });
    assert.match(String(error), /too slowly/);
    assert.deepEqual([released, closed], [1, 1]);
    // One chunk goes to uWebSockets.js each time that the client takes something, until that keeps as much as it may.
    const most = pace.graceMs / 1_000 + keptBytes / chunkBytes + 5;
    assert.ok(seconds <= most, `${seconds} s`);
  });

  it("goes on for a client that takes twice the least", async () => {
    const { seconds, released } = await streamTo(2 * pace.bytesPerS, { bytes: null, open: endlessPieces });
    assert.deepEqual([seconds, released], [300, 0]);
  });

  it("goes on for a client that takes that in small reads, after each of which more is kept for it", async () => {
    const body = { bytes: null, open: endlessPieces };
    const { seconds, released } = await streamTo(2 * pace.bytesPerS, body, 32);
    assert.deepEqual([seconds, released], [300, 0]);
  });

  it("goes on while its own pieces are long in coming, and when it has no end", async () => {
    async function* slowPieces() {
      yield Buffer.alloc(10);
      await waitForEver();
    }
    const waiting = await streamTo(1_000, { bytes: null, open: slowPieces });
    assert.deepEqual([waiting.seconds, waiting.released], [300, 0]);
    const endless = await streamTo(512, { bytes: null, endless: true, open: endlessPieces });
    assert.deepEqual([endless.seconds, endless.released], [300, 0]);
  });
});
