import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { encodeChunkRepeats } from "../../src/features/bulk/analysis/repeats.ts";
import { writeRecord } from "../../src/features/bulk/csv/write.ts";
import { repeatsKey } from "../../src/features/bulk/results/job-objects.ts";
import type { JobMaterial } from "../../src/features/bulk/results/job-results.ts";
import { type JoinDeps, readJoined } from "../../src/features/bulk/results/join.ts";
import { type Format, formatOf } from "../../src/features/bulk/results/result-rows.ts";
import { encodeShard, VERDICTS } from "../../src/features/bulk/results/shard.ts";
import { TemplatedRows } from "../../src/features/bulk/results/templated-rows.ts";
import type { ChunkOfResults } from "../../src/features/bulk/schedule/job-tasks.ts";
import type { VerificationResult } from "../../src/features/verify/answer/verification-result.ts";
import type { TemplatedRow } from "../../src/features/verify/batch/fill-rows.ts";
import { JSON_START } from "../../src/features/verify/batch/row-templates.ts";
import { systemClock } from "../../src/platform/time/clock.ts";
import { createScratch } from "../../src/stores/scratch.ts";
import type { Reason, Verdict } from "../../src/verification/verdict/table.ts";
import fc from "./properties.ts";

/** Jobs whose results are not joined yet, as properties draw them. */

/** Values that rows of the results take, by turns. */
export const REASONS: readonly Reason[] = ["catch_all", "timeout"];
export const PROVIDERS: readonly string[] = ["m", "ü"].flatMap((name) => [0, 1, 2].map((n) => `${name}${n}`));

/** One row of a list, and its state. */
export interface ModelRow {
  /** Number of its address, one of few: later rows with the same one repeat the first. */
  address: number;
  /** Further columns, latin1. */
  columns: string[];
  /** For the first row of an address: whether its chunk answered it, a patch (1 or 2), or nothing yet. */
  answered: "shard" | "patch1" | "patch2" | "no";
  verdict: Verdict;
  /** Its line ending, and blank lines before it. */
  end: string;
}

export interface Model {
  rows: ModelRow[];
  /** Rows of each chunk, and whether it is done; both lists repeat when they are too short. */
  chunkRows: number[];
  done: boolean[];
  delimiter: string;
  header: boolean;
  bom: boolean;
  escapeFormulas: boolean;
  hasColumns: boolean;
}

const value = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 6 }).map((text) => Buffer.from(text).toString("latin1")),
  fc.constantFrom('a "b"', "x,y", "x;y", "two\r\nlines", "=1+1", " ", "", '"verdict":"valid"'),
);

export const models: fc.Arbitrary<Model> = fc.record({
  rows: fc.array(
    fc.record({
      address: fc.nat(12),
      columns: fc.array(value, { maxLength: 3 }),
      answered: fc.constantFrom("shard", "shard", "shard", "patch1", "patch2", "no"),
      verdict: fc.constantFrom(...VERDICTS),
      end: fc.constantFrom("\r\n", "\n", "\n\n", "\r"),
    }),
    { maxLength: 40 },
  ),
  chunkRows: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 }),
  done: fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }),
  delimiter: fc.constantFrom(",", ";", "\t"),
  header: fc.boolean(),
  bom: fc.boolean(),
  escapeFormulas: fc.boolean(),
  hasColumns: fc.boolean(),
});

const email = (row: ModelRow) => `a${row.address}@example.com`;
export const fieldsOf = (row: ModelRow) => [email(row), ...row.columns];

/** Every other address's result fills a template. */
const hasTemplated = ({ address }: ModelRow) => address % 2 === 0;

function resultOf(row: ModelRow, number: number): VerificationResult {
  const checks = {
    smtp: { catch_all: "unknown", latency_ms: number },
    role: { role: null },
    disposable: { is_disposable: false },
    mx: { provider: `${hasTemplated(row) ? "m" : "ü"}${number % 3}` },
  };
  const { verdict } = row;
  const rest = {
    verdict,
    reason: REASONS[number % 2],
    risk_score: number,
    did_you_mean: null,
    checks,
    livemode: true,
  };
  return { email: email(row), ...rest } as never;
}

function templatedOf(result: VerificationResult): TemplatedRow {
  const [head = "", tail = ""] = JSON.stringify(result).split(/(?<="latency_ms":)\d+/);
  const [afterLatency = "", times = ""] = tail.split(/(?="livemode")/);
  const afterEmail = head.slice(JSON_START.length + result.email.length);
  const template = { result, charged: true, afterEmail, afterNormalized: "", afterLatency };
  return { template, email: result.email, normalized: "", latencyMs: result.checks.smtp.latency_ms, times };
}

/**
 * The expected results, by the simplest code: the number of each answered row, and of the first row that it repeats.
 */
