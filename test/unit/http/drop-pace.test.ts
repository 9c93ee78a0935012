import assert from "node:assert/strict";
import { it } from "node:test";
import { createDropPace } from "../../../src/http/drop-pace.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const LIMITS = { bytesPerS: 1_000_000, tickMs: 20 };

/** Connections that send pieces of `pieceBytes` as soon as they may. @returns bytes that each brought within `ms` */
function sendFor(ms: number, connections: number, pieceBytes: number): number[] {
  const clock = createFakeClock();
  const pace = createDropPace(clock, LIMITS);
  const bytes = new Array<number>(connections).fill(0);
  const send = (at: number) => {
    do bytes[at] = (bytes[at] ?? 0) + pieceBytes;
    while (pace.dropped(pieceBytes, resumes[at] as () => void));
  };
  const resumes = bytes.map((_, at) => () => send(at));
  for (const at of bytes.keys()) send(at);
  for (let passedMs = 0; passedMs < ms; passedMs += LIMITS.tickMs) clock.advance(LIMITS.tickMs);
  return bytes;
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

it("reads all connections together at the rate, also where a piece is larger than a tick's bytes", () => {
  for (const [connections, pieceBytes] of [
    [1, 1_000],
    [1, 50_000],
    [5, 20_000],
    [40, 1_000],
  ] as const) {
    const bytes = sum(sendFor(10_000, connections, pieceBytes));
    const most = 10 * LIMITS.bytesPerS + (connections + 1) * pieceBytes + 20_000;
    assert.ok(
      bytes <= most && bytes >= 0.9 * 10 * LIMITS.bytesPerS,
      `${connections} x ${pieceBytes}: ${bytes}`,
    );
  }
});

it("gives connections of the same pieces their turns alike", () => {
  const bytes = sendFor(10_000, 5, 20_000);
  assert.ok(Math.max(...bytes) - Math.min(...bytes) <= 40_000, bytes.join());
});

it("does not resume what has gone, and has no timer while nothing is dropped", () => {
  const clock = createFakeClock();
  const pace = createDropPace(clock, LIMITS);
  const resume = () => assert.fail("it has gone");
  assert.equal(pace.dropped(50_000, resume), false);
  pace.forget(resume);
  clock.advance(1_000);
  assert.equal(clock.pending, 0);
  assert.equal(pace.dropped(19_000, resume), true, "what was not used is not saved up beyond a tick");
});
