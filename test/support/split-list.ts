import { type AnalysisBounds, analyseSource } from "../../src/features/bulk/analysis/analyse.ts";
import type { SourceOptions } from "../../src/features/bulk/analysis/layout.ts";

export interface Asked {
  options?: SourceOptions;
  splitCells: boolean;
  pieceBytes?: number | undefined;
  bounds?: Partial<AnalysisBounds>;
}

/** Analyses a list. Returns the result, and the text that its records refer to. */
export async function scanned(bytes: Buffer, { options, splitCells, pieceBytes = 65_536, bounds }: Asked) {
  async function* source() {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  }
  const written: Buffer[] = [];
  const keys: string[] = [];
  const sinks = {
    repeats: {
      add(row: number, key: Uint8Array, from: number, to: number) {
        keys.push(`${row} ${Buffer.from(key.subarray(from, to))}`);
        return null;
      },
    },
    rewrite: () => ({ write: async (piece: Buffer) => void written.push(Buffer.from(piece)) }),
  };
  const read = await analyseSource(
    source(),
    { ...options, splitCells },
    { rows: 1e6, bytes: 1e9, ...bounds },
    sinks,
    new AbortController().signal,
  );
  return { read, keys, text: read.ok && read.rewritten ? Buffer.concat(written) : bytes };
}
