import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/core/limits.ts";
import { createRoom, type Place } from "../../../../src/services/verify/room.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const never = () => new AbortController().signal;
const rest = () => new Promise((resolve) => setImmediate(resolve));

describe("room for rows", () => {
  it("is given in order, also to one that needs more than those behind it", async () => {
    const room = createRoom(createFakeClock(), 10);
    const order: string[] = [];
    const note = (name: string) => (place: Place | null) => {
      if (place !== null) order.push(name);
      return place;
    };
    const first = await room.enter(6, never()).then(note("first"));
    const second = room.enter(8, never()).then(note("second"));
    const third = room.enter(1, never()).then(note("third"));
    await rest();
    assert.deepEqual(order, ["first"]);
    if (first) room.leave(first);
    await Promise.all([second, third]);
    assert.deepEqual(order, ["first", "second", "third"]);
  });

  it("comes free as rows get their answers, before all of a batch have theirs", async () => {
    const clock = createFakeClock();
    const room = createRoom(clock, 10);
    const place = await room.enter(10, never());
    let left = 10;
    if (place) place.left = () => left;
    let entered = false;
    void room.enter(4, never()).then(() => {
      entered = true;
    });
    await clock.advanceAsync(LIMITS.bulk.roomLookMs);
    assert.equal(entered, false);
    left = 6;
    await clock.advanceAsync(LIMITS.bulk.roomLookMs);
    assert.equal(entered, true);
    assert.equal(clock.pending, 0, "nobody waits, nobody looks");
  });

  it("is given alone to more rows than it has", async () => {
    const room = createRoom(createFakeClock(), 10);
    const small = await room.enter(1, never());
    let entered = false;
    const large = room.enter(11, never()).then((place) => {
      entered = true;
      return place;
    });
    await rest();
    assert.equal(entered, false);
    if (small) room.leave(small);
    assert.equal((await large)?.left(), 11);
  });

  it("is not waited for by who was halted, who holds up nobody behind it", async () => {
    const room = createRoom(createFakeClock(), 10);
    const place = await room.enter(6, never());
    const halt = new AbortController();
    const large = room.enter(10, halt.signal);
    const small = room.enter(4, never());
    halt.abort();
    assert.equal(await large, null);
    assert.notEqual(await small, null);
    assert.equal(await room.enter(1, halt.signal), null);
    if (place) room.leave(place);
  });
});
