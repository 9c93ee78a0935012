import assert from "node:assert/strict";
import { it } from "node:test";
import { createDropPace, type DropPace, type DroppedBody } from "../../../../src/api/body/drop-pace.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const LIMITS = { bytesPerS: 1_000_000, tickMs: 20 };

/** A connection that sends a piece of `pieceBytes` whenever it may. */
class Sender implements DroppedBody {
  readonly client: string;
  bytes = 0;
  readonly #pace: DropPace;
  readonly #pieceBytes: number;

  constructor(pace: DropPace, client: string, pieceBytes: number) {
    this.#pace = pace;
    this.client = client;
    this.#pieceBytes = pieceBytes;
  }

  start(): void {
    if (this.#pace.dropped(this, 0)) this.resume();
  }

  resume(): void {
    do this.bytes += this.#pieceBytes;
    while (this.#pace.dropped(this, this.#pieceBytes));
  }
}

/** @param clients connections by client. @returns bytes that each connection brought within `ms` */
function sendFor(ms: number, clients: Record<string, number>, pieceBytes: number): Sender[] {
  const clock = createFakeClock();
  const pace = createDropPace(clock, LIMITS);
  const senders = Object.entries(clients).flatMap(([client, connections]) =>
    Array.from({ length: connections }, () => new Sender(pace, client, pieceBytes)),
  );
  for (const sender of senders) sender.start();
  for (let passedMs = 0; passedMs < ms; passedMs += LIMITS.tickMs) clock.advance(LIMITS.tickMs);
  return senders;
}

const bytesOf = (senders: readonly Sender[]) => senders.reduce((sum, { bytes }) => sum + bytes, 0);

it("reads all connections together at the rate, also where a piece is larger than a tick's bytes", () => {
  for (const [connections, pieceBytes] of [
    [1, 1_000],
    [1, 50_000],
    [5, 20_000],
    [40, 1_000],
    [1_000, 50_000],
  ] as const) {
    const bytes = bytesOf(sendFor(10_000, { a: connections }, pieceBytes));
    const expected = 10 * LIMITS.bytesPerS;
    const what = `${connections} x ${pieceBytes}: ${bytes}`;
    assert.ok(bytes <= expected + pieceBytes + 20_000 && bytes >= 0.9 * expected, what);
  }
});

it("gives connections of one client their turns alike", () => {
  const bytes = sendFor(10_000, { a: 5 }, 20_000).map((sender) => sender.bytes);
  assert.ok(Math.max(...bytes) - Math.min(...bytes) <= 40_000, bytes.join());
});

it("gives a client with one connection as much as one with a hundred", () => {
  const senders = sendFor(10_000, { many: 100, one: 1 }, 20_000);
  const one = bytesOf(senders.filter(({ client }) => client === "one"));
  assert.ok(Math.abs(one - bytesOf(senders) / 2) <= 40_000, `${one} of ${bytesOf(senders)}`);
});

it("does not resume what has gone, and has no timer while nothing is dropped", () => {
  const clock = createFakeClock();
  const pace = createDropPace(clock, LIMITS);
  const body = { client: "a", resume: () => assert.fail("it has gone") };
  assert.equal(pace.dropped(body, 50_000), false);
  pace.forget(body);
  clock.advance(1_000);
  assert.equal(clock.pending, 0);
  assert.equal(pace.dropped(body, 19_000), true, "what was not used is not saved up beyond a tick");
});
