import { codeAt } from "../../../platform/v8/code-at.ts";

/**
 * Slots allocated at first, if the maximum is that large; when they are full their number doubles. Copying and rehashing all entries blocked the event
 * loop for 13 ms at 65,536 and up to 150 at 524,288. Room that was never written takes no memory.
 */
const INITIAL_SLOTS = 1_048_576;
/** Secret factors, one for each character; a longer text repeats them. A power of two. */
const FACTORS = 512;

/**
 * Each character times a secret factor (Carter and Wegman's multilinear family), so that colliding texts cannot be
 * constructed; then MurmurHash3's finalizer, so that numbered texts do not cluster.
 */
function hashOf(text: string, factors: Int32Array): number {
  let sum = 0;
  // Read once: texts have so many types for V8 that it looks up their length each time.
  const { length } = text;
  for (let i = 0; i < length; i++)
    sum = (sum + Math.imul(codeAt(text, i) + 1, factors[i & (FACTORS - 1)] as number)) | 0;
  return mixBits(sum);
}

function mixBits(sum: number): number {
  let hash = Math.imul(sum ^ (sum >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** No slot. */
export const NO_SLOT = -1;

/** Bytes of a slot: its key's length, and the key. */
const SLOT_BYTES = 40;
const KEY_MAX = SLOT_BYTES - 1;
/** Instead of a length: the key is longer, or has characters beyond one byte. */
const STORED_ASIDE = 0xff;

/** At least half of the table is free, so that a look-up takes one or two steps. */
function tableBits(slots: number): number {
  return Math.ceil(Math.log2(2 * slots));
}

/** How often a key was requested. */
const NOT_ACCESSED = 0;
const ACCESSED_ONCE = 1;
const ACCESSED_AGAIN = 2;

/**
 * A bounded map of very many texts, far larger than the processor's caches: its cost is the number of cache misses. A text
 * has a slot, a number under which its owner stores plain values. V8's Map with an LRU list touches a dozen memory
 * locations at each look-up. Here an absent text costs one, since its hash is in the table, and a present one four. Nothing
 * is copied when it is full, while a Map with additions and deletions is copied again and again. Eviction is by the clock
 * algorithm: an entry requested since the hand's last visit stays for another round.
 */
export class TextMap<V> {
  readonly #max: number;
  #room: number;
  readonly #factors = crypto.getRandomValues(new Int32Array(FACTORS));
  readonly #values: (V | undefined)[] = [];
  /**
   * Keys by slot; longer keys are in `#longKeys`. A string for each took 40 bytes and one more cache miss, and a million
   * strings to mark.
   */
  #keys: Uint8Array;
  readonly #longKeys = new Map<number, string>();
  readonly #free: number[] = [];
  /** By slot: the key's hash, and the number of requests since the hand's last visit. */
  #hashes: Uint32Array;
  #accesses: Uint8Array;
  /** By table index, two numbers: a hash, and its slot, counted from 1; 0: empty. */
  #table: Uint32Array;
  /** The highest bits of a hash are its table index if that is free; otherwise it is at a later index. */
  #shift: number;
  #size = 0;
  /** The slot that the clock hand visits next. */
  #hand = 0;

  /**
   * @param max entries, at least 1
   * @param initialSlots maximum initial room
   */
  constructor(max: number, initialSlots = INITIAL_SLOTS) {
    this.#max = Math.max(1, max);
    const room = Math.min(this.#max, initialSlots);
    this.#room = room;
    this.#keys = new Uint8Array(SLOT_BYTES * room);
    this.#hashes = new Uint32Array(room);
    this.#accesses = new Uint8Array(room);
    const bits = tableBits(room);
    this.#table = new Uint32Array(2 * 2 ** bits);
    this.#shift = 32 - bits;
  }

  get size(): number {
    return this.#size;
  }

  /** Slots allocated. Their number doubles when they are full, so it may exceed `max`. */
  get room(): number {
    return this.#room;
  }

  /**
   * The slot of the key, which it keeps until it is evicted; NO_SLOT: absent. Slots are numbered from 0, without gaps. Counts as
   * an access; `slotFor` does not.
   */
  find(key: string): number {
    return this.#recordAccess(this.#find(key, hashOf(key, this.#factors)));
  }

  /** Whether the key was requested more than once since it was added, or since the hand's last visit. */
  isAccessedAgain(slot: number): boolean {
    return this.#accesses[slot] === ACCESSED_AGAIN;
  }

  at(slot: number): V | undefined {
    return this.#values[slot];
  }

  put(slot: number, value: V): void {
    this.#values[slot] = value;
  }

  /**
   * The key's slot, allocated if it has none. Until the key has a value of its own, the slot's value is that of the evicted
   * key; undefined: no key was evicted.
   */
  slotFor(key: string): number {
    const hash = hashOf(key, this.#factors);
    const at = this.#find(key, hash);
    return at < 0 ? this.#insert(key, hash) : (this.#table[at + 1] as number) - 1;
  }

  /** @returns the deleted value */
  delete(key: string): V | undefined {
    const at = this.#find(key, hashOf(key, this.#factors));
    if (at < 0) return undefined;
    const slot = (this.#table[at + 1] as number) - 1;
    this.#unlink(at);
    this.#free.push(slot);
    this.#forgetKey(slot);
    const gone = this.#values[slot];
    this.#values[slot] = undefined;
    this.#size--;
    return gone;
  }

  /** @param at index into the table */
  #recordAccess(at: number): number {
    if (at < 0) return NO_SLOT;
    const slot = (this.#table[at + 1] as number) - 1;
    this.#accesses[slot] = this.#accesses[slot] === NOT_ACCESSED ? ACCESSED_ONCE : ACCESSED_AGAIN;
    return slot;
  }

  /** Index into the table; -1: absent. */
  #find(key: string, hash: number): number {
    const table = this.#table;
    const last = table.length - 1;
    for (let at = (hash >>> this.#shift) << 1; ; at = (at + 2) & last) {
      const slot = table[at + 1] as number;
      if (slot === 0) return -1;
      if (table[at] === hash && this.#isKey(slot - 1, key)) return at;
    }
  }

  #isKey(slot: number, key: string): boolean {
    const keys = this.#keys;
    let at = slot * SLOT_BYTES;
    const length = keys[at] as number;
    if (length === STORED_ASIDE) return this.#longKeys.get(slot) === key;
    if (length !== key.length) return false;
    for (let i = 0; i < length; i++) if (keys[++at] !== codeAt(key, i)) return false;
    return true;
  }

  #writeKey(slot: number, key: string): void {
    const { length } = key;
    const keys = this.#keys;
    const start = slot * SLOT_BYTES;
    let all = length > KEY_MAX ? STORED_ASIDE + 1 : 0;
    for (let i = 0; i < length && all <= STORED_ASIDE; i++) {
      const code = codeAt(key, i);
      all |= code;
      keys[start + 1 + i] = code;
    }
    keys[start] = all > STORED_ASIDE ? STORED_ASIDE : length;
    if (all > STORED_ASIDE) this.#longKeys.set(slot, key);
  }

  #forgetKey(slot: number): void {
    if (this.#keys[slot * SLOT_BYTES] === STORED_ASIDE) this.#longKeys.delete(slot);
  }

  #insert(key: string, hash: number): number {
    const isFull = this.#size >= this.#max;
    const slot = isFull ? this.#nextVictim() : (this.#free.pop() ?? this.#values.length);
    if (isFull) {
      this.#unlink(this.#tableIndexOf(slot));
      this.#forgetKey(slot);
    } else {
      if (slot >= this.#room) this.#grow();
      // An array with holes is slower.
      if (slot === this.#values.length) this.#values.push(undefined);
    }
    this.#writeKey(slot, key);
    this.#hashes[slot] = hash;
    this.#accesses[slot] = NOT_ACCESSED;
    this.#insertIntoTable(hash, slot);
    if (!isFull) this.#size++;
    return slot;
  }

  #nextVictim(): number {
    const slots = this.#values.length;
    for (;;) {
      const slot = this.#hand;
      this.#hand = slot + 1 === slots ? 0 : slot + 1;
      if (this.#accesses[slot] === NOT_ACCESSED) return slot;
      this.#accesses[slot] = NOT_ACCESSED;
    }
  }

  #insertIntoTable(hash: number, slot: number): void {
    const table = this.#table;
    const last = table.length - 1;
    let at = (hash >>> this.#shift) << 1;
    while (table[at + 1] !== 0) at = (at + 2) & last;
    table[at] = hash;
    table[at + 1] = slot + 1;
  }

  #tableIndexOf(slot: number): number {
    const table = this.#table;
    const last = table.length - 1;
    let at = ((this.#hashes[slot] as number) >>> this.#shift) << 1;
    while (table[at + 1] !== slot + 1) at = (at + 2) & last;
    return at;
  }

  /** Later entries move up, unless that would put them before their own index: then the gap would hide no entry. */
  #unlink(at: number): void {
    const table = this.#table;
    const last = table.length - 1;
    let gap = at;
    for (let next = (gap + 2) & last; table[next + 1] !== 0; next = (next + 2) & last) {
      const home = ((table[next] as number) >>> this.#shift) << 1;
      if (((next - home) & last) < ((next - gap) & last)) continue;
      table[gap] = table[next] as number;
      table[gap + 1] = table[next + 1] as number;
      gap = next;
    }
    table[gap + 1] = 0;
  }

  #grow(): void {
    const old = this.#table;
    const room = 2 * this.#room;
    const hashes = new Uint32Array(room);
    const asked = new Uint8Array(room);
    const keys = new Uint8Array(SLOT_BYTES * room);
    const table = new Uint32Array(2 * old.length);
    hashes.set(this.#hashes);
    asked.set(this.#accesses);
    keys.set(this.#keys);
    this.#room = room;
    this.#hashes = hashes;
    this.#accesses = asked;
    this.#keys = keys;
    this.#table = table;
    this.#shift--;
    for (let at = 0; at < old.length; at += 2) {
      const slot = old[at + 1] as number;
      if (slot !== 0) this.#insertIntoTable(old[at] as number, slot - 1);
    }
  }
}
