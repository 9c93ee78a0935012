import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { BulkJobSchema } from "../../../../../src/api/schemas/bulk.ts";
import type { JobRow } from "../../../../../src/features/bulk/jobs/job-sql.ts";
import { type BulkJob, renderJob } from "../../../../../src/features/bulk/jobs/job-view.ts";
import { INLINE_COLUMNS } from "../../../../../src/features/bulk/submit/source.ts";

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const sameType: Same<v.InferOutput<typeof BulkJobSchema>, BulkJob> = true;

const row: JobRow = {
  id: "job_01h455vb4pex5vsknk084sn02q",
  team_id: "team_1",
  livemode: true,
  status: "processing",
  source: { type: "inline" },
  metadata: {},
  webhook_url: null,
  rows_total: 400,
  duplicates: 1,
  malformed: 2,
  empty: 1,
  deferred: 0,
  deferred_until: null,
  day: "2026-01-01",
  valid: 60,
  invalid: 30,
  risky: 9,
  unknown: 1,
  charged: 90,
  results_key: null,
  error_code: null,
  error_detail: null,
  error_candidates: null,
  created_at: new Date("2026-01-01T00:00:00Z"),
  started_at: new Date("2026-01-01T00:00:01Z"),
  completed_at: null,
};
const settings = { publicUrl: "https://api.example.com/", retentionDays: 30 };
const nowMs = Date.parse("2026-01-01T00:00:11Z");

describe("a job as its team sees it", () => {
  it("is what the API describes", () => {
    assert.ok(sameType);
    v.assert(BulkJobSchema, renderJob(row, settings, nowMs));
  });

  it("says what it has cost: nothing where no day was charged", () => {
    assert.equal(renderJob(row, settings, nowMs).units, 90);
    assert.equal(renderJob({ ...row, livemode: false, day: null }, settings, nowMs).units, 0);
  });

  it("has the pace so far, and when it would be done at that", () => {
    const job = renderJob(row, settings, nowMs);
    assert.deepEqual(
      [job.rows.processed, job.progress, job.rows_per_second, job.eta_seconds, job.results],
      [100, 0.25, 10, 30, null],
    );
    const nearly = renderJob({ ...row, rows_total: 100_000, valid: 99_958, unknown: 2 }, settings, nowMs);
    assert.deepEqual([nearly.rows.processed, nearly.progress], [99_999, 0.9999]);
    const fresh = {
      ...row,
      status: "queued" as const,
      started_at: null,
      valid: 0,
      invalid: 0,
      risky: 0,
      unknown: 0,
    };
    const queued = renderJob(fresh, settings, nowMs);
    assert.deepEqual([queued.progress, queued.rows_per_second, queued.eta_seconds], [0, null, null]);
  });

  it("is not foretold from its first seconds, nor once all its rows are answered", () => {
    const etaAfter = (seconds: number, rest: Partial<JobRow> = {}) =>
      renderJob({ ...row, ...rest }, settings, Date.parse("2026-01-01T00:00:01Z") + seconds * 1_000)
        .eta_seconds;
    assert.deepEqual([etaAfter(0.5), etaAfter(4.9), etaAfter(5)], [null, null, 15]);
    assert.equal(etaAfter(10, { status: "finalizing", valid: 360 }), null);
  });

  it("is not done before what waits is tried again", () => {
    const due = (seconds: number) => new Date(nowMs + seconds * 1_000);
    const etas = [
      { deferred: 100, deferred_until: due(10) },
      { deferred: 100, deferred_until: due(500) },
      { deferred: 300, deferred_until: due(500), status: "deferred" as const },
      { deferred: 300, deferred_until: due(-5), status: "deferred" as const },
      { deferred: 400, deferred_until: due(60), valid: 0, invalid: 0, risky: 0, unknown: 0 },
    ].map((rest) => renderJob({ ...row, ...rest }, settings, nowMs).eta_seconds);
    assert.deepEqual(etas, [20, 500, 500, 1, 60]);
    const waiting = renderJob({ ...row, deferred: 7, deferred_until: due(1) }, settings, nowMs);
    assert.equal(waiting.rows.deferred, 7);
  });

  it("knows nothing of its rows before its file is read", () => {
    const unread = { rows_total: 0, duplicates: 0, malformed: 0, valid: 0, invalid: 0, risky: 0, unknown: 0 };
    for (const status of ["queued", "analyzing"] as const) {
      const job = renderJob({ ...row, ...unread, status }, settings, nowMs);
      assert.deepEqual([job.progress, job.eta_seconds, job.rows_per_second], [0, null, null]);
    }
    const failed = {
      status: "failed" as const,
      completed_at: new Date(nowMs),
      error_code: "not_csv" as const,
    };
    assert.equal(renderJob({ ...row, ...unread, ...failed }, settings, nowMs).progress, 0);
  });

  it("shows where its list is from", () => {
    for (const source of [
      { type: "upload" as const, upload_id: "upl_1", filename: "list.csv" },
      { type: "s3" as const, bucket: "acme", key: "in/list.csv" },
    ]) {
      const queued = renderJob({ ...row, source }, settings, nowMs);
      v.assert(BulkJobSchema, queued);
      assert.deepEqual(queued.source, { ...source, columns: null, warnings: [] });
      const findings = { columns: INLINE_COLUMNS, warnings: [{ code: "nul_bytes", detail: "One." }] };
      const read = renderJob({ ...row, source: { ...source, ...findings } }, settings, nowMs);
      v.assert(BulkJobSchema, read);
      assert.deepEqual(read.source, { ...source, ...findings });
    }
  });

  it("says between which columns it could not choose", () => {
    const candidates = [{ index: 1, name: null, addresses: 5, distinct: 4 }];
    const error = { error_code: "email_column_ambiguous", error_detail: "Which?" } as const;
    const job = renderJob({ ...row, ...error, error_candidates: candidates }, settings, nowMs);
    v.assert(BulkJobSchema, job);
    assert.deepEqual(job.error, { code: "email_column_ambiguous", detail: "Which?", candidates });
  });

  it("names its results for as long as they are kept", () => {
    const completed_at = new Date("2026-01-01T00:00:06Z");
    const done = renderJob({ ...row, status: "completed", valid: 360, completed_at }, settings, nowMs);
    const url = "https://api.example.com/v1/bulk-jobs/job_01h455vb4pex5vsknk084sn02q/results";
    assert.deepEqual(done.results, {
      csv_url: `${url}?format=csv`,
      jsonl_url: `${url}?format=jsonl`,
      expires_at: "2026-01-31T00:00:06.000Z",
    });
    assert.deepEqual([done.rows_per_second, done.eta_seconds], [80, null]);
    const failed = {
      ...row,
      status: "failed" as const,
      completed_at,
      error_code: "internal_error" as const,
      error_detail: "x",
    };
    assert.deepEqual(renderJob(failed, settings, nowMs).results, null);
    assert.deepEqual(renderJob(failed, settings, nowMs).error, { code: "internal_error", detail: "x" });
    const cancelled = renderJob(
      { ...row, status: "cancelled", completed_at },
      { ...settings, publicUrl: null },
      nowMs,
    );
    assert.match(cancelled.results?.csv_url ?? "", /^\/v1\/bulk-jobs\//);
  });
});
