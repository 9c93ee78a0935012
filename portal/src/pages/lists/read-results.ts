import { api } from "../../api/client.ts";
import type { Verdict, VerificationResult } from "../../words/reasons.ts";

/** What a page shows of a list, however long that is. */
export const SHOWN_ROWS = 1_000;

/** One address of a list, and what was found. */
export interface ResultRow {
  /** Of the list, from 1. */
  row: number;
  input: string;
  /** The row whose result this one repeats; null: none. */
  duplicateOf: number | null;
  result: VerificationResult;
}

export interface ResultFilter {
  verdict: Verdict | null;
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
export async function readResults(id: string, { verdict }: ResultFilter, signal: AbortSignal) {
  const { data } = await api.GET("/v1/bulk-jobs/{id}/results", {
    params: { path: { id }, query: { format: "jsonl", ...(verdict === null ? {} : { verdict }) } },
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
