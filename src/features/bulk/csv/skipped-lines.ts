import type { SkippedLine } from "../analysis/layout.ts";
import type { Sample } from "./delimiter.ts";
import { toText } from "./field.ts";
import { isComment, isRule, type TableStart } from "./header-row.ts";
import { countLineEnds } from "./source-text.ts";

/** Maximum characters of a skipped line that is shown. */
const TEXT_CHARS = 200;

/** The beginning of a line, for people. */
export function lineText(record: Buffer): string {
  const text = toText(record.toString("latin1", 0, 4 * TEXT_CHARS)).replace(/\p{Cc}+/gu, " ");
  return [...text.trim()].slice(0, TEXT_CHARS).join("");
}

/** The records of a sample above the rows of its table, without the header. */
export function linesAbove(
  head: Buffer,
  { records, starts, ends }: Sample,
  { header, firstRow }: TableStart,
): SkippedLine[] {
  const skipped = records.slice(0, firstRow).map((record, i): SkippedLine => {
    const start = starts[i] ?? 0;
    return {
      line: countLineEnds(head.subarray(0, start)) + 1,
      text: lineText(head.subarray(start, ends[i])),
      reason: isRule(record) ? "rule" : isComment(record) ? "comment" : "title",
    };
  });
  return skipped.filter((_, i) => i !== header);
}
