import type { SkippedLine } from "../layout.ts";
import type { Sample } from "./delimiter.ts";
import { toText } from "./field.ts";
import { isComment } from "./header-row.ts";

/** Of a line that is named. */
const TEXT_CHARS = 200;

const CR = 0x0d;
const LF = 0x0a;

/** Ends of lines in the bytes: LF, CR LF, CR. A CR at their very end is one. */
export function countLineEnds(bytes: Buffer): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === LF || (byte === CR && bytes[at + 1] !== LF)) count += 1;
  }
  return count;
}

/** The beginning of a line, for people. */
export function lineText(record: Buffer): string {
  const text = toText(record.toString("latin1", 0, 4 * TEXT_CHARS)).replace(/\p{Cc}+/gu, " ");
  return [...text.trim()].slice(0, TEXT_CHARS).join("");
}

/** The records of a sample that stand above its table. */
export function linesAbove(head: Buffer, { records, starts, ends }: Sample, count: number): SkippedLine[] {
  return records.slice(0, count).map((record, i) => {
    const start = starts[i] ?? 0;
    return {
      line: countLineEnds(head.subarray(0, start)) + 1,
      text: lineText(head.subarray(start, ends[i])),
      reason: isComment(record) ? "comment" : "title",
    };
  });
}