export function expected({ rows, chunkRows, done }: Model) {
  const chunkOf: number[] = [];
  for (let chunk = 0; chunkOf.length < rows.length; chunk++)
    for (let i = 0; i < (chunkRows[chunk % chunkRows.length] ?? 1); i++) chunkOf.push(chunk);
  const isDone = (chunk: number) => done[chunk % done.length] === true;
  const firsts = new Map<number, number>();
  for (const [i, { address }] of rows.entries()) if (!firsts.has(address)) firsts.set(address, i);
  const firstOf = (i: number) => firsts.get(rows[i]?.address ?? -1) ?? -1;
  const isAnswered = (i: number) => isDone(chunkOf[firstOf(i)] ?? -1) && rows[firstOf(i)]?.answered !== "no";
  const joined = rows.flatMap((_row, i) => {
    const first = firstOf(i);
    return isAnswered(i) ? [{ row: i, first, duplicateOf: first === i ? null : first }] : [];
  });
  return { chunkOf, isDone, firstOf, joined };
}

/** Writes the job's objects, and returns it as Postgres has it. */
export async function build(model: Model) {
  const { rows, delimiter, header, bom, escapeFormulas, hasColumns } = model;
  const { chunkOf, isDone, firstOf, joined } = expected(model);
  const columns = Math.max(1, ...rows.map((row) => fieldsOf(row).length));
  const style = { delimiter, escapeFormulas };
  const material: JobMaterial = {
    jobId: "job_1",
    teamId: "team_1",
    status: "processing",
    place: { bucket: null, key: "source", etag: null },
    layout: {
      delimiter,
      emailColumn: 0,
      columns,
      header: header ? ["mail", 'a "b"'].slice(0, columns) : null,
      bom,
    },
    ...{ escapeFormulas, withEvidence: false },
    hasColumns,
    rows: rows.length,
  };
  const objects = new Map<string, Buffer>();
  const chunks: ChunkOfResults[] = [];
  let source = header ? `header${delimiter}x\r\n` : "";
  let repeatsAt = 0;
  const repeatsParts: Buffer[] = [];
  for (let number = 0; number <= (chunkOf.at(-1) ?? -1); number++) {
    const firstRow = chunkOf.indexOf(number);
    const own = rows.filter((_row, i) => chunkOf[i] === number);
    const firstByte = source.length;
    for (const row of own)
      source += writeRecord(fieldsOf(row), { delimiter, columns: 1, escapeFormulas: false }) + row.end;
    const sameAs = new Map<number, number>();
    const copies = new Map<number, number>();
    const shards = { shard: [], patch1: [], patch2: [], no: [] } as Record<
      ModelRow["answered"],
      { offset: number; result: VerificationResult }[]
    >;
    for (const [offset, row] of own.entries()) {
      const at = firstRow + offset;
      const same = rows.filter((_other, i) => firstOf(i) === at).length;
      if (firstOf(at) !== at) sameAs.set(offset, firstOf(at));
      else if (same > 1) copies.set(offset, same - 1);
      if (firstOf(at) === at) shards[row.answered].push({ offset, result: resultOf(row, at) });
    }
    const repeats = encodeChunkRepeats({ sameAs, copies });
    repeatsParts.push(repeats);
    const keys: string[] = [];
    for (const name of ["shard", "patch1", "patch2"] as const) {
      if (shards[name].length === 0 || !isDone(number)) continue;
      keys.push(`${number}-${name}`);
      const templated = new TemplatedRows();
      const framed = shards[name].filter(({ offset, result }) => {
        const row = own[offset];
        if (row !== undefined && hasTemplated(row)) templated.add(offset, templatedOf(result));
        return row === undefined || !hasTemplated(row);
      });
      objects.set(`${number}-${name}`, await encodeShard(framed, style, templated));
    }
    const hasShard = keys[0]?.endsWith("-shard") === true;
    chunks.push({
      number,
      firstRow,
      rows: own.length,
      firstByte,
      bytes: source.length - firstByte,
      repeatsByte: repeatsAt,
      repeatsBytes: repeats.length,
      shardKey: hasShard ? (keys[0] ?? null) : null,
      patches: hasShard ? keys.slice(1) : keys,
    });
    repeatsAt += repeats.length;
  }
  objects.set("source", Buffer.from(source, "latin1"));
  objects.set(repeatsKey("team_1", "job_1"), Buffer.concat(repeatsParts));
  const get = async (key: string) => {
    const found = objects.get(key);
    assert.ok(found, key);
    return found;
  };
  const getRange = async (key: string, { firstByte, bytes }: { firstByte: number; bytes: number }) =>
    (await get(key)).subarray(firstByte, firstByte + bytes);
  const deps: JoinDeps = {
    chunksOf: async (_job, after, limit) => chunks.filter(({ number }) => number > after).slice(0, limit),
    objects: { get, getRange },
    streams: { readRange: ({ key }, range) => getRange(key, range) },
    granted: async () => true,
    clock: systemClock,
    scratch: createScratch(tmpdir()),
  };
  return { deps, material, joined };
}

export async function textOf(deps: JoinDeps, material: JobMaterial, format: Format): Promise<Buffer> {
  const writer = formatOf(format, material);
  const parts = [writer.start];
  for await (const rows of readJoined(deps, material, new AbortController().signal))
    parts.push(writer.rows(rows));
  return Buffer.concat(parts);
}
