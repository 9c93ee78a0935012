import { codeAt } from "../../platform/v8/code-at.ts";

/**
 * A set of strings in shared memory, each with a small label: open addressing on 64-bit hashes, linear probing, at most
 * three quarters full. The strings themselves are not stored. With 65 000 entries, an unlisted name has the hash of an
 * entry with probability 65 000 / 2^64, once in 3·10^14 look-ups. 13 MB of JavaScript Set in each thread become 1.2 MB for
 * all threads together.
 */
export interface SharedTable {
  /** Two 32-bit words a slot; both 0: empty. */
  words: SharedArrayBuffer;
  /** One label a slot, 1 to 255. */
  labels: SharedArrayBuffer;
}

/** Two independent 32-bit halves of a string's hash: multiply-xor rounds and murmur3's finaliser. */
function hashInto(text: string, out: Uint32Array): void {
  let low = 0x9e3779b1;
  let high = 0x85ebca77;
  const { length } = text;
  for (let i = 0; i < length; i++) {
    const unit = codeAt(text, i);
    low = Math.imul(low ^ unit, 0x9e3779b1);
    low ^= low >>> 15;
    high = Math.imul(high ^ unit, 0x5f356495);
    high ^= high >>> 13;
  }
  low = finalise(low ^ length);
  high = finalise(high ^ Math.imul(length, 0xc2b2ae35));
  // 0,0 marks an empty slot.
  out[0] = low === 0 && high === 0 ? 1 : low;
  out[1] = high;
}

function finalise(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** Index of the slot that holds the hash, or of the empty one where it belongs. */
function slotOf(words: Uint32Array, hash: Uint32Array): number {
  const mask = words.length / 2 - 1;
  const low = hash[0] ?? 0;
  const high = hash[1] ?? 0;
  let slot = low & mask;
  for (;;) {
    const a = words[slot * 2];
    const b = words[slot * 2 + 1];
    if ((a === low && b === high) || (a === 0 && b === 0)) return slot;
    slot = (slot + 1) & mask;
  }
}

/** Builds a table of `entries`; where a string comes twice, its first label stays. */
export function buildTable(
  entries: Iterable<readonly [text: string, label: number]>,
  count: number,
): SharedTable {
  const slots = 2 ** Math.ceil(Math.log2(Math.max(8, (count * 4) / 3)));
  const table = { words: new SharedArrayBuffer(slots * 8), labels: new SharedArrayBuffer(slots) };
  const words = new Uint32Array(table.words);
  const labels = new Uint8Array(table.labels);
  const hash = new Uint32Array(2);
  for (const [text, label] of entries) {
    hashInto(text, hash);
    const slot = slotOf(words, hash);
    if (labels[slot] !== 0) continue;
    words[slot * 2] = hash[0] ?? 0;
    words[slot * 2 + 1] = hash[1] ?? 0;
    labels[slot] = label;
  }
  return table;
}

/** Opens a table in any thread. The function gives a string's label, 0 where it is not in the table. */
export function openTable(table: SharedTable): (text: string) => number {
  const words = new Uint32Array(table.words);
  const labels = new Uint8Array(table.labels);
  const hash = new Uint32Array(2);
  return (text) => {
    hashInto(text, hash);
    return labels[slotOf(words, hash)] ?? 0;
  };
}
