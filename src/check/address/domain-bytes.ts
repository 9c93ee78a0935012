import { type DomainName, parseDomain } from "./domain.ts";

/** Pairs of places, a power of two: as many names as are remembered at most. */
const PAIRS = 131_072;
/** Of a place: a byte that says how long the name is, and the name. */
const PLACE_BYTES = 32;

/**
 * Names of domains by their bytes, for who has no text of them: to make one of each row of a list, and to look for that, took
 * ten times as long. Memory: 10 MB at most, of which a list of few domains touches little, and the names.
 */
export class DomainsByBytes {
  readonly #names = new Array<DomainName | undefined>(2 * PAIRS).fill(undefined);
  readonly #places = Buffer.alloc(2 * PAIRS * PLACE_BYTES);

  /**
   * @param bytes have it from `from` to before `to`, as `kindOfCell` calls it plain
   * @returns the one that `parseDomain` gives, or gave; null where that refuses it, or it is a long one
   */
  find(bytes: Uint8Array, from: number, to: number): DomainName | null {
    if (to - from >= PLACE_BYTES) return null;
    let hash = to - from;
    for (let i = from; i < to; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x5bd1e995) ^ (hash >>> 15);
    const place = ((hash ^ (hash >>> 16)) & (PAIRS - 1)) * 2;
    if (this.#isAt(place, bytes, from, to)) return this.#names[place] as DomainName;
    if (this.#isAt(place + 1, bytes, from, to)) return this.#names[place + 1] as DomainName;
    return this.#read(place, bytes, from, to);
  }

  #isAt(place: number, bytes: Uint8Array, from: number, to: number): boolean {
    const places = this.#places;
    let at = place * PLACE_BYTES;
    if (places[at] !== to - from) return false;
    for (let i = from; i < to; i++) if (places[++at] !== bytes[i]) return false;
    return true;
  }

  /** The older one of the pair makes room. */
  #read(place: number, bytes: Uint8Array, from: number, to: number): DomainName | null {
    const found = parseDomain(Buffer.from(bytes.subarray(from, to)).toString("latin1"));
    if (!found.ok) return null;
    const at = place * PLACE_BYTES;
    this.#places.copyWithin(at + PLACE_BYTES, at, at + PLACE_BYTES);
    this.#names[place + 1] = this.#names[place];
    this.#places[at] = to - from;
    this.#places.set(bytes.subarray(from, to), at + 1);
    this.#names[place] = found;
    return found;
  }
}
