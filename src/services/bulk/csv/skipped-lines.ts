import type { SkippedLine } from "../layout.ts";
import type { Sample } from "./delimiter.ts";
import { toText } from "./field.ts";
import { isComment } from "./header-row.ts";
import { countLineEnds } from "./source-text.ts";

/** Of a line that is named. */
const TEXT_CHARS = 200;

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
