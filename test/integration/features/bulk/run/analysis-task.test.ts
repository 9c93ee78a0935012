import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { settleAnalysis } from "../../../../../src/features/bulk/analysis/settle-analysis.ts";
import { toText } from "../../../../../src/features/bulk/csv/field.ts";
import { parseRecords } from "../../../../../src/features/bulk/csv/parse.ts";
import { startAnalysis } from "../../../../../src/features/bulk/jobs/job-sql.ts";
import { materialOf } from "../../../../../src/features/bulk/results/job-results.ts";
import { INLINE_COLUMNS } from "../../../../../src/features/bulk/submit/source.ts";
import { systemClock } from "../../../../../src/platform/time/clock.ts";
import { parseAddress } from "../../../../../src/verification/address/address.ts";
import { type AnalysisBench, type FileJob, openAnalyses } from "../../../../support/bulk-analysis.ts";
import { createClosing, newTeam } from "../../../../support/store.ts";

/** The analysis of lists, on real Postgres and object storage. */
const closing = createClosing();
let bench: AnalysisBench;

before(async () => {
  bench = await openAnalyses(closing);
});
after(closing.close);

const LIST = 'name;email\r\nAnn;ann@example.com\r\nBö;"bo@exämple.com"\r\nAnn2;ann@EXAMPLE.com\r\nCy;\r\n';

/** The addresses and repeats of a job's rows, as workers will read them. */
async function rowsOf(job: FileJob) {
  const found = await materialOf(bench.sql, job.id);
  assert.ok(found !== null);
  const { delimiter, emailColumn } = found.layout;
  const emails: string[] = [];
  const sameAs = new Map<number, number>();
  const copies = new Map<number, number>();
  for (const chunk of await bench.chunksOf(job)) {
    assert.equal(chunk.firstRow, emails.length);
    const records = parseRecords(chunk.content, { delimiter });
    assert.equal(records.length, chunk.rows);
    emails.push(...records.map((record) => toText(record[emailColumn] ?? "")));
    for (const [offset, first] of chunk.sameAs) sameAs.set(chunk.firstRow + offset, first);
    for (const [offset, count] of chunk.copies) copies.set(chunk.firstRow + offset, count);
  }
  return { emails, sameAs, copies, ...found };
}

/** The repeats, found by the simplest code. */
function naively(emails: readonly string[]) {
  const firsts = new Map<string, number>();
  const sameAs = new Map<number, number>();
  const copies = new Map<number, number>();
  let malformed = 0;
  for (const [row, email] of emails.entries()) {
    const parsed = parseAddress(email);
    const first = parsed.ok ? firsts.get(parsed.address.cacheKey) : undefined;
    if (!parsed.ok) malformed += 1;
    else if (first === undefined) firsts.set(parsed.address.cacheKey, row);
    else {
      sameAs.set(row, first);
      copies.set(first, (copies.get(first) ?? 0) + 1);
    }
  }
  return { sameAs, copies, malformed };
}

