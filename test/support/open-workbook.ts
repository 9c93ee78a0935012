import { tmpdir } from "node:os";
import { CsvProblemError } from "../../src/features/bulk/csv/problems.ts";
import type { RandomBytes } from "../../src/features/bulk/workbook/random-bytes.ts";
import { openWorkbook, type WorkbookOptions } from "../../src/features/bulk/workbook/workbook.ts";
import { createScratch } from "../../src/stores/scratch.ts";

/** Bytes in memory, read in pieces as from object storage. */
export function randomBytes(bytes: Buffer, pieceBytes = 16_384): RandomBytes {
  return {
    length: bytes.length,
    read: async (firstByte, length) => bytes.subarray(firstByte, firstByte + length),
    async *open(firstByte, length) {
      for (let at = firstByte; at < firstByte + length; at += pieceBytes)
        yield bytes.subarray(at, Math.min(at + pieceBytes, firstByte + length));
    },
  };
}

export const scratch = createScratch(tmpdir());

/** The sheet as CSV, which sheet it is, and whether it was cut; else `code: detail` of the refusal. */
export async function readWorkbook(bytes: Buffer | RandomBytes, options: Partial<WorkbookOptions> = {}) {
  const source = Buffer.isBuffer(bytes) ? randomBytes(bytes) : bytes;
  try {
    const opened = await openWorkbook(source, { scratch, stringsBytes: 1e8, ...options });
    const pieces: Buffer[] = [];
    try {
      for await (const piece of opened.text) pieces.push(piece);
    } finally {
      await opened.close();
    }
    return { text: Buffer.concat(pieces).toString(), sheet: opened.sheet, isCut: opened.isCut() };
  } catch (error) {
    if (error instanceof CsvProblemError) return `${error.problem.code}: ${error.problem.detail}`;
    throw error;
  }
}
