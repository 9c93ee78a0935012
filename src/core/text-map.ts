import { codeAt } from "./code-at.ts";

/**
 * So many have room from the start, of a map that may have as many; for more it doubles. To copy all and place them anew held the
 * event loop for 13 ms at 65,536 and up to 150 at 524,288, where room that nobody has written to takes no memory.
 */
const SEATS_AT_ONCE = 1_048_576;
/** Secret factors, one for each character; of a text that is longer they come again. A power of two. */
const FACTORS = 512;

/**
 * Each character times a secret factor (Carter and Wegman's multilinear family), so that nobody can make texts that collide;
 * then MurmurHash3's last step, so that texts which are numbered do not stand in rows.
 */
function hashOf(text: string, factors: Int32Array): number {
  let sum = 0;
  // Once: texts are of so many kinds to V8 that it looks up how long they are.
  const { length } = text;
  for (let i = 0; i < length; i++)
    sum = (sum + Math.imul(codeAt(text, i) + 1, factors[i & (FACTORS - 1)] as number)) | 0;
  return mixed(sum);
}

/** The same of a text that is `lead` and bytes, a character each. */
function hashOfBytes(lead: string, { bytes, from, to }: TextPlace, factors: Int32Array): number {
  let sum = 0;
  for (let i = 0; i < lead.length; i++)
    sum = (sum + Math.imul(lead.charCodeAt(i) + 1, factors[i & (FACTORS - 1)] as number)) | 0;
  const shift = lead.length - from;
  for (let i = from; i < to; i++)
    sum = (sum + Math.imul((bytes[i] as number) + 1, factors[(i + shift) & (FACTORS - 1)] as number)) | 0;
  return mixed(sum);
}

