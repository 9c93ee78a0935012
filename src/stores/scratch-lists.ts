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
 * Many lists of records of some 32-bit words, which together exceed the memory limit. Each list fills a block of its own in
 * memory, and full blocks go to the file. `reserve` is for inner loops and never waits. The caller checks `due` after each
 * record, and awaits its result before the next.
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
  /** The same, for a list that gets no record during the read: it is empty after its last record. */
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
  /** Index of its slot in memory. */
  slot: number;
}

const NONE = -1;

class BlockLists implements ScratchLists {
  readonly words: Uint32Array;
  readonly #blocks: ScratchBlocks;
  readonly #recordWords: number;
  readonly #blocksAtOnce: number;
  /** Words of a block, and as many of them as whole records fill. */
  readonly #slotWords: number;
  readonly #usedWords: number;
  /** By list: the slot that it fills, and the index of its next record. */
  readonly #slotOf: Int32Array;
  readonly #next: Uint32Array;
  readonly #slots: number;
  readonly #freeSlots: number[];
  /** By list: its blocks in the file. */
  readonly #written: number[][];
  #sealed: Sealed[] = [];
  #writing: Promise<void> | null = null;
  #blocksHeld = 0;
  /** Lost blocks cannot be read: a failed write is final. */
  #failure: unknown = null;

  constructor(blocks: ScratchBlocks, { lists, recordWords, blocksAtOnce }: ScratchListsOptions) {
    const slotWords = blocks.blockBytes / 4;
    const slots = lists + blocksAtOnce;
    this.#blocks = blocks;
    this.#recordWords = recordWords;
    this.#blocksAtOnce = blocksAtOnce;
    this.#slotWords = slotWords;
    this.#usedWords = slotWords - (slotWords % recordWords);
    this.words = new Uint32Array(slots * slotWords);
    this.#slotOf = new Int32Array(lists).fill(NONE);
    this.#next = new Uint32Array(lists);
    this.#slots = slots;
    this.#freeSlots = Array.from({ length: slots }, (_, i) => slots - 1 - i);
    this.#written = Array.from({ length: lists }, () => []);
  }

  reserve(list: number): number {
    const slot = this.#slotOf[list] ?? NONE;
    if (slot === NONE || this.#next[list] === slot * this.#slotWords + this.#usedWords) this.#renew(list);
    const at = this.#next[list] ?? 0;
    this.#next[list] = at + this.#recordWords;
    return at;
  }

  /** Gives the list a slot to fill; its full one waits to be written. */
  #renew(list: number): void {
    if (this.#failure !== null) throw this.#failure;
    const slot = this.#slotOf[list] ?? NONE;
    if (slot !== NONE) this.#sealed.push({ list, slot });
    const free = this.#freeSlots.pop();
    assertRoom(free);
    this.#slotOf[list] = free;
    this.#next[list] = free * this.#slotWords;
  }

  due(): Promise<void> | null {
    if (this.#sealed.length < this.#blocksAtOnce) return null;
    return this.#writing ?? this.#startWriting();
  }

  #startWriting(): Promise<void> {
    this.#writing = this.#write();
    return this.#writing;
  }

  async #write(): Promise<void> {
    const batch = this.#sealed;
    this.#sealed = [];
    try {
      const numbers = await this.#blocks.write(batch.map(({ slot }) => this.#bytesOf(this.words, slot)));
      for (const [i, { list, slot }] of batch.entries()) {
        this.#written[list]?.push(numbers[i] ?? 0);
        this.#freeSlots.push(slot);
      }
      this.#blocksHeld += batch.length;
    } catch (error) {
      this.#failure = error;
      throw error;
    } finally {
      this.#writing = null;
    }
  }

  #bytesOf(array: Uint32Array, slot: number): Uint8Array {
    const { blockBytes } = this.#blocks;
    return new Uint8Array(array.buffer, slot * blockBytes, blockBytes);
  }

  async *read(list: number): AsyncGenerator<Uint32Array> {
    // From here on the list's block in memory is its last, and does not move to the file.
    while (this.#sealed.length > 0 || this.#writing !== null) await (this.#writing ?? this.#startWriting());
    if (this.#failure !== null) throw this.#failure;
    const slotWords = this.#slotWords;
    const numbers = this.#written[list] ?? [];
    const into = new Uint32Array(Math.min(this.#blocksAtOnce, numbers.length) * slotWords);
    for (let from = 0; from < numbers.length; from += this.#blocksAtOnce) {
      const batch = numbers.slice(from, from + this.#blocksAtOnce);
      await Promise.all(batch.map((number, i) => this.#blocks.read(this.#bytesOf(into, i), number)));
      for (let i = 0; i < batch.length; i++)
        yield into.subarray(i * slotWords, i * slotWords + this.#usedWords);
    }
    const tail = this.#slotOf[list] ?? NONE;
    if (tail !== NONE) yield this.words.subarray(tail * slotWords, this.#next[list]);
  }

  async *take(list: number): AsyncGenerator<Uint32Array> {
    yield* this.read(list);
    this.#clear(list);
  }

  #clear(list: number): void {
    for (const number of this.#written[list] ?? []) this.#blocks.free(number);
    this.#blocksHeld -= this.#written[list]?.length ?? 0;
    this.#written[list] = [];
    const tail = this.#slotOf[list] ?? NONE;
    if (tail !== NONE) this.#freeSlots.push(tail);
    this.#slotOf[list] = NONE;
  }

  heldBytes(): number {
    const reader = this.#blocksAtOnce * this.#blocks.blockBytes;
    const tables = this.#slotOf.byteLength + this.#next.byteLength;
    return this.words.byteLength + tables + reader + 8 * (this.#slots + this.#blocksHeld);
  }
}

export function createScratchLists(blocks: ScratchBlocks, options: ScratchListsOptions): ScratchLists {
  return new BlockLists(blocks, options);
}

function assertRoom(slot: number | undefined): asserts slot is number {
  if (slot === undefined) throw new Error("await due() before appending to lists");
}
