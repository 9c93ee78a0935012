import { openText, type TextLimits } from "../../../src/features/bulk/csv/encoding/decode.ts";
import { CsvProblemError } from "../../../src/features/bulk/csv/problems.ts";

/** An object as it comes from storage, in pieces, and what became of it. */
export interface CountedSource extends AsyncIterable<Uint8Array> {
  /** Bytes that were asked for so far. */
  taken: number;
  closed: boolean;
}

export function sourceOf(pieces: Iterable<Uint8Array>): CountedSource {
  const source: CountedSource = {
    taken: 0,
    closed: false,
    async *[Symbol.asyncIterator]() {
      try {
        for (const piece of pieces) {
          source.taken += piece.length;
          yield piece;
        }
      } finally {
        source.closed = true;
      }
    },
  };
  return source;
}

/** `count` times the same piece. */
export function* repeated(piece: Buffer, count: number): Generator<Buffer> {
  for (let i = 0; i < count; i += 1) yield piece;
}

/** The text of an object, or the code of the problem that it has at its opening or later. */
export async function readText(
  source: AsyncIterable<Uint8Array>,
  limits: TextLimits,
): Promise<Buffer | string> {
  const opened = await openText(source, limits);
  if (!opened.ok) return opened.code;
  const pieces: Buffer[] = [];
  try {
    for await (const piece of opened.text) pieces.push(piece);
  } catch (error) {
    if (error instanceof CsvProblemError) return error.problem.code;
    throw error;
  }
  return Buffer.concat(pieces);
}
