/** Result for a new key when the table is full. */
export const NO_ROOM = -1;

/**
 * The first row of each key, and the number of its repeats: open addressing in flat arrays. Keys are a hash in four words
 * (key-hash.ts), whose low bits are unpredictable.
 */
export interface KeyTable {
  /**
   * @param row larger than all before
   * @returns the row that came first with this key, which is now counted as repeated; `row` itself, when it is the
   *   first; NO_ROOM, when it would be and the table is full
   */
  findOrAdd(key0: number, key1: number, key2: number, key3: number, row: number): number;
  /** Number of distinct keys so far. */
  size(): number;
  /** The first row of each of them, ascending, and by how many rows it was repeated. */
  readonly rows: Uint32Array;
  readonly copies: Uint32Array;
  clear(): void;
  readonly heldBytes: number;
}

const KEY_WORDS = 4;
/**
 * If at most this part of a table was used, only the used places are cleared. Clearing a megabyte for each of 512 lists
 * took 45 ms of any job.
 */
const FEW = 16;

/** @param capacity distinct keys */
export function createKeyTable(capacity: number): KeyTable {
  /** At least half of the places are free, so that a search ends within a few places. */
  const places = new Uint32Array(2 ** Math.ceil(Math.log2(2 * capacity)));
  const mask = places.length - 1;
  const keys = new Uint32Array(capacity * KEY_WORDS);
  const rows = new Uint32Array(capacity);
  const copies = new Uint32Array(capacity);
  let size = 0;

  /** Clears all adjacent used places from `home` on. */
  function clearFrom(home: number): void {
    for (let place = home; places[place] !== 0; place = (place + 1) & mask) places[place] = 0;
  }

  return {
    findOrAdd(key0, key1, key2, key3, row) {
      let place = key0 & mask;
      /** Counted from 1: 0 is a free place. */
      for (let entry = places[place] ?? 0; entry !== 0; entry = places[place] ?? 0) {
        const at = (entry - 1) * KEY_WORDS;
        if (keys[at] === key0 && keys[at + 1] === key1 && keys[at + 2] === key2 && keys[at + 3] === key3) {
          copies[entry - 1] = (copies[entry - 1] ?? 0) + 1;
          return rows[entry - 1] ?? 0;
        }
        place = (place + 1) & mask;
      }
      if (size === capacity) return NO_ROOM;
      const at = size * KEY_WORDS;
      keys[at] = key0;
      keys[at + 1] = key1;
      keys[at + 2] = key2;
      keys[at + 3] = key3;
      rows[size] = row;
      copies[size] = 0;
      size += 1;
      places[place] = size;
      return row;
    },
    size() {
      return size;
    },
    rows,
    copies,
    clear() {
      if (size > capacity / FEW) places.fill(0);
      else for (let entry = 0; entry < size; entry++) clearFrom((keys[entry * KEY_WORDS] ?? 0) & mask);
      size = 0;
    },
    heldBytes: places.byteLength + keys.byteLength + rows.byteLength + copies.byteLength,
  };
}
