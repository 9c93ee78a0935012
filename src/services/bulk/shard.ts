import type { Verdict } from "../../check/verdict/table.ts";
import type { VerificationResult } from "../verify/verification-result.ts";
import { readJsonLines, writeJsonLines } from "./json-lines.ts";

/** One row of a shard: a line of JSON, one for each row of its chunk, in order. */
export interface ShardRow {
  /** Counted from 0 over the job. */
  row: number;
  /** As it was given. */
  input: string;
  /** The row whose result this one copies; then there is no result here. */
  same_as?: number;
  copies?: number;
  result?: VerificationResult;
}

/** A row of the results. */
export interface ResultRow {
  row: number;
  input: string;
  /** The row, counted from 0, that had the same address first; null: this is the first. */
  duplicateOf: number | null;
  result: VerificationResult;
}

export const VERDICTS: readonly Verdict[] = ["valid", "invalid", "risky", "unknown"];

export function writeShard(rows: readonly ShardRow[]): string {
  return writeJsonLines(rows);
}

export function readShard(content: Buffer): ShardRow[] {
  return readJsonLines<ShardRow>(content);
}

/** Gives repeats the results of the rows they repeat. Of one job, whose shards come in order. */
export interface Joiner {
  /** The rows of the next shard that have a result: all, unless an earlier shard is missing. */
  join(rows: readonly ShardRow[]): ResultRow[];
}

/** Remembers the results that are repeated, and no others. */
export function createJoiner(): Joiner {
  const repeated = new Map<number, VerificationResult>();
  return {
    join(rows) {
      const joined: ResultRow[] = [];
      for (const { row, input, same_as, copies, result } of rows) {
        if (result !== undefined && copies !== undefined) repeated.set(row, result);
        const own = result ?? repeated.get(same_as ?? -1);
        if (own !== undefined) joined.push({ row, input, duplicateOf: same_as ?? null, result: own });
      }
      return joined;
    },
  };
}

/** A line of the JSONL results: the result, what it is about, and where it stood, rows counted from 1. */
export function jsonLine({ row, input, duplicateOf, result }: ResultRow): string {
  const duplicate = duplicateOf === null ? null : duplicateOf + 1;
  return writeJsonLines([{ row: row + 1, input, duplicate_of: duplicate, ...result }]);
}

const CSV_COLUMNS = [
  "rcpt_verdict",
  "rcpt_reason",
  "rcpt_risk_score",
  "rcpt_email",
  "rcpt_did_you_mean",
  "rcpt_catch_all",
  "rcpt_role",
  "rcpt_disposable",
  "rcpt_mx_provider",
] as const;

/** RFC 4180: quoted where it must be, quotes doubled. */
function csvField(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

function csvRecord(fields: readonly string[]): string {
  return `${fields.map(csvField).join(",")}\r\n`;
}

/** An inline list is a file of one column. */
export const CSV_HEADER = csvRecord(["email", ...CSV_COLUMNS]);

export function csvLine({ input, result }: ResultRow): string {
  const { verdict, reason, risk_score, email, did_you_mean, checks } = result;
  return csvRecord([
    input,
    verdict,
    reason,
    String(risk_score),
    email,
    did_you_mean ?? "",
    checks.smtp.catch_all,
    checks.role.role ?? "",
    String(checks.disposable.is_disposable),
    checks.mx.provider ?? "",
  ]);
}
