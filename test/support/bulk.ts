import assert from "node:assert/strict";
import type { BulkJob } from "../../src/features/bulk/jobs/job-view.ts";
import type { VerificationResult } from "../../src/features/verify/answer/verification-result.ts";
import type { Response, TestApi, TestDeployment } from "./service.ts";
import { until } from "./until.ts";

/** A line of the JSONL results. */
export type ResultLine = VerificationResult & {
  row: number;
  input: string;
  duplicate_of: number | null;
  /** Values of the source file's columns; absent for inline jobs. */
  columns?: string[];
};

const ENDS: readonly string[] = ["completed", "failed", "cancelled"];

export function submit(
  api: TestApi,
  key: string,
  emails: readonly unknown[],
  rest: Record<string, unknown> = {},
): Promise<Response<BulkJob & { code?: string }>> {
  return api.send("POST", "/v1/verify/bulk", { key, body: { emails, ...rest } });
}

/** Submits a job that must be accepted. */
export async function submitted(
  api: TestApi,
  key: string,
  emails: readonly string[],
  rest: Record<string, unknown> = {},
): Promise<BulkJob> {
  const { status, headers, body } = await submit(api, key, emails, rest);
  assert.equal(status, 202, JSON.stringify(body));
  assert.equal(headers.get("location"), `/v1/bulk-jobs/${body.id}`);
  return body;
}

/** Polls again after a 503, as a client should: Postgres may be slow on a loaded machine. */
export function jobOf(api: TestApi, key: string, id: string): Promise<BulkJob> {
  return until(`job ${id} is shown`, async () => {
    const { status, body } = await api.send<BulkJob>("GET", `/v1/bulk-jobs/${id}`, { key });
    if (status === 503) return null;
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  });
}

/** The job once it has ended. */
export function ended(api: TestApi, key: string, id: string, withinMs = 90_000): Promise<BulkJob> {
  return until(
    `job ${id} ends`,
    async () => {
      const job = await jobOf(api, key, id);
      return ENDS.includes(job.status) && job;
    },
    withinMs,
  );
}

/** The results as they are sent. @param range a value of the field `Range` */
export async function resultsBytes(
  api: TestApi,
  key: string,
  id: string,
  query = "",
  range?: string,
): Promise<Buffer> {
  const response = await fetch(`${api.url}/v1/bulk-jobs/${id}/results${query}`, {
    headers: { Authorization: `Bearer ${key}`, ...(range === undefined ? {} : { Range: range }) },
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  assert.equal(response.status, range === undefined ? 200 : 206, bytes.toString());
  return bytes;
}

/** The results as text, without a byte order mark. */
export async function resultsText(api: TestApi, key: string, id: string, query = ""): Promise<string> {
  return new TextDecoder().decode(await resultsBytes(api, key, id, query));
}

export async function resultLines(api: TestApi, key: string, id: string, query = ""): Promise<ResultLine[]> {
  const text = await resultsText(api, key, id, `?format=jsonl${query}`);
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as ResultLine);
}

export interface LedgerState {
  used: number;
  held: number;
  leased: number;
}

/** Units of a team in the ledger, summed over all days. */
export async function ledgerState({ sql }: TestDeployment, teamId: string): Promise<LedgerState> {
  const [row] = await sql<[LedgerState]>`
    select (select coalesce(sum(used), 0)::int from quota_days where team_id = ${teamId}) as used,
           (select coalesce(sum(units), 0)::int from quota_holds where team_id = ${teamId}) as held,
           (select coalesce(sum(granted), 0)::int from quota_leases where team_id = ${teamId}) as leased`;
  return row;
}
