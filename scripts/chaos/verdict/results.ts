import { parse } from "csv-parse/sync";
import { bodyOf } from "../traffic/asking.ts";
import type { SentJob } from "../traffic/jobs.ts";
import type { Door, RequestLog } from "../traffic/request-log.ts";
import { type Decisions, decisionsOf } from "../traffic/truth.ts";
import { compareRows, type ResultRow, type RowComparison } from "./rows.ts";

/** Totals over all lists. */
export interface RowTotals {
  jobs: number;
  rowsIn: number;
  rowsOut: number;
  lost: number;
  duplicates: number;
  misplaced: number;
  wrong: string[];
  /** Units that the team must have been charged. */
  units: number;
  /** Jobs that did not complete, and how they ended. */
  unfinished: string[];
  /** Decisions of the rows of each completed job, by job id. */
  decisions: ReadonlyMap<string, Decisions>;
}

const ANSWER_WITHIN_MS = 60_000;

export function resultRows(csv: string): ResultRow[] {
  const records = parse(csv, { columns: true }) as Record<string, string>[];
  return records.map((record) => ({
    email: record.email ?? "",
    verdict: record.rcpt_verdict ?? "",
    reason: record.rcpt_reason ?? "",
  }));
}

async function resultsOf(
  id: string,
  key: string,
  door: Door,
  log: RequestLog,
): Promise<ResultRow[] | string> {
  const get = async (path: string) => {
    const reply = await log.ask(door, { method: "GET", path, key, timeoutMs: ANSWER_WITHIN_MS }, "objects");
    return reply.status === 200 ? reply.text : null;
  };
  const job = bodyOf((await get(`/v1/bulk-jobs/${id}`)) ?? "");
  if (job?.status !== "completed")
    return `${id}: ${String(job?.status)} ${JSON.stringify(job?.error ?? null)}`;
  const csv = await get(`/v1/bulk-jobs/${id}/results?format=csv`);
  return csv === null ? `${id}: its results cannot be read` : resultRows(csv);
}

/** Reads the results of every job and compares them with what was sent, row by row. */
export async function compareJobs(
  jobs: readonly SentJob[],
  key: string,
  door: Door,
  log: RequestLog,
): Promise<RowTotals> {
  const decisions = new Map<string, Decisions>();
  const totals: RowTotals = {
    ...{ jobs: jobs.length, rowsIn: 0, rowsOut: 0, lost: 0, duplicates: 0, misplaced: 0, units: 0 },
    wrong: [],
    unfinished: [],
    decisions,
  };
  for (const { id, rows } of jobs) {
    const received = await resultsOf(id, key, door, log);
    if (typeof received === "string") totals.unfinished.push(received);
    else decisions.set(id, decisionsOf(received));
    add(totals, compareRows(rows, typeof received === "string" ? [] : received), id);
  }
  return totals;
}

function add(totals: RowTotals, found: RowComparison, id: string): void {
  totals.rowsIn += found.sent;
  totals.rowsOut += found.received;
  totals.lost += found.lost;
  totals.duplicates += found.duplicates;
  totals.misplaced += found.misplaced;
  totals.units += found.units;
  totals.wrong.push(...found.wrong.map(({ at, email, said }) => `${id} row ${at}, ${email}: ${said}`));
}