function mixed(sum: number): number {
  let hash = Math.imul(sum ^ (sum >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function isText(text: string, lead: string, { bytes, from, to }: TextPlace): boolean {
  const shift = lead.length - from;
  if (text.length !== to + shift || !text.startsWith(lead)) return false;
  for (let i = from; i < to; i++) if (codeAt(text, i + shift) !== bytes[i]) return false;
  return true;
}

/** A text, a byte each character. */
export interface TextPlace {
  readonly bytes: Uint8Array;
  readonly from: number;
  /** Behind its last byte. */
  readonly to: number;
}

/** No seat. */
export const NOWHERE = -1;

/** Of a seat: its key's length, and the key. */
const SEAT_BYTES = 40;
const KEY_MAX = SEAT_BYTES - 1;
/** In place of a length: the key is a longer one, or no byte each character. */
const ELSEWHERE = 0xff;

/** At least half of the places are free, so that one finds his after one or two. */
function placeBits(seats: number): number {
  return Math.ceil(Math.log2(2 * seats));
}

/** How often a key was asked for. */
const NOT_ASKED = 0;
const ONCE = 1;
const AGAIN = 2;

/**
 * A bounded map of very many texts, far larger than what the core has at hand: what counts is how often it has to wait for
 * memory. A text has a seat, a number by which its owner keeps what is no object. Where V8's Map and a list of the latest used touch a dozen places of it at each look, here a text that is not
 * there costs one, since its hash stands in the table, and one that is four. Nothing is copied when it is full: a Map that
 * is added to and deleted from is, as a whole, again and again.
 *
 * Who is to go is found by going round: whoever was asked for since the last time stays for another.
 */
export class TextMap<V> {
  readonly #max: number;
  #room: number;
  readonly #factors = crypto.getRandomValues(new Int32Array(FACTORS));
  readonly #values: (V | undefined)[] = [];
  /** By seat, and what has no room there. A text each was 40 bytes, one more place to wait for, and a million of them to mark. */
  #keys: Uint8Array;
  readonly #others = new Map<number, string>();
  readonly #free: number[] = [];
  /** By seat: the key's hash, and how often it was asked for since the round came by. */
  #hashes: Uint32Array;
  #asked: Uint8Array;
  /** By place, two numbers: a hash, and the seat that has it, counted from 1; 0: nobody stands there. */
  #table: Uint32Array;
  /** The highest bits of a hash say where it would stand, if nobody stood there before; else it is behind. */
  #shift: number;
  #size = 0;
  /** The seat that the round comes to next. */
  #hand = 0;

  /**
   * @param max entries, at least 1
   * @param seatsAtOnce room in the beginning, at most
   */
  constructor(max: number, seatsAtOnce = SEATS_AT_ONCE) {
    this.#max = Math.max(1, max);
    const room = Math.min(this.#max, seatsAtOnce);
    this.#room = room;
    this.#keys = new Uint8Array(SEAT_BYTES * room);
    this.#hashes = new Uint32Array(room);
    this.#asked = new Uint8Array(room);
    const bits = placeBits(room);
    this.#table = new Uint32Array(2 * 2 ** bits);
    this.#shift = 32 - bits;
  }

  get size(): number {
    return this.#size;
  }

  /** Seats that there is room for: more are made when it is full, and `max` lets more in. */
  get room(): number {
    return this.#room;
  }

  /** The seat of the key, its own until it goes; NOWHERE: it is not there. Seats are numbered from 0, without gaps. */
  find(key: string): number {
    return this.#ask(this.#find(key, hashOf(key, this.#factors)));
  }

  /** The same of the key that is `lead` and bytes: to make a text of each was 0.15 us, and as much to look into it. */
  findBytes(lead: string, place: TextPlace): number {
    return this.#ask(this.#findBytes(lead, place, hashOfBytes(lead, place, this.#factors)));
  }

  /** Whether the key there was asked for more than once since it came, or since the round came by. */
  isAskedAgain(seat: number): boolean {
    return this.#asked[seat] === AGAIN;
  }

  at(seat: number): V | undefined {
    return this.#values[seat];
  }

  put(seat: number, value: V): void {
    this.#values[seat] = value;
  }

  /**
   * The key's seat, which it gets where it has none: then `at` says who has to go for it, until the key has a value of its own;
   * undefined: nobody.
   */
  seatOf(key: string): number {
    const hash = hashOf(key, this.#factors);
    const at = this.#find(key, hash);
    return at < 0 ? this.#insert(key, hash) : (this.#table[at + 1] as number) - 1;
  }

  /** @returns what was there */
  delete(key: string): V | undefined {
    const at = this.#find(key, hashOf(key, this.#factors));
    if (at < 0) return undefined;
    const seat = (this.#table[at + 1] as number) - 1;
    this.#unlink(at);
    this.#free.push(seat);
    this.#forgetKey(seat);
    const gone = this.#values[seat];
    this.#values[seat] = undefined;
    this.#size--;
    return gone;
  }

  /** @param at in the table */
  #ask(at: number): number {
    if (at < 0) return NOWHERE;
    const seat = (this.#table[at + 1] as number) - 1;
    this.#asked[seat] = this.#asked[seat] === NOT_ASKED ? ONCE : AGAIN;
    return seat;
  }

  /** Where in the table; -1: it is not there. */
  #find(key: string, hash: number): number {
    const table = this.#table;
    const last = table.length - 1;
    for (let at = (hash >>> this.#shift) << 1; ; at = (at + 2) & last) {
      const seat = table[at + 1] as number;
      if (seat === 0) return -1;
      if (table[at] === hash && this.#isKey(seat - 1, key)) return at;
    }
  }

  #findBytes(lead: string, place: TextPlace, hash: number): number {
    const table = this.#table;
    const last = table.length - 1;
    for (let at = (hash >>> this.#shift) << 1; ; at = (at + 2) & last) {
      const seat = table[at + 1] as number;
      if (seat === 0) return -1;
      if (table[at] === hash && this.#isKeyOfBytes(seat - 1, lead, place)) return at;
    }
  }

  #isKey(seat: number, key: string): boolean {
    const keys = this.#keys;
    let at = seat * SEAT_BYTES;
    const length = keys[at] as number;
    if (length === ELSEWHERE) return this.#others.get(seat) === key;
    if (length !== key.length) return false;
    for (let i = 0; i < length; i++) if (keys[++at] !== codeAt(key, i)) return false;
    return true;
  }

  #isKeyOfBytes(seat: number, lead: string, place: TextPlace): boolean {
    const keys = this.#keys;
    let at = seat * SEAT_BYTES;
    const length = keys[at] as number;
    if (length === ELSEWHERE) return isText(this.#others.get(seat) as string, lead, place);
    const { bytes, from, to } = place;
    if (length !== lead.length + to - from) return false;
    for (let i = 0; i < lead.length; i++) if (keys[++at] !== lead.charCodeAt(i)) return false;
    for (let i = from; i < to; i++) if (keys[++at] !== bytes[i]) return false;
    return true;
  }

  #writeKey(seat: number, key: string): void {
    const { length } = key;
    const keys = this.#keys;
    const start = seat * SEAT_BYTES;
    let all = length > KEY_MAX ? ELSEWHERE + 1 : 0;
    for (let i = 0; i < length && all <= ELSEWHERE; i++) {
      const code = codeAt(key, i);
      all |= code;
      keys[start + 1 + i] = code;
    }
    keys[start] = all > ELSEWHERE ? ELSEWHERE : length;
    if (all > ELSEWHERE) this.#others.set(seat, key);
  }

  #forgetKey(seat: number): void {
    if (this.#keys[seat * SEAT_BYTES] === ELSEWHERE) this.#others.delete(seat);
  }

  #insert(key: string, hash: number): number {
    const isFull = this.#size >= this.#max;
    const seat = isFull ? this.#nextToGo() : (this.#free.pop() ?? this.#values.length);
    if (isFull) {
      this.#unlink(this.#placeOf(seat));
      this.#forgetKey(seat);
    } else {
      if (seat >= this.#room) this.#grow();
      // An array with holes is a slower one.
      if (seat === this.#values.length) this.#values.push(undefined);
    }
    this.#writeKey(seat, key);
    this.#hashes[seat] = hash;
    this.#asked[seat] = NOT_ASKED;
    this.#place(hash, seat);
    if (!isFull) this.#size++;
    return seat;
  }

  #nextToGo(): number {
    const seats = this.#values.length;
    for (;;) {
      const seat = this.#hand;
      this.#hand = seat + 1 === seats ? 0 : seat + 1;
      if (this.#asked[seat] === NOT_ASKED) return seat;
      this.#asked[seat] = NOT_ASKED;
    }
  }

  #place(hash: number, seat: number): void {
    const table = this.#table;
    const last = table.length - 1;
    let at = (hash >>> this.#shift) << 1;
    while (table[at + 1] !== 0) at = (at + 2) & last;
    table[at] = hash;
    table[at + 1] = seat + 1;
  }

  #placeOf(seat: number): number {
    const table = this.#table;
    const last = table.length - 1;
    let at = ((this.#hashes[seat] as number) >>> this.#shift) << 1;
    while (table[at + 1] !== seat + 1) at = (at + 2) & last;
    return at;
  }

  /** Those behind move up, unless they would come to stand before where they belong: then a gap would hide nobody. */
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
    const keys = new Uint8Array(SEAT_BYTES * room);
    const table = new Uint32Array(2 * old.length);
    hashes.set(this.#hashes);
    asked.set(this.#asked);
    keys.set(this.#keys);
    this.#room = room;
    this.#hashes = hashes;
    this.#asked = asked;
    this.#keys = keys;
    this.#table = table;
    this.#shift--;
    for (let at = 0; at < old.length; at += 2) {
      const seat = old[at + 1] as number;
      if (seat !== 0) this.#place(old[at] as number, seat - 1);
    }
  }
}