describe("the analysis of a list", () => {
  it("makes its rows chunks, and holds what they may cost", async () => {
    const job = await bench.queue(LIST);
    assert.equal((await bench.jobOf(job)).started_at, null);
    assert.equal(await bench.analyse(job), true);
    const { status, rows_total, duplicates, malformed, empty, started_at, day } = await bench.jobOf(job);
    assert.deepEqual([status, rows_total, duplicates, malformed, empty], ["processing", 4, 1, 0, 1]);
    assert.ok(started_at !== null && day !== null);
    assert.equal(await bench.heldBy(job), 2);
    const rows = await rowsOf(job);
    assert.deepEqual(rows.emails, ["ann@example.com", "bo@exämple.com", "ann@EXAMPLE.com", ""]);
    assert.deepEqual([[...rows.sameAs], [...rows.copies]], [[[2, 0]], [[0, 1]]]);
  });

  it("is made once", async () => {
    const job = await bench.queue(LIST);
    assert.equal(await bench.analyse(job), true);
    assert.equal(await bench.analyse(job), false);
    assert.equal(await startAnalysis(bench.sql, job.id), null);
  });

  it("finds every repeat of many rows, and no other", async () => {
    const { rowsPerChunk } = LIMITS.bulk;
    // A fixed walk: most rows once, some often, near and far.
    const emails = Array.from({ length: 100 * rowsPerChunk }, (_, i) => {
      if (i % 1_000 === 7) return `broken ${i}`;
      const who = i % 4 === 0 ? (i * 7_919) % 9_973 : i;
      return i % 8 === 0 ? ` u${who}@Many.example ` : `u${who}@many.example`;
    });
    const job = await bench.queue(`email,row\n${emails.map((email, i) => `${email},${i}`).join("\n")}`);
    await bench.analyse(job);
    const expected = naively(emails);
    const rows = await rowsOf(job);
    assert.deepEqual(rows.emails, emails);
    assert.deepEqual(
      [...rows.sameAs].sort(([a], [b]) => a - b),
      [...expected.sameAs].sort(([a], [b]) => a - b),
    );
    assert.deepEqual(
      [...rows.copies].sort(([a], [b]) => a - b),
      [...expected.copies].sort(([a], [b]) => a - b),
    );
    const { rows_total, duplicates, malformed } = await bench.jobOf(job);
    assert.deepEqual(
      [rows_total, duplicates, malformed],
      [emails.length, expected.sameAs.size, expected.malformed],
    );
    assert.equal(await bench.heldBy(job), emails.length - duplicates - malformed);
  });

  it("reads what is plain where it lies, and rewrites what is not", async () => {
    const utf16 = Buffer.from(`\ufeff${LIST}`, "utf16le");
    for (const [content, isPlain] of [
      [Buffer.from(LIST), true],
      [Buffer.from(`\ufeff${LIST}`), true],
      [gzipSync(LIST), false],
      [utf16, false],
    ] as const) {
      const job = await bench.queue(content);
      await bench.analyse(job);
      const { place, layout, emails } = await rowsOf(job);
      assert.deepEqual(emails, ["ann@example.com", "bo@exämple.com", "ann@EXAMPLE.com", ""]);
      assert.deepEqual(layout.header, ["name", "email"]);
      if (isPlain) assert.deepEqual(place, job.place);
      else assert.match(place.key, new RegExp(`^teams/${job.teamId}/jobs/${job.id}/source-`));
    }
  });

  it("goes by what was asked for", async () => {
    const options = { email_column: 0, has_header: false, delimiter: "|", escape_formulas: true };
    const job = await bench.queue("a@example.com|b@example.com\nc@example.com|d\n", { options });
    await bench.analyse(job);
    const { emails, layout, escapeFormulas } = await rowsOf(job);
    assert.deepEqual(emails, ["a@example.com", "c@example.com"]);
    assert.deepEqual([layout.header, layout.columns, escapeFormulas], [null, 2, true]);
  });

  it("marks results for a spreadsheet as UTF-8 where they are", async () => {
    const text = "email,name\na@example.com,M\u00fcller\n";
    const utf16 = Buffer.from(text, "utf16le");
    for (const [content, escape_formulas, hasMark] of [
      [Buffer.from(text), false, false],
      [Buffer.from(text), true, true],
      [utf16, true, true],
      // Its columns keep their bytes.
      [Buffer.from(text, "latin1"), true, false],
      [Buffer.from(`\ufeff${text}`), false, true],
    ] as const) {
      const job = await bench.queue(content, { options: { escape_formulas } });
      await bench.analyse(job);
      const { layout } = await rowsOf(job);
      assert.equal(layout.bom, hasMark, content.toString("latin1"));
    }
  });

  it("holds nothing for a test key", async () => {
    const job = await bench.queue(LIST, { livemode: false });
    await bench.analyse(job);
    const { status, day } = await bench.jobOf(job);
    assert.deepEqual([status, day, await bench.heldBy(job)], ["processing", null, null]);
  });

  it("makes as many chunks tasks as the largest job has", { timeout: 120_000 }, async () => {
    const job = await bench.queue(LIST);
    await startAnalysis(bench.sql, job.id);
    const count = LIMITS.bulk.rows / LIMITS.bulk.rowsPerChunk;
    const chunks = Array.from({ length: count }, (_, i) => ({
      firstRow: i * 1_000,
      rows: 1_000,
      firstByte: i * 30_000,
      bytes: 30_000,
      repeatsByte: 0,
      repeatsBytes: 0,
    }));
    const layout = { delimiter: ",", emailColumn: 0, columns: 1, header: null, bom: false };
    const findings = { columns: INLINE_COLUMNS, warnings: [] };
    const found = {
      place: job.place,
      layout,
      findings,
      rows: LIMITS.bulk.rows,
      duplicates: 0,
      malformed: 0,
      empty: 0,
    };
    const task = { jobId: job.id, number: -1, teamId: job.teamId, livemode: false };
    const cancelled = new AbortController().signal;
    const short = await settleAnalysis(
      { sql: bench.sql, clock: systemClock },
      { task, found, chunks },
      cancelled,
    );
    assert.equal(short, null);
    const [row] = await bench.sql`
      select count(*)::int as count from job_tasks where job_id = ${job.id} and kind = 'chunk'`;
    assert.equal(row?.count, count);
    await bench.sql`delete from job_tasks where job_id = ${job.id}`;
  });
});

