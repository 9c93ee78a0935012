import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { it } from "node:test";
import { systemClock } from "../../../../src/platform/time/clock.ts";
import { startStallTolerantTimer } from "../../../../src/platform/time/stall-tolerant-timer.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

/** Holds the event loop. */
function standStill(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

it("runs after its time, once", () => {
  const clock = createFakeClock();
  let ran = 0;
  startStallTolerantTimer(clock, 900, () => ran++);
  clock.advance(899);
  assert.equal(ran, 0);
  clock.advance(1);
  assert.equal(ran, 1);
  clock.advance(10_000);
  assert.deepEqual([ran, clock.pending], [1, 0]);
});

it("does not run once it was cancelled, at the very end neither", () => {
  for (const ms of [0, 450, 899]) {
    const clock = createFakeClock();
    const timer = startStallTolerantTimer(clock, 900, () => assert.fail("it ran"));
    clock.advance(ms);
    timer.cancel();
    clock.advance(10_000);
    assert.equal(clock.pending, 0);
  }
});

it("is later than an answer that came while the process stood still, at whatever time it did", async (t) => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [peer] = (await once(server, "connection")) as [Socket];
  t.after(() => {
    socket.destroy();
    peer.destroy();
    server.close();
  });
  for (const restMs of [0, 30, 90]) {
    let outcome = "";
    const ended = new Promise<void>((resolve) => {
      const timer = startStallTolerantTimer(systemClock, 100, () => {
        outcome ||= "timed out";
        resolve();
      });
      socket.once("data", () => {
        outcome ||= "answered";
        timer.cancel();
        resolve();
      });
    });
    setTimeout(() => {
      peer.write("x");
      standStill(300);
    }, restMs);
    await ended;
    assert.equal(outcome, "answered", `after ${restMs} ms`);
  }
});
