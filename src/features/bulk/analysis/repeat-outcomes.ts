import { createScratchLists, type ScratchBlocks, type ScratchLists } from "../../../stores/scratch-lists.ts";
import { CHUNK_ROWS_MAX, type ChunkRepeats } from "./repeats.ts";

/** Outcomes of rows, added in any order and read in the order of rows. A row has at most one outcome. */
export interface RepeatOutcomes {
  /** @returns a promise to await before the next call; null: no wait @throws ScratchFull, here or by the promise */
  addCopy(row: number, first: number): Promise<void> | null;
  addFirst(row: number, copies: number): Promise<void> | null;
  /** When all have been added. */
  forChunks(bounds: Iterable<ChunkBounds>): AsyncGenerator<ChunkRepeats>;
  heldBytes(): number;
}

export interface ChunkBounds {
  /** Counted from 0 over the job. */
  firstRow: number;
  /** At most CHUNK_ROWS_MAX. */
  rows: number;
}

interface OutcomeSizes {
  lists: number;
  keysAtOnce: number;
  blocksAtOnce: number;
}

/** Twice the offset in its range, one more when it is a first; and the first row, or the number of copies. */
const RECORD_WORDS = 2;
const NOTHING = 0;
const COPY = 1;
const FIRST = 2;

export function powerOfTwo(atLeast: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(atLeast)));
}

/** The outcomes of some rows, one behind the other. */
interface Range {
  number: number;
  /** NOTHING, COPY or FIRST. */
  kinds: Uint8Array;
  values: Uint32Array;
}

/** Reads the list of that number into `range`. */
async function load(range: Range, lists: Pick<ScratchLists, "read">, number: number): Promise<void> {
  range.number = number;
  range.kinds.fill(NOTHING);
  for await (const words of lists.read(number))
    for (let i = 0; i < words.length; i += RECORD_WORDS) {
      const mark = words[i] ?? 0;
      range.kinds[mark >>> 1] = (mark & 1) === 1 ? FIRST : COPY;
      range.values[mark >>> 1] = words[i + 1] ?? 0;
    }
}

/** One list a range of rows, as long as a table of that many rows may be. */
export function createRepeatOutcomes(
  blocks: ScratchBlocks,
  rowsMax: number,
  sizes: OutcomeSizes,
): RepeatOutcomes {
  const rangeRows = powerOfTwo(Math.max(rowsMax / sizes.lists, Math.min(rowsMax, sizes.keysAtOnce)));
  const ranges = Math.ceil(rowsMax / rangeRows);
  const lists = createScratchLists(blocks, { ...sizes, lists: ranges, recordWords: RECORD_WORDS });

  function add(row: number, isFirst: number, value: number): Promise<void> | null {
    const range = Math.floor(row / rangeRows);
    const at = lists.reserve(range);
    lists.words[at] = (row - range * rangeRows) * 2 + isFirst;
    lists.words[at + 1] = value;
    return lists.due();
  }

  /** Adds the outcomes of the chunk's rows in `range` to `repeats`. */
  function collect(range: Range, { firstRow, rows }: ChunkBounds, repeats: ChunkRepeats): void {
    const start = range.number * rangeRows;
    const end = Math.min(start + rangeRows, firstRow + rows);
    for (let row = Math.max(start, firstRow); row < end; row++) {
      const kind = range.kinds[row - start];
      if (kind === NOTHING) continue;
      const value = range.values[row - start] ?? 0;
      (kind === COPY ? repeats.sameAs : repeats.copies).set(row - firstRow, value);
    }
  }

  return {
    addCopy: (row, first) => add(row, 0, first),
    addFirst: (row, copies) => add(row, 1, copies),
    async *forChunks(bounds) {
      const range: Range = {
        number: -1,
        kinds: new Uint8Array(rangeRows),
        values: new Uint32Array(rangeRows),
      };
      let next = 0;
      for (const chunk of bounds) {
        const end = chunk.firstRow + chunk.rows;
        if (chunk.firstRow < next || chunk.rows > CHUNK_ROWS_MAX || end > rowsMax)
          throw new RangeError(
            `rows ${chunk.firstRow} to ${end} are no chunk behind row ${next} of ${rowsMax}`,
          );
        next = end;
        const repeats: ChunkRepeats = { sameAs: new Map(), copies: new Map() };
        for (let number = Math.floor(chunk.firstRow / rangeRows); number * rangeRows < end; number++) {
          if (number !== range.number) await load(range, lists, number);
          collect(range, chunk, repeats);
        }
        yield repeats;
      }
    },
    heldBytes() {
      // Includes the arrays for the reader of the chunks.
      return lists.heldBytes() + rangeRows * (1 + 4);
    },
  };
}
