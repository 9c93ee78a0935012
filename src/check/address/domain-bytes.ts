import { type DomainName, parseDomain } from "./domain.ts";

/** A power of two: as many names as are remembered at most. */
const SLOTS_BITS = 18;
const SLOTS = 1 << SLOTS_BITS;
/** Of a seat: what is kept for its name (8 bytes), the name's length (1) and its bytes. */
const SLOT_BYTES = 48;
const LENGTH_AT = 8;
/** The longest name that is remembered. */
const NAME_MAX = SLOT_BYTES - LENGTH_AT - 1;
/** A name is to be found in one of so many places from where its hash says: nobody's lists can make a look longer than that. */
const STEPS = 8;

/** No seat. */
export const NO_DOMAIN_SLOT = -1;

/**
 * Names of domains by their bytes, for who has no text of them: to make one of each row of a list, and to look for that, took
 * ten times as long. What is to be known of a name again and again is kept beside its bytes: of 100 000 names each object that is
 * looked at costs a wait or two for far memory, and a row of them took twice as long as one of 1 000. Seats are taken in order, so
 * that names which come one behind the other, list after list, lie so.
 * Memory: 16 MB at most, of which few domains touch little, and the names.
 */
export class DomainsByBytes {
  readonly #names: DomainName[] = [];
  readonly #bytes = new Uint8Array(SLOTS * SLOT_BYTES);
  readonly #values = new Float64Array(this.#bytes.buffer);
  /** By place: the seat, and above it some of its name's hash; 0: nobody's. */
  readonly #slots = new Uint32Array(SLOTS);
  /** Which one of those that have no room goes, by turns. */
  #replaced = 0;

  /**
   * @param bytes have it from `from` to before `to`, as `kindOfCell` calls it plain
   * @returns its seat, its own until the next call; NO_DOMAIN where `parseDomain` refuses it, or it is a long one
   */
  find(bytes: Uint8Array, from: number, to: number): number {
    if (to - from > NAME_MAX) return NO_DOMAIN_SLOT;
    let hash = to - from;
    for (let i = from; i < to; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x5bd1e995) ^ (hash >>> 15);
    const seats = this.#slots;
    // The low bit tells it from an empty place.
    const tag = (hash >>> SLOTS_BITS) | 1;
    const first = hash ^ (hash >>> 16);
    for (let step = 0; step < STEPS; step++) {
      const place = (first + step) & (SLOTS - 1);
      const found = seats[place] as number;
      if (found === 0) return this.#read(place, this.#names.length, tag, bytes, from, to);
      if (found >>> SLOTS_BITS !== tag) continue;
      const seat = found & (SLOTS - 1);
      if (this.#isAt(seat, bytes, from, to)) return seat;
    }
    this.#replaced += 1;
    const place = (first + (this.#replaced % STEPS)) & (SLOTS - 1);
    return this.#read(place, (seats[place] as number) & (SLOTS - 1), tag, bytes, from, to);
  }

  /** The one that `parseDomain` gave: another object than it gives now, where that has forgotten it since the last `renew`. */
  nameAt(seat: number): DomainName {
    return this.#names[seat] as DomainName;
  }

  /** The name there is the one that `parseDomain` gives now. */
  renew(seat: number): void {
    const found = parseDomain(this.nameAt(seat).domain);
    if (found.ok) this.#names[seat] = found;
  }

  /** What was kept for the name there; 0: nothing. */
  valueAt(seat: number): number {
    return this.#values[(seat * SLOT_BYTES) / 8] as number;
  }

  /** It is forgotten with the name. */
  setValueAt(seat: number, number: number): void {
    this.#values[(seat * SLOT_BYTES) / 8] = number;
  }

  #isAt(seat: number, bytes: Uint8Array, from: number, to: number): boolean {
    const own = this.#bytes;
    let at = seat * SLOT_BYTES + LENGTH_AT;
    if (own[at] !== to - from) return false;
    for (let i = from; i < to; i++) if (own[++at] !== bytes[i]) return false;
    return true;
  }

  #read(place: number, seat: number, tag: number, bytes: Uint8Array, from: number, to: number): number {
    const found = parseDomain(Buffer.from(bytes.subarray(from, to)).toString("latin1"));
    if (!found.ok) return NO_DOMAIN_SLOT;
    const at = seat * SLOT_BYTES + LENGTH_AT;
    this.#bytes[at] = to - from;
    this.#bytes.set(bytes.subarray(from, to), at + 1);
    this.setValueAt(seat, 0);
    this.#names[seat] = found;
    this.#slots[place] = ((tag << SLOTS_BITS) | seat) >>> 0;
    return seat;
  }
}
