import { RecentMap } from "./recent-map.ts";

/** Of a text, these say which seat it has: of an address in a query the part before the @, and some of what is behind it. */
const [SEEN_FROM, SEEN_TO] = [6, 38];
const FACTOR = 31;
/** Odd, its bits spread: what is multiplied by it differs in its highest bits. */
const SPREAD = 0x9e3779b1;

/**
 * A `RecentMap` by texts that are made anew for each look-up, as uWebSockets.js makes them: V8 has to hash each of them for a Map, by a
 * call out of compiled code, and then waits for two or three places of it (0.25 us of a cached answer). In front of it stand seats:
 * a text has one, by some of its characters, and whoever comes takes it (0.1 us). Where those characters are alike in many, however that came, they
 * take each other's seats, and the map answers, as it would have.
 */
export class RecentTexts<V> {
  readonly #map: RecentMap<string, V>;
  readonly #texts: string[];
  readonly #values: (V | undefined)[];
  readonly #shift: number;

  /**
   * @param max entries in all, at least 2
   * @param seats a power of two, at least 2: as many are held besides, also what the map has forgotten
   */
  constructor(max: number, seats: number) {
    this.#map = new RecentMap(max);
    this.#texts = new Array<string>(seats).fill("");
    this.#values = new Array<V | undefined>(seats).fill(undefined);
    this.#shift = Math.clz32(seats - 1);
  }

  get size(): number {
    return this.#map.size;
  }

  get(text: string): V | undefined {
    const seat = this.#seatOf(text);
    if (this.#texts[seat] === text) return this.#values[seat];
    const found = this.#map.get(text);
    if (found !== undefined) this.#sit(seat, text, found);
    return found;
  }

  set(text: string, value: V): void {
    this.#map.set(text, value);
    this.#sit(this.#seatOf(text), text, value);
  }

  #sit(seat: number, text: string, value: V): void {
    this.#texts[seat] = text;
    this.#values[seat] = value;
  }

  #seatOf(text: string): number {
    const to = Math.min(text.length, SEEN_TO);
    let sum = text.length;
    for (let at = SEEN_FROM; at < to; at++) sum = (Math.imul(sum, FACTOR) + text.charCodeAt(at)) | 0;
    return Math.imul(sum, SPREAD) >>> this.#shift;
  }
}
