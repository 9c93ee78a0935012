import type { Scratch, ScratchFile } from "./scratch.ts";

/** Blocks of a scratch file, which is created with the first write. Freed blocks are reused. */
export interface ScratchBlocks {
  readonly blockBytes: number;
  /** @returns the numbers of the written blocks, in order. @throws ScratchFull */
  write(blocks: readonly Uint8Array[]): Promise<number[]>;
  read(into: Uint8Array, block: number): Promise<void>;
  free(block: number): void;
  close(): Promise<void>;
}

export function createScratchBlocks(
  scratch: Scratch,
  { blockBytes, fileBytes }: { blockBytes: number; fileBytes: number },
): ScratchBlocks {
  let file: ScratchFile | null = null;
  let closed = false;
  const freed: number[] = [];
  let blocksWritten = 0;

  function opened(): ScratchFile {
    if (closed) throw new Error("the scratch blocks have been closed");
    file ??= scratch.open(fileBytes);
    return file;
  }

  return {
    blockBytes,
    async write(blocks) {
      const target = opened();
      const numbers = blocks.map(() => freed.pop() ?? blocksWritten++);
      const writes: Promise<void>[] = [];
      for (let from = 0, to = 0; from < blocks.length; from = to) {
        do to++;
        while (to < blocks.length && numbers[to] === (numbers[to - 1] ?? 0) + 1);
        writes.push(target.write(blocks.slice(from, to), (numbers[from] ?? 0) * blockBytes));
      }
      await Promise.all(writes);
      return numbers;
    },
    read: (into, block) => opened().read(into, block * blockBytes),
    free: (block) => void freed.push(block),
    async close() {
      closed = true;
      await file?.close();
    },
  };
}

/**
 * Many lists of records of some 32-bit words that together exceed the memory bound: each list fills a block of its own in
 * memory, and full blocks go to the file.
 *
 * `reserve` is for inner loops and never waits. The caller asks `due` after each record, and awaits its answer before the
 * next.
 */
export interface ScratchLists {
  /** The array that `reserve` indexes: write a record at once, before the next is reserved. */
  readonly words: Uint32Array;
  /** @returns index into `words` of a new record at the end of `list` */
  reserve(list: number): number;
  /** Blocks wait to be written: resolves when they are. @throws ScratchFull */
  due(): Promise<void> | null;
  /** All records of a list in order, some at a time: valid until the next are requested. @throws ScratchFull */
  read(list: number): AsyncGenerator<Uint32Array>;
  /** The same, for a list that gets no record meanwhile: it is empty after its last record. */
  take(list: number): AsyncGenerator<Uint32Array>;
  /** Memory in buffers and tables now, with those of one reader: nearly all of it from the start. */
  heldBytes(): number;
}

export interface ScratchListsOptions {
  lists: number;
  recordWords: number;
  /** Written, and read, at once. */
  blocksAtOnce: number;
}

/** A block that waits to be written. */
interface Sealed {
  list: number;
  /** Its slot in memory. */
  slot: number;
}

const NONE = -1;

export function createScratchLists(blocks: ScratchBlocks, options: ScratchListsOptions): ScratchLists {
  const { lists, recordWords, blocksAtOnce } = options;
  const slotWords = blocks.blockBytes / 4;
  const usedWords = slotWords - (slotWords % recordWords);
  const slots = lists + blocksAtOnce;
  const words = new Uint32Array(slots * slotWords);
  /** For each list: the slot that it fills, and the index of its next record. */
  const slotOf = new Int32Array(lists).fill(NONE);
  const next = new Uint32Array(lists);
  const freeSlots = Array.from({ length: slots }, (_, i) => slots - 1 - i);
  const written: number[][] = Array.from({ length: lists }, () => []);
  let sealed: Sealed[] = [];
  let writing: Promise<void> | null = null;
  let blocksHeld = 0;
  /** Lost blocks cannot be read: a failed write is final. */
  let failure: unknown = null;

  function renew(list: number): void {
    if (failure !== null) throw failure;
    const slot = slotOf[list] ?? NONE;
    if (slot !== NONE) sealed.push({ list, slot });
    const free = freeSlots.pop();
    assertRoom(free);
    slotOf[list] = free;
    next[list] = free * slotWords;
  }

  async function write(): Promise<void> {
    const batch = sealed;
    sealed = [];
    try {
      const numbers = await blocks.write(batch.map(({ slot }) => bytesOf(words, slot)));
      for (const [i, { list, slot }] of batch.entries()) {
        written[list]?.push(numbers[i] ?? 0);
        freeSlots.push(slot);
      }
      blocksHeld += batch.length;
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      writing = null;
    }
  }

  function bytesOf(array: Uint32Array, slot: number): Uint8Array {
    return new Uint8Array(array.buffer, slot * blocks.blockBytes, blocks.blockBytes);
  }

  async function* read(list: number): AsyncGenerator<Uint32Array> {
    // From here on a block of the list in memory is its last, and stays where it is.
    while (sealed.length > 0 || writing !== null) await (writing ?? startWriting());
    if (failure !== null) throw failure;
    const numbers = written[list] ?? [];
    const into = new Uint32Array(Math.min(blocksAtOnce, numbers.length) * slotWords);
    for (let from = 0; from < numbers.length; from += blocksAtOnce) {
      const batch = numbers.slice(from, from + blocksAtOnce);
      await Promise.all(batch.map((number, i) => blocks.read(bytesOf(into, i), number)));
      for (let i = 0; i < batch.length; i++) yield into.subarray(i * slotWords, i * slotWords + usedWords);
    }
    const tail = slotOf[list] ?? NONE;
    if (tail !== NONE) yield words.subarray(tail * slotWords, next[list]);
  }

  function clear(list: number): void {
    for (const number of written[list] ?? []) blocks.free(number);
    blocksHeld -= written[list]?.length ?? 0;
    written[list] = [];
    const tail = slotOf[list] ?? NONE;
    if (tail !== NONE) freeSlots.push(tail);
    slotOf[list] = NONE;
  }

  function startWriting(): Promise<void> {
    writing = write();
    return writing;
  }

  return {
    words,
    reserve(list) {
      const slot = slotOf[list] ?? NONE;
      if (slot === NONE || next[list] === slot * slotWords + usedWords) renew(list);
      const at = next[list] ?? 0;
      next[list] = at + recordWords;
      return at;
    },
    due() {
      if (sealed.length < blocksAtOnce) return null;
      return writing ?? startWriting();
    },
    read,
    async *take(list) {
      yield* read(list);
      clear(list);
    },
    heldBytes() {
      const reader = blocksAtOnce * blocks.blockBytes;
      return words.byteLength + slotOf.byteLength + next.byteLength + reader + 8 * (slots + blocksHeld);
    },
  };
}

function assertRoom(slot: number | undefined): asserts slot is number {
  if (slot === undefined) throw new Error("await due() before appending to lists");
}
