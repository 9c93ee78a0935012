import type { VerificationResult } from "../../verify/answer/verification-result.ts";
import type { JobCounts } from "../jobs/job-sql.ts";
import { DrawnRows } from "../results/drawn-rows.ts";
import type { SortedRows } from "./deferrals.ts";

/** Rows of a task that are answered for good. */
export interface AnsweredRows {
  /** Those that were drawn. */
  drawn: DrawnRows;
  /** All others. */
  others: SortedRows["answered"];
}

/** Without the rows of these offsets. */
export function withoutRows({ drawn, others }: AnsweredRows, offsets: ReadonlySet<number>): AnsweredRows {
  const kept = new DrawnRows();
  drawn.each((offset, row) => {
    if (!offsets.has(offset)) kept.add(offset, row);
  });
  return { drawn: kept, others: others.filter(({ offset }) => !offsets.has(offset)) };
}

/**
 * Each answered row counts with all that copy it, and costs once.
 * @param copies by a row's offset how many copy it; none, where none do
 */
export function countVerdicts(
  copies: ReadonlyMap<number, number>,
  { drawn, others }: AnsweredRows,
): JobCounts {
  const counts: JobCounts = { valid: 0, invalid: 0, risky: 0, unknown: 0, charged: 0 };
  for (const [number, { result, charged }] of drawn.templates.entries()) {
    const own = drawn.rowsOf[number] ?? 0;
    counts[result.verdict] += own;
    if (charged) counts.charged += own;
  }
  if (copies.size > 0)
    drawn.eachTemplate((offset, { result }) => {
      counts[result.verdict] += copies.get(offset) ?? 0;
    });
  for (const { offset, verified } of others) {
    counts[verified.result.verdict] += 1 + (copies.get(offset) ?? 0);
    if (verified.charged) counts.charged += 1;
  }
  return counts;
}

/** Tells of the rows, `count` of them alike. */
export function forEachResult(
  { drawn, others }: AnsweredRows,
  onResult: (result: VerificationResult, count: number) => void,
): void {
  for (const [number, { result }] of drawn.templates.entries()) onResult(result, drawn.rowsOf[number] ?? 0);
  for (const { verified } of others) onResult(verified.result, 1);
}
