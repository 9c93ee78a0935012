import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createKeyHash, type KeyHash } from "../../../../../src/features/bulk/analysis/key-hash.ts";
import fc from "../../../../support/properties.ts";

const PRIME = 2n ** 30n - 35n;

function hashOf(hash: KeyHash, key: Uint8Array): string {
  const words = new Uint32Array(4);
  hash.write(key, 0, key.length, words);
  return words.join(" ");
}

const keys = fc.uint8Array({ maxLength: 254 });

/** The factors of a hash, computed from its values for known keys. */
function factorsOf(hash: KeyHash): bigint[][] {
  const sums = (key: Uint8Array) => hashOf(hash, key).split(" ").map(BigInt);
  const mod = (value: bigint) => ((value % PRIME) + PRIME) % PRIME;
  const constants = sums(new Uint8Array(0));
  const ofLength = sums(Uint8Array.of(0)).map((sum, lane) => mod(sum - (constants[lane] ?? 0n)));
  const ofPairs = Array.from({ length: 127 }, (_, pair) => {
    const key = new Uint8Array(254);
    key[2 * pair] = 1;
    return sums(key).map((sum, lane) => mod(sum - (constants[lane] ?? 0n) - 254n * (ofLength[lane] ?? 0n)));
  });
  return [constants, ofLength, ...ofPairs];
}

describe("the hash of a key", () => {
  it("is the sum of all that it is made of, modulo the prime, whatever the key is", () => {
    const hash = createKeyHash();
    const [constants = [], ofLength = [], ...ofPairs] = factorsOf(hash);
    const wanted = (key: Uint8Array) =>
      constants.map((constant, lane) => {
        let sum = constant + BigInt(key.length) * (ofLength[lane] ?? 0n);
        for (let i = 0; i < key.length; i++)
          sum += BigInt(key[i] ?? 0) * (i % 2 === 0 ? 1n : 256n) * (ofPairs[i >> 1]?.[lane] ?? 0n);
        return sum % PRIME;
      });
    const agree = (key: Uint8Array) => assert.equal(hashOf(hash, key), wanted(key).join(" "));
    fc.assert(fc.property(keys, agree));
    // The largest sums there are.
    agree(new Uint8Array(254).fill(255));
  });

  it("is the same wherever the key stands, and another one with every other secret", () => {
    const [hash, another] = [createKeyHash(), createKeyHash()];
    const key = Buffer.from("someone@example.com");
    const within = Buffer.from(`,,${key},x`);
    const words = new Uint32Array(4);
    hash.write(within, 2, 2 + key.length, words);
    assert.equal(words.join(" "), hashOf(hash, key));
    assert.notEqual(hashOf(another, key), hashOf(hash, key));
  });

  it("distinguishes keys that end in zeros, are swapped, or consist of the same bytes", () => {
    const hash = createKeyHash();
    const all = ["", "\0", "\0\0", "\0\0\0", "ab", "ba", "abcd", "cdab", "a", "a\0", "\0a", "aa", "aaa"];
    assert.equal(new Set(all.map((key) => hashOf(hash, Buffer.from(key)))).size, all.length);
  });

  it("has no place for a key that is longer than an address", () => {
    const words = new Uint32Array(4);
    assert.throws(() => createKeyHash().write(new Uint8Array(255), 0, 255, words), RangeError);
  });
});
