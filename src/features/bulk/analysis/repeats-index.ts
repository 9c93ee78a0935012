import type { ChunkRange } from "../schedule/job-tasks.ts";
import type { CutChunk } from "./chunk-cutter.ts";
import type { RepeatsFound } from "./repeat-finder.ts";
import { encodeChunkRepeats } from "./repeats.ts";

/** Writer of the index of a job's repeats. */
export interface IndexWriter {
  write(piece: Uint8Array): Promise<void>;
  end(): Promise<unknown>;
  abort(): Promise<void>;
}

/**
 * Writes the index of a job's repeats, one chunk's after the other. Memory: the repeats of a chunk, and the chunks
 * themselves.
 * @param open called if there are repeats
 * @returns the chunks, each with the position of its repeats
 * @throws errors of finding and writing; then nothing is written
 */
export async function writeRepeatsIndex(
  chunks: readonly CutChunk[],
  found: RepeatsFound,
  open: () => IndexWriter,
): Promise<ChunkRange[]> {
  const ranges = chunks.map((chunk) => ({ ...chunk, repeatsByte: 0, repeatsBytes: 0 }));
  if (found.duplicates === 0) return ranges;
  const writer = open();
  try {
    let at = 0;
    let i = 0;
    for await (const repeats of found.forChunks(chunks)) {
      const piece = encodeChunkRepeats(repeats);
      const range = ranges[i++];
      if (range === undefined) throw new Error("there are more repeats than chunks");
      range.repeatsByte = at;
      range.repeatsBytes = piece.length;
      at += piece.length;
      if (piece.length > 0) await writer.write(piece);
    }
    await writer.end();
  } catch (error) {
    await writer.abort();
    throw error;
  }
  return ranges;
}
