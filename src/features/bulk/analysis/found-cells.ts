import type { ValuePlace } from "../csv/value-place.ts";

/** The address cells of rows that were found and not looked at, as places: of each piece that is read, its rows'. */
export class FoundCells {
  readonly #bytes: Buffer[] = [];
  readonly #ends: number[] = [];
  readonly #place: ValuePlace = { bytes: Buffer.alloc(0), from: 0, to: 0 };

  count(): number {
    return this.#bytes.length;
  }

  add(cell: ValuePlace): void {
    this.#bytes.push(cell.bytes);
    this.#ends.push(cell.from, cell.to);
  }

  /** One and the same object each time. */
  at(number: number): ValuePlace {
    const place = this.#place;
    place.bytes = this.#bytes[number] as Buffer;
    place.from = this.#ends[2 * number] as number;
    place.to = this.#ends[2 * number + 1] as number;
    return place;
  }

  clear(): void {
    this.#bytes.length = 0;
    this.#ends.length = 0;
  }
}
