import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NO_RECORD_OFFSET, RecordRing } from "../../../src/core/record-ring.ts";
import fc from "../../support/properties.ts";

const textAt = (ring: RecordRing, place: number) => new TextDecoder().decode(ring.bytes(place));

interface Kept {
  text: string;
  kind: number;
  place: number;
  untilMs: number;
  count: number;
}

function requireWhole(ring: RecordRing, { text, kind, place, untilMs, count }: Kept): void {
  assert.equal(textAt(ring, place), text);
  assert.equal(ring.kind(place), kind);
  assert.equal(ring.isValid(place, untilMs - 1, count), true);
  assert.equal(ring.isValid(place, untilMs, count), false);
  assert.equal(ring.isValid(place, untilMs - 1, count + 1), false);
}

describe("a ring of records", () => {
  it("has what it says that it holds, numbers and all, and always the record kept last", () => {
    const short = fc.string({ unit: fc.constantFrom("a", "ë", "€", "𐍈"), maxLength: 9 });
    // As long as what an encoder does many bytes at a time of.
    const long = fc.string({ unit: fc.constantFrom("a", "b", "c", "d", "ë"), minLength: 50, maxLength: 200 });
    const record = fc.record({
      text: fc.oneof(short, long),
      kind: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
      untilMs: fc.integer({ min: 1, max: 2 ** 40 }),
      count: fc.nat(),
    });
    fc.assert(
      fc.property(
        fc.constantFrom(64, 128, 1_024, 2_048),
        fc.array(record, { maxLength: 60 }),
        (capacity, records) => {
          const ring = new RecordRing(capacity);
          const kept: Kept[] = [];
          for (const one of records) {
            const place = ring.append(one.text, one.kind);
            if (place === NO_RECORD_OFFSET) assert.ok(24 + one.text.length * 3 > capacity - 8, one.text);
            else {
              ring.stamp(place, one.untilMs, one.count);
              kept.push({ ...one, place });
              assert.ok(ring.holds(place));
            }
            // Whatever is there by now: it is looked at, and stays as it is.
            for (const known of [NO_RECORD_OFFSET, ...kept.map((one) => one.place)]) ring.prefetch(known);
            for (const known of kept) if (ring.holds(known.place)) requireWhole(ring, known);
          }
        },
      ),
    );
  });

  it("drops the oldest first, and whatever was left of the lap before the last", () => {
    // Each of these has 24 bytes before its two characters, hence 32.
    const ring = new RecordRing(128);
    const places = ["ab", "cd", "ef", "gh"].map((text, kind) => ring.append(text, kind));
    const held = () => places.filter((place) => ring.holds(place)).map((place) => textAt(ring, place));
    assert.deepEqual(held(), ["ab", "cd", "ef", "gh"]);
    places.push(ring.append("ij", 4));
    assert.deepEqual(held(), ["cd", "ef", "gh", "ij"]);
    // It may be three bytes for each of its characters: what is left of the lap is too little, and is passed over.
    places.push(ring.append("k".repeat(25), 5));
    assert.deepEqual(held(), ["k".repeat(25)]);
    places.push(ring.append("lm", 6));
    assert.deepEqual(held(), ["k".repeat(25), "lm"]);
  });

  it("goes on where its places are beyond 32 bits", () => {
    for (const before of [2 ** 31, 2 ** 32, 2 ** 40]) {
      const ring = new RecordRing(128, before - 8);
      const places: number[] = [];
      for (let i = 0; i < 10; i++) places.push(ring.append(`${i}x`, i));
      const held = places.filter((place) => ring.holds(place));
      assert.deepEqual(
        held.map((place) => [textAt(ring, place), ring.kind(place)]),
        [6, 7, 8, 9].map((i) => [`${i}x`, i]),
      );
    }
  });

  it("has no place for a text that may be longer than all of it, and keeps what it has", () => {
    const ring = new RecordRing(64);
    const small = ring.append("ab", 1);
    assert.equal(ring.append("x".repeat(14), 2), NO_RECORD_OFFSET);
    assert.equal(ring.holds(NO_RECORD_OFFSET), false);
    assert.equal(ring.holds(small), true);
    assert.equal(textAt(ring, small), "ab");
  });

  it("is of a power of two", () => {
    for (const capacity of [0, 4, 100, 2 ** 20 + 8, Number.NaN])
      assert.throws(() => new RecordRing(capacity), RangeError);
  });
});