describe("a list that makes no job", () => {
  const broken: [
    name: string,
    content: string | Buffer,
    code: string,
    terms?: Parameters<AnalysisBench["queue"]>[1],
  ][] = [
    ["nothing", "", "empty_source"],
    ["a header", "name,email\n", "empty_source"],
    ["no addresses", "a,b\n1,2\n", "no_email_column"],
    ["no such column", LIST, "no_email_column", { options: { email_column: "mail" } }],
    ["a PDF", "%PDF-1.7\n", "not_csv"],
    ["half of a workbook", "PK\x03\x04 xl/", "not_readable"],
    ["half of a gzip file", gzipSync(LIST.repeat(50)).subarray(0, 60), "not_readable"],
    ["an open quote", 'email\na@example.com\n"b', "quote_not_closed"],
    [
      "a record too long",
      `email\na@example.com\n${"x".repeat(LIMITS.bulk.recordBytes)}\n`,
      "record_too_large",
    ],
    ["too many columns", `email,b\na@example.com,${",".repeat(LIMITS.bulk.columns)}\n`, "too_many_columns"],
    ["too many rows", LIST, "bulk_too_large", { dailyQuota: 3 }],
    ["too many bytes", gzipSync(LIST.repeat(9)), "bulk_too_large", { bulkBytes: 300 }],
    ["more than is left of the day", LIST, "quota_exceeded", { limits: { dailyQuota: 1 } }],
    ["a test address that asks for it", "quota-exceeded@a.example", "quota_exceeded", { livemode: false }],
  ];
  for (const [name, content, code, terms = {}] of broken)
    it(`fails with ${code}: ${name}`, async () => {
      const job = await bench.queue(content, terms);
      assert.equal(await bench.analyse(job), true);
      const { status, error_code, error_detail, charged, completed_at } = await bench.jobOf(job);
      assert.deepEqual([status, error_code, charged], ["failed", code, 0], error_detail ?? "");
      assert.ok(completed_at !== null && /^[A-Z].*\.$/s.test(error_detail ?? ""), error_detail ?? "");
      assert.equal(await bench.heldBy(job), null);
      const tasks = await bench.sql`select from job_tasks where job_id = ${job.id} and kind = 'chunk'`;
      assert.equal(tasks.count, 0);
      const reported = await bench.sql`
        select from events where team_id = ${job.teamId} and type = 'bulk.failed'`;
      assert.equal(reported.count, 1);
      // For another try.
      assert.notEqual(await bench.streams.head({ bucket: null, key: job.place.key }), null);
      assert.equal(await bench.analyse(job), false);
    });

  it("can be tried again when there is quota", async () => {
    const first = await bench.queue(LIST, { limits: { dailyQuota: 1 } });
    await bench.analyse(first);
    assert.equal((await bench.jobOf(first)).error_code, "quota_exceeded");
    const { teamId, place } = first;
    const again = await bench.queue(LIST, { teamId, place, limits: { dailyQuota: 2 } });
    await bench.analyse(again);
    assert.equal((await bench.jobOf(again)).status, "processing");
    const third = await bench.queue(LIST, { teamId, place });
    await bench.analyse(third);
    assert.match((await bench.jobOf(third)).error_detail ?? "", /needs 2 units; 0 are left of the day's 2/);
  });

  it("was replaced, or removed, after it was submitted", async () => {
    const replaced = await bench.queue(LIST);
    await bench.put(replaced.place.key, Buffer.from(`${LIST}x;y@example.com\n`));
    await bench.analyse(replaced);
    assert.equal((await bench.jobOf(replaced)).error_code, "source_changed");
    const removed = await bench.queue(LIST);
    await bench.store.deleteBelow(removed.place.key);
    await bench.analyse(removed);
    assert.equal((await bench.jobOf(removed)).error_code, "source_missing");
  });

  it("is in a bucket that is not, or no longer, granted; or is the deployment's own", async () => {
    const { teamId } = await newTeam(bench.sql, "enterprise");
    const place = {
      bucket: bench.store.bucket,
      key: "in/list.csv",
      etag: await bench.put("in/list.csv", Buffer.from(LIST)),
    };
    const source = { type: "s3", bucket: place.bucket, key: place.key } as const;
    const ungranted = await bench.queue("", { teamId, place, source });
    await bench.analyse(ungranted, { bucket: "the-deployment's" });
    assert.equal((await bench.jobOf(ungranted)).error_code, "s3_not_granted");
    await bench.sql`insert into s3_grants (team_id, bucket, prefix) values (${teamId}, ${place.bucket}, 'in/')`;
    const own = await bench.queue("", { teamId, place, source });
    await bench.analyse(own);
    assert.equal((await bench.jobOf(own)).error_code, "s3_not_granted");
    const granted = await bench.queue("", { teamId, place, source });
    await bench.analyse(granted, { bucket: "the-deployment's" });
    assert.equal((await bench.jobOf(granted)).status, "processing");
    assert.deepEqual((await rowsOf(granted)).place, place);
  });
});
