import { setImmediate as turn } from "node:timers/promises";
import { LIMITS } from "../../../config/limits/limits.ts";
import type { Scratch } from "../../../stores/scratch.ts";
import { createScratchBlocks, createScratchLists, type ScratchLists } from "../../../stores/scratch-lists.ts";
import { createKeyHash } from "./key-hash.ts";
import { createKeyTable, type KeyTable, NO_ROOM } from "./key-table.ts";
import {
  type ChunkBounds,
  createRepeatOutcomes,
  powerOfTwo,
  type RepeatOutcomes,
} from "./repeat-outcomes.ts";
import type { ChunkRepeats } from "./repeats.ts";

/**
 * Finds the rows of a job that have the address of an earlier one: exactly, in memory that does not grow with the rows.
 *
 * Each row is written to one of many lists on disk, by the hash of its key. The lists are then read one after the other:
 * all rows of a key are in the same list, and a list's distinct keys fit a table. The table's result for a row (the row it
 * copies, or its number of copies) is written to further lists. Each of these covers a range of rows, and they are read in
 * the order of rows. If a key finds the table full, all its rows go through another round. So skewed input has no limit
 * either: a key takes one place in the table, however many rows have it.
 *
 * Keys are compared by a hash of 120 bits (key-hash.ts). A job has at most 100 million keys; the probability that two
 * different ones have the same hash is 4e-21, far below that of a memory fault. Each finder draws its own secret after the
 * list is written, so clients cannot make keys that collide.
 */
export interface RepeatFinder {
  /**
   * Call it in the order of rows; rows may be left out.
   * @param row below `rowsMax`
   * @param bytes contain the key from `from` to before `to`, at most 254 bytes; the caller may reuse them afterwards
   * @returns a promise to await before the next call, every few thousand rows; else null
   * @throws ScratchFull, here or by the promise
   */
  add(row: number, bytes: Uint8Array, from: number, to: number): Promise<void> | null;
  /** When all have been added. @throws ScratchFull */
  finish(): Promise<RepeatsFound>;
  /** Frees the disk space, also of the results. Must be called, even after an error. */
  close(): Promise<void>;
  /** Memory in buffers and tables now. */
  heldBytes(): number;
}

export interface RepeatsFound {
  /** Rows that repeat an earlier one. */
  duplicates: number;
  /**
   * @param bounds ascending
   * @returns the repeats of each chunk, in order
   */
  forChunks(bounds: Iterable<ChunkBounds>): AsyncGenerator<ChunkRepeats>;
}

/** Sizes: LIMITS.bulk.repeats describes each. */
export interface FinderSizes {
  blockBytes: number;
  blocksAtOnce: number;
  keysAtOnce: number;
  lists: number;
  fileBytes: number;
}

/** Words of an added row: its key's hash and its number. */
const ROW_WORDS = 5;

export interface RepeatFinderOptions {
  /** Above every row number: it decides the number of lists. */
  rowsMax: number;
  sizes?: FinderSizes;
}

export function createRepeatFinder(
  scratch: Scratch,
  { rowsMax, sizes = LIMITS.bulk.repeats }: RepeatFinderOptions,
): RepeatFinder {
  const blocks = createScratchBlocks(scratch, sizes);
  const partitions = Math.min(powerOfTwo(rowsMax / sizes.keysAtOnce), sizes.lists);
  // Two more for keys that go round again: one is read while the other is written.
  const added = createScratchLists(blocks, { ...sizes, lists: partitions + 2, recordWords: ROW_WORDS });
  const keyHash = createKeyHash();
  const hash = new Uint32Array(4);
  let heldByFinish = 0;
  let lastRow = -1;
  let finished = false;

  return {
    add(row, bytes, from, to) {
      if (finished || row <= lastRow || row >= rowsMax)
        throw new RangeError(`row ${row} cannot be added behind row ${lastRow} of ${rowsMax}`);
      lastRow = row;
      keyHash.write(bytes, from, to, hash);
      const at = added.reserve((hash[3] as number) & (partitions - 1));
      const { words } = added;
      words[at] = hash[0] as number;
      words[at + 1] = hash[1] as number;
      words[at + 2] = hash[2] as number;
      words[at + 3] = hash[3] as number;
      words[at + 4] = row;
      return added.due();
    },
    async finish() {
      if (finished) throw new Error("the repeats have been found before");
      finished = true;
      const outcomes = createRepeatOutcomes(blocks, rowsMax, sizes);
      const table = createKeyTable(Math.max(1, Math.min(rowsMax, sizes.keysAtOnce)));
      heldByFinish = outcomes.heldBytes() + table.heldBytes;
      let duplicates = 0;
      for (let partition = 0; partition < partitions; partition++) {
        duplicates += await matchList({ added, outcomes, table }, partition, [partitions, partitions + 1]);
        await turn();
      }
      heldByFinish = outcomes.heldBytes();
      return { duplicates, forChunks: (bounds) => outcomes.forChunks(bounds) };
    },
    close: () => blocks.close(),
    heldBytes() {
      return added.heldBytes() + heldByFinish;
    },
  };
}

interface Matching {
  added: ScratchLists;
  outcomes: RepeatOutcomes;
  table: KeyTable;
}

/** Reads a list, and finds its repeats. @param again two empty lists @returns number of rows that repeat an earlier one */
async function matchList(matching: Matching, list: number, again: [number, number]): Promise<number> {
  let duplicates = 0;
  let [from, to] = [list, again[0]];
  for (;;) {
    const round = await matchOnce(matching, from, to);
    duplicates += round.duplicates;
    if (!round.isLeft) return duplicates;
    [from, to] = [to, to === again[0] ? again[1] : again[0]];
  }
}

/** One round over the keys that fit the table. The rows of all other keys go to `left`. */
async function matchOnce({ added, outcomes, table }: Matching, list: number, left: number) {
  let duplicates = 0;
  let isLeft = false;
  table.clear();
  for await (const words of added.take(list)) {
    for (let i = 0; i < words.length; i += ROW_WORDS) {
      const row = words[i + 4] ?? 0;
      const first = table.findOrAdd(
        words[i] ?? 0,
        words[i + 1] ?? 0,
        words[i + 2] ?? 0,
        words[i + 3] ?? 0,
        row,
      );
      if (first === row) continue;
      let due: Promise<void> | null;
      if (first === NO_ROOM) {
        isLeft = true;
        added.words.set(words.subarray(i, i + ROW_WORDS), added.reserve(left));
        due = added.due();
      } else {
        duplicates += 1;
        due = outcomes.addCopy(row, first);
      }
      if (due !== null) await due;
    }
  }
  for (let i = 0; i < table.size(); i++) {
    const copies = table.copies[i] ?? 0;
    const due = copies === 0 ? null : outcomes.addFirst(table.rows[i] ?? 0, copies);
    if (due !== null) await due;
  }
  return { duplicates, isLeft };
}
