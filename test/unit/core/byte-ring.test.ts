import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ByteRing, type RingPiece } from "../../../src/core/byte-ring.ts";

const textOf = ({ bytes }: RingPiece) => new TextDecoder().decode(bytes);

describe("a ring of bytes", () => {
  it("has what it says that it holds, and always the piece kept last", () => {
    const short = fc.string({ unit: fc.constantFrom("a", "ë", "€", "𐍈"), maxLength: 9 });
    // As long as what an encoder does many bytes at a time of.
    const long = fc.string({ unit: fc.constantFrom("a", "b", "c", "d", "ë"), minLength: 50, maxLength: 200 });
    const text = fc.oneof(short, long);
    fc.assert(
      fc.property(
        fc.oneof(fc.integer({ min: 1, max: 64 }), fc.integer({ min: 600, max: 2_048 })),
        fc.array(text, { maxLength: 60 }),
        (capacity, texts) => {
          const ring = new ByteRing(capacity);
          const kept: { text: string; piece: RingPiece }[] = [];
          for (const text of texts) {
            kept.push({ text, piece: ring.keep(text) });
            for (const { text, piece } of kept) if (ring.holds(piece)) assert.equal(textOf(piece), text);
            assert.ok(ring.holds(kept.at(-1)?.piece as RingPiece));
          }
        },
      ),
    );
  });

  it("drops the oldest first, and whatever was left of the lap before the last", () => {
    const ring = new ByteRing(10);
    const pieces = ["ab", "cd", "ef"].map((text) => ring.keep(text));
    const held = () => pieces.filter((piece) => ring.holds(piece)).map(textOf);
    assert.deepEqual(held(), ["ab", "cd", "ef"]);
    // What follows could be three bytes for each of its two characters: it begins anew.
    ring.keep("gh");
    assert.deepEqual(held(), ["cd", "ef"]);
    ring.keep("ij");
    assert.deepEqual(held(), ["ef"]);
    ring.keep("kl");
    ring.keep("mn");
    assert.deepEqual(held(), []);
  });

  it("gives a text that may be too long for it memory of its own, which stays", () => {
    const ring = new ByteRing(8);
    const small = ring.keep("ab");
    const large = ring.keep("abc");
    assert.notEqual(large.bytes.buffer, small.bytes.buffer);
    for (let i = 0; i < 20; i++) ring.keep("xy");
    assert.equal(ring.holds(large), true);
    assert.equal(textOf(large), "abc");
    assert.equal(ring.holds(small), false);
  });
});
