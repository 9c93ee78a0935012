/** Places of the table in the beginning, a power of two. */
const FIRST_PLACES = 1_024;
/** Secret factors, one for each character; of a text that is longer they come again. A power of two. */
const FACTORS = 512;

/**
 * Each character times a secret factor (Carter and Wegman's multilinear family), so that nobody can make texts that collide;
 * then MurmurHash3's last step, so that texts which are numbered do not stand in rows.
 */
function hashOf(text: string, factors: Int32Array): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++)
    hash = (hash + Math.imul(text.charCodeAt(i) + 1, factors[i & (FACTORS - 1)] as number)) | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * A bounded map of very many texts, far larger than what the core has at hand: what counts is how often it has to wait for
 * memory. Where V8's Map and a list of the latest used touch a dozen places of it at each look, here a text that is not
 * there costs one, since its hash stands in the table, and one that is four. Nothing is copied when it is full: a Map that
 * is added to and deleted from is, as a whole, again and again.
 *
 * Who is to go is found by going round: whoever was asked for since the last time stays for another.
 */
export class TextMap<V> {
  readonly #max: number;
  readonly #factors = crypto.getRandomValues(new Int32Array(FACTORS));
  /** Key and value of each seat, side by side. */
  readonly #cells: (string | V | undefined)[] = [];
  readonly #free: number[] = [];
  /** By seat: the key's hash, and whether it was asked for since the round came by. */
  #hashes = new Uint32Array(FIRST_PLACES >> 1);
  #asked = new Uint8Array(FIRST_PLACES >> 1);
  /** By place, two numbers: a hash, and the seat that has it, counted from 1; 0: nobody stands there. */
  #table = new Uint32Array(FIRST_PLACES << 1);
  /** The highest bits of a hash say where it would stand, if nobody stood there before; else it is behind. */
  #shift = 32 - Math.log2(FIRST_PLACES);
  #size = 0;
  /** The seat that the round comes to next. */
  #hand = 0;

  /** @param max entries, at least 1 */
  constructor(max: number) {
    this.#max = Math.max(1, max);
  }

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    const at = this.#find(key, hashOf(key, this.#factors));
    if (at < 0) return undefined;
    const seat = (this.#table[at + 1] as number) - 1;
    this.#asked[seat] = 1;
    return this.#cells[2 * seat + 1] as V;
  }

  /** @returns what is no longer there instead: the key's value before, or somebody else's when it is full */
  set(key: string, value: V): V | undefined {
    const hash = hashOf(key, this.#factors);
    const at = this.#find(key, hash);
    if (at < 0) return this.#insert(key, hash, value);
    const cell = 2 * ((this.#table[at + 1] as number) - 1) + 1;
    const before = this.#cells[cell] as V;
    this.#cells[cell] = value;
    return before;
  }

  /** @returns what was there */
  delete(key: string): V | undefined {
    const at = this.#find(key, hashOf(key, this.#factors));
    if (at < 0) return undefined;
    const seat = (this.#table[at + 1] as number) - 1;
    this.#unlink(at);
    this.#free.push(seat);
    return this.#vacate(seat);
  }

  /** Where in the table; -1: it is not there. */
  #find(key: string, hash: number): number {
    const table = this.#table;
    const last = table.length - 1;
    for (let at = (hash >>> this.#shift) << 1; ; at = (at + 2) & last) {
      const seat = table[at + 1] as number;
      if (seat === 0) return -1;
      if (table[at] === hash && this.#cells[2 * seat - 2] === key) return at;
    }
  }

  #insert(key: string, hash: number, value: V): V | undefined {
    const isFull = this.#size >= this.#max;
    const seat = isFull ? this.#nextToGo() : (this.#free.pop() ?? this.#cells.length >> 1);
    let gone: V | undefined;
    if (isFull) {
      this.#unlink(this.#placeOf(seat));
      gone = this.#vacate(seat);
    } else if (4 * (this.#size + 1) > this.#table.length) this.#grow();
    this.#cells[2 * seat] = key;
    this.#cells[2 * seat + 1] = value;
    this.#hashes[seat] = hash;
    this.#asked[seat] = 0;
    this.#place(hash, seat);
    this.#size++;
    return gone;
  }

  #nextToGo(): number {
    const seats = this.#cells.length >> 1;
    for (;;) {
      const seat = this.#hand;
      this.#hand = seat + 1 === seats ? 0 : seat + 1;
      if (this.#asked[seat] === 0) return seat;
      this.#asked[seat] = 0;
    }
  }

  #vacate(seat: number): V {
    const value = this.#cells[2 * seat + 1] as V;
    this.#cells[2 * seat] = undefined;
    this.#cells[2 * seat + 1] = undefined;
    this.#size--;
    return value;
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

  /** At least half of the places are free, so that one finds his after one or two. */
  #grow(): void {
    const old = this.#table;
    const hashes = new Uint32Array(2 * this.#hashes.length);
    const asked = new Uint8Array(2 * this.#asked.length);
    hashes.set(this.#hashes);
    asked.set(this.#asked);
    this.#hashes = hashes;
    this.#asked = asked;
    this.#table = new Uint32Array(2 * old.length);
    this.#shift--;
    for (let at = 0; at < old.length; at += 2) {
      const seat = old[at + 1] as number;
      if (seat !== 0) this.#place(old[at] as number, seat - 1);
    }
  }
}
