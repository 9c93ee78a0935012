import { api } from "../../api/client.ts";
import { BASE_PATH } from "../../base-path.ts";
import type { Reason, Verdict, VerificationResult } from "../../words/reasons.ts";

/** Maximum rows of a list that a page shows. */
export const SHOWN_ROWS = 1_000;

/** One address of a list, and its result. */
export interface ResultRow {
  /** Row number in the list, from 1. */
  row: number;
  input: string;
  /** Number of the row whose result this one repeats; null: it is not a repeat. */
  duplicateOf: number | null;
  result: VerificationResult;
}

/** Conditions on rows; all that are given must hold. */
export interface ResultFilter {
  verdict?: Verdict;
  reason?: Reason;
  /** Provider of the mail servers; "": no known one. */
  provider?: string;
}

/** URL of the rows as a file. */
export function resultsHref(id: string, format: "csv" | "jsonl", filter: ResultFilter): string {
  return `${BASE_PATH}/v1/bulk-jobs/${id}/results?${new URLSearchParams({ format, ...filter })}`;
}

/** A line of the results in JSON: a row, or a row of several addresses. */
type Answered = VerificationResult & { input: string; duplicate_of: number | null };
type Line = { row: number } & (Answered | { parts: Answered[] });

const shown = (row: number, answer: Answered): ResultRow => ({
  row,
  input: answer.input,
  duplicateOf: answer.duplicate_of,
  result: answer,
});

function rowsOf(text: string): ResultRow[] {
  const line = JSON.parse(text) as Line;
  return "parts" in line ? line.parts.map((part) => shown(line.row, part)) : [shown(line.row, line)];
}

/** The first results of a job, in the order of its list. Nothing behind them is loaded. */
export async function readResults(id: string, filter: ResultFilter, signal: AbortSignal) {
  // One more row than is shown, to know whether there are more.
  const query = { format: "jsonl" as const, limit: SHOWN_ROWS + 1, ...filter };
  const { data } = await api.GET("/v1/bulk-jobs/{id}/results", {
    params: { path: { id }, query },
    parseAs: "stream",
    signal,
  });
  const rows: ResultRow[] = [];
  if (!(data instanceof ReadableStream)) return { rows, hasMore: false };
  const decoder = new TextDecoderStream() as TransformStream<Uint8Array, string>;
  const reader = data.pipeThrough(decoder).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { rows, hasMore: false };
    const lines = (text + value).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      if (rows.length >= SHOWN_ROWS) {
        await reader.cancel();
        return { rows, hasMore: true };
      }
      rows.push(...rowsOf(line));
    }
  }
}
