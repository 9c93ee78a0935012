import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { DnsAdmission, type LookUpPermit } from "../../../src/dns/admission.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const { freshMs, slow, waiting, waitMs, socketsPerThread, inFlightPerSocket } = LIMITS.dns;
const FRESH = socketsPerThread * inFlightPerSocket;

function start() {
  const clock = createFakeClock();
  const admission = new DnsAdmission(clock);
  const places: LookUpPermit[] = [];
  const turnedAway: number[] = [];
  /** Lets `count` more in, or wait. */
  const crowd = (count: number) => {
    for (let i = 0; i < count; i++)
      void admission.acquire().then((place) => {
        if (place) places.push(place);
        else turnedAway.push(clock.monotonic());
      });
    return clock.advanceAsync(0);
  };
  return { clock, admission, places, turnedAway, crowd };
}

describe("admission to the DNS", () => {
  it("gives a released slot to the next waiter, in order", async () => {
    const { admission, clock, places, crowd } = start();
    await crowd(FRESH);
    const order: string[] = [];
    for (const name of ["first", "second"]) void admission.acquire().then(() => order.push(name));
    places[3]?.release();
    await clock.advanceAsync(0);
    assert.deepEqual(order, ["first"]);
    places[0]?.release();
    await clock.advanceAsync(0);
    assert.deepEqual([order, clock.pending], [["first", "second"], 0]);
  });

  it("takes the slot of a silent look-up after a moment, however many are silent", async () => {
    const { clock, places, crowd } = start();
    await crowd(1_000);
    assert.equal(places.length, FRESH);
    await clock.advanceAsync(freshMs - 1);
    assert.equal(places.length, FRESH);
    await clock.advanceAsync(1);
    assert.equal(places.length, 2 * FRESH);
    await clock.advanceAsync(freshMs);
    assert.equal(places.length, 1_000);
    await crowd(1);
    assert.equal(places.length, 1_001, "who comes behind them waits for nothing");
    assert.equal(clock.pending, 0);
  });

  it("lets no look-up that asks again hold a place of those that ask first", async () => {
    const { places, crowd } = start();
    await crowd(FRESH + 10);
    for (const place of places.slice(0, 10)) {
      assert.equal(place.retry(), true);
      assert.equal(place.retry(), true);
    }
    await crowd(0);
    assert.equal(places.length, FRESH + 10);
  });

  it("bounds the slow, and then the wait", async () => {
    const { clock, places, turnedAway, crowd } = start();
    for (let left = slow + FRESH; left > 0; left -= FRESH) {
      await crowd(Math.min(FRESH, left));
      await clock.advanceAsync(freshMs);
    }
    assert.equal(places.length, slow + FRESH);
    const startedMs = clock.monotonic();
    await crowd(2);
    await clock.advanceAsync(waitMs - 1);
    assert.equal(turnedAway.length, 0);
    assert.equal(places.at(-1)?.retry(), false, "no room among the slow");
    places[0]?.release();
    await clock.advanceAsync(0);
    assert.equal(places.length, slow + FRESH + 1, "a slow one's end made room");
    await clock.advanceAsync(1);
    assert.deepEqual(turnedAway, [startedMs + waitMs]);
    assert.equal(clock.pending, 0);
  });

  it("bounds the queue, and empties it when closed", async () => {
    const { admission, clock, turnedAway, crowd } = start();
    await crowd(FRESH + waiting);
    assert.equal(turnedAway.length, 0);
    await crowd(1);
    assert.equal(turnedAway.length, 1);
    admission.close();
    await crowd(0);
    assert.deepEqual([turnedAway.length, clock.pending], [waiting + 1, 0]);
  });
});
