import type { VerificationResult } from "../../verify/answer/verification-result.ts";
import type { ProviderCounts } from "../jobs/job-providers.ts";
import type { JobCounts } from "../jobs/job-sql.ts";
import { TemplatedRows } from "../results/templated-rows.ts";
import type { SortedRows } from "./deferrals.ts";

/** Rows of a task that are answered for good. */
export interface AnsweredRows {
  /** Those whose results are filled templates. */
  templated: TemplatedRows;
  /** All others. */
  others: SortedRows["answered"];
}

/** Returns the rows without those of these offsets. */
export function withoutRows({ templated, others }: AnsweredRows, offsets: ReadonlySet<number>): AnsweredRows {
  const kept = new TemplatedRows();
  templated.each((offset, row) => {
    if (!offsets.has(offset)) kept.add(offset, row);
  });
  return { templated: kept, others: others.filter(({ offset }) => !offsets.has(offset)) };
}

/**
 * Counts verdicts, in all and by provider. An answered row counts with all rows that copy it, and is charged at most once.
 * @param copies number of copies by a row's offset; absent for rows without copies
 */
export function countRows(
  copies: ReadonlyMap<number, number>,
  { templated, others }: AnsweredRows,
): { counts: JobCounts; providers: ProviderCounts[] } {
  const counts: JobCounts = { valid: 0, invalid: 0, risky: 0, unknown: 0, charged: 0 };
  const providers = new Map<string, ProviderCounts>();
  const add = ({ verdict, checks }: VerificationResult, rows: number) => {
    if (rows === 0) return;
    counts[verdict] += rows;
    const provider = checks.mx.provider ?? "";
    const own = providers.get(provider) ?? { provider, valid: 0, invalid: 0, risky: 0, unknown: 0 };
    own[verdict] += rows;
    providers.set(provider, own);
  };
  for (const [number, { result, charged }] of templated.templates.entries()) {
    const own = templated.rowsOf[number] ?? 0;
    add(result, own);
    if (charged) counts.charged += own;
  }
  if (copies.size > 0) templated.eachTemplate((offset, { result }) => add(result, copies.get(offset) ?? 0));
  for (const { offset, verified } of others) {
    add(verified.result, 1 + (copies.get(offset) ?? 0));
    if (verified.charged) counts.charged += 1;
  }
  return { counts, providers: [...providers.values()] };
}

/** Reports each result with the number of rows that have it. */
export function forEachResult(
  { templated, others }: AnsweredRows,
  onResult: (result: VerificationResult, count: number) => void,
): void {
  for (const [number, { result }] of templated.templates.entries())
    onResult(result, templated.rowsOf[number] ?? 0);
  for (const { verified } of others) onResult(verified.result, 1);
}
