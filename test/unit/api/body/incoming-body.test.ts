import assert from "node:assert/strict";
import { it } from "node:test";
import { createBodyBudget } from "../../../../src/api/body/body-budget.ts";
import { createBodyPace } from "../../../../src/api/body/body-pace.ts";
import { createDropPace } from "../../../../src/api/body/drop-pace.ts";
import { receiveBody } from "../../../../src/api/body/incoming-body.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const DROPS = { bytesPerS: 100_000, tickMs: 20 };
const PACE = { bytesPerS: 1_000, graceMs: 5_000, lookMs: 1_000 };

/** A body whose bytes the test brings, and whether its connection is paused. */
function setUp(declaredBytes: number | null = null, unreadBytes = 1_000) {
  let handler: (chunk: ArrayBuffer, isLast: boolean) => void = () => {};
  let isPaused = false;
  const clock = createFakeClock();
  const unread = createBodyBudget({ bytes: unreadBytes, share: 1 }).accountOf("a");
  const body = receiveBody(
    {
      onData: (given) => {
        handler = given;
      },
      pause: () => {
        isPaused = true;
      },
      resume: () => {
        isPaused = false;
      },
    },
    declaredBytes,
    { unread, pace: createBodyPace(clock, PACE), drops: createDropPace(clock, DROPS), client: "192.0.2.1" },
  );
  return {
    body,
    clock,
    unread,
    bring: (bytes: number, isLast = false) => handler(new ArrayBuffer(bytes), isLast),
    isPaused: () => isPaused,
  };
}

const tooLong = () => new AppError("body_too_large", "Too long.");

async function bytesOf(pieces: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const piece of pieces) bytes += piece.length;
  return bytes;
}

it("is paused with its first piece until it is read, charged meanwhile, and then complete", async () => {
  const { body, bring, isPaused, unread } = setUp();
  bring(100);
  assert.equal(isPaused(), true);
  assert.equal(unread.take(901), false);
  const read = bytesOf(body.read(10_000, tooLong));
  assert.equal(unread.take(1_000), true, "what is read is not charged here any more");
  await Promise.resolve();
  assert.equal(isPaused(), false);
  bring(5_000);
  bring(7, true);
  assert.equal(await read, 5_107);
});

it("that is complete leaves its connection open for the next request, also when it was paused before", async () => {
  const { body, bring, isPaused } = setUp();
  bring(100);
  bring(100, true);
  assert.equal(isPaused(), false);
  assert.equal(await bytesOf(body.read(200, tooLong)), 200);
});

it("of which more came unread than may be kept is paused, and ends with 503", async () => {
  const { body, bring, isPaused, unread } = setUp(null, 1_000);
  bring(600);
  bring(600);
  assert.equal(isPaused(), true);
  assert.equal(unread.take(1_000), true, "nothing is kept of it");
  await assert.rejects(bytesOf(body.read(10_000, tooLong)), { code: "overloaded" });
  body.discard(() => {});
  assert.equal(isPaused(), false);
});

it("that no handler reads is dropped to its end, and never charged", () => {
  const { body, bring, isPaused, unread } = setUp();
  bring(100);
  let ended = 0;
  body.discard(() => ended++);
  assert.equal(isPaused(), false);
  bring(100_000);
  assert.deepEqual([ended, unread.take(1_000)], [0, true]);
  bring(0, true);
  assert.equal(ended, 1);
});

it("that is complete and was not taken is no whole when the client goes", async () => {
  const { body, bring } = setUp();
  const read = bytesOf(body.read(10_000, tooLong));
  bring(100);
  bring(100, true);
  body.abandon();
  await assert.rejects(read, { code: "bad_request" });
});

it("that comes too slowly ends with 408; while it waits for us it does not", async () => {
  const { body, bring, clock } = setUp();
  bring(1);
  clock.advance(60_000);
  const read = bytesOf(body.read(10_000, tooLong));
  await Promise.resolve();
  clock.advance(4_000);
  bring(1_000);
  await Promise.resolve();
  clock.advance(8_000);
  await assert.rejects(read, { code: "request_timeout", status: 408 });
});

it("is refused at once by its length, by bytes without one, and left alone when it is abandoned", async () => {
  const declared = setUp(11);
  assert.throws(() => declared.body.read(10, tooLong), { code: "body_too_large" });
  const { body, bring, isPaused } = setUp();
  const read = bytesOf(body.read(10, tooLong));
  bring(11);
  await assert.rejects(read, { code: "body_too_large" });
  body.abandon();
  bring(1_000_000);
  assert.equal(isPaused(), false);
});

it("that is refused and long is dropped at the shared rate, a short one at once", () => {
  const long = setUp(10_000_000);
  long.body.discard(() => {});
  long.bring(1_999);
  assert.equal(long.isPaused(), false);
  long.bring(2_001);
  assert.equal(long.isPaused(), true, "4,000 bytes came where 2,000 a tick are read");
  long.clock.advance(20);
  assert.equal(long.isPaused(), true, "the rate is still overdrawn");
  long.clock.advance(20);
  assert.equal(long.isPaused(), false);

  const short = setUp(60_000);
  let ended = 0;
  short.body.discard(() => ended++);
  short.bring(59_000);
  assert.equal(short.isPaused(), false);
  short.bring(1_000, true);
  assert.equal(ended, 1);
});

it("that is abandoned while it waits to be dropped is not touched any more", () => {
  const { body, bring, clock, isPaused } = setUp(10_000_000);
  body.discard(() => {});
  bring(4_000);
  body.abandon();
  clock.advance(1_000);
  assert.equal(isPaused(), true);
  assert.equal(clock.pending, 0);
});
