import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { describe, it } from "node:test";
import { parse } from "csv-parse/sync";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { filterRows } from "../../../../../src/features/bulk/analysis/filter-rows.ts";
import { encodeChunkRepeats } from "../../../../../src/features/bulk/analysis/repeats.ts";
import { fieldsOf as fieldsOfLine } from "../../../../../src/features/bulk/csv/field.ts";
import { lineAt } from "../../../../../src/features/bulk/csv/lines.ts";
import { writeRecord } from "../../../../../src/features/bulk/csv/write.ts";
import { DrawnRows } from "../../../../../src/features/bulk/results/drawn-rows.ts";
import { repeatsKey } from "../../../../../src/features/bulk/results/job-objects.ts";
import type { JobMaterial } from "../../../../../src/features/bulk/results/job-results.ts";
import { type JoinDeps, readJoined } from "../../../../../src/features/bulk/results/join.ts";
import { FORMATS, type Format, formatOf } from "../../../../../src/features/bulk/results/result-rows.ts";
import { encodeShard, VERDICTS } from "../../../../../src/features/bulk/results/shard.ts";
import type { ChunkOfResults } from "../../../../../src/features/bulk/schedule/job-tasks.ts";
import type { VerificationResult } from "../../../../../src/features/verify/answer/verification-result.ts";
import type { DrawnRow } from "../../../../../src/features/verify/batch/draw-rows.ts";
import { JSON_START } from "../../../../../src/features/verify/batch/row-templates.ts";
import { createScratch } from "../../../../../src/stores/scratch.ts";
import type { Verdict } from "../../../../../src/verification/verdict/table.ts";
import fc from "../../../../support/properties.ts";

/** One row of a list, and what has become of it. */
interface ModelRow {
  /** Which of few addresses: rows of one repeat its first. */
  address: number;
  /** Further columns, latin1. */
  columns: string[];
  /** Of a first: answered with its chunk, by a patch (1, 2), or not yet. */
  answered: "shard" | "patch1" | "patch2" | "no";
  verdict: Verdict;
  /** How its line ends, and blank lines before it. */
  end: string;
}

interface Model {
  rows: ModelRow[];
  /** Rows of each chunk, in turn; and which chunks are done. */
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

const models: fc.Arbitrary<Model> = fc.record({
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
const fieldsOf = (row: ModelRow) => [email(row), ...row.columns];

/** Every other address's result is drawn. */
const isDrawn = ({ address }: ModelRow) => address % 2 === 0;

function resultOf(row: ModelRow, number: number): VerificationResult {
  const checks = {
    smtp: { catch_all: "unknown", latency_ms: number },
    role: { role: null },
    disposable: { is_disposable: false },
    mx: { provider: `${isDrawn(row) ? "m" : "ü"}${number}` },
  };
  const { verdict } = row;
  const rest = { verdict, reason: "x", risk_score: number, did_you_mean: null, checks, livemode: true };
  return { email: email(row), ...rest } as never;
}

function drawnOf(result: VerificationResult): DrawnRow {
  const [head = "", tail = ""] = JSON.stringify(result).split(/(?<="latency_ms":)\d+/);
  const [afterLatency = "", times = ""] = tail.split(/(?="livemode")/);
  const afterEmail = head.slice(JSON_START.length + result.email.length);
  const template = { result, charged: true, afterEmail, afterNormalized: "", afterLatency };
  return { template, email: result.email, normalized: "", latencyMs: result.checks.smtp.latency_ms, times };
}

/** What the results are, said as plainly as can be: of each answered row its number, and the first it copies. */
function expected({ rows, chunkRows, done }: Model) {
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

/** The job as object storage and Postgres have it. */
async function build(model: Model) {
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
      const drawn = new DrawnRows();
      const framed = shards[name].filter(({ offset, result }) => {
        const row = own[offset];
        if (row !== undefined && isDrawn(row)) drawn.add(offset, drawnOf(result));
        return row === undefined || !isDrawn(row);
      });
      objects.set(`${number}-${name}`, await encodeShard(framed, style, drawn));
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
    scratch: createScratch(tmpdir()),
  };
  return { deps, material, joined };
}

async function textOf(deps: JoinDeps, material: JobMaterial, format: Format): Promise<Buffer> {
  const writer = formatOf(format, material);
  const parts = [writer.start];
  for await (const rows of readJoined(deps, material, new AbortController().signal))
    parts.push(writer.rows(rows));
  return Buffer.concat(parts);
}

const RUNS = { numRuns: 80 };

describe("joining a job's results", () => {
  it("gives each answered row and each copy of one, in order, whichever chunks and patches are there", async () => {
    await fc.assert(
      fc.asyncProperty(models, async (model) => {
        const { deps, material, joined } = await build(model);
        const got = [];
        for await (const rows of readJoined(deps, material, new AbortController().signal)) got.push(...rows);
        assert.deepEqual(
          got.map(({ row, duplicateOf, result, lines, offset }) => ({
            row,
            duplicateOf,
            record: fieldsOfLine(lineAt(lines, offset), model),
            verdict: result.verdict,
            first: JSON.parse(String(result.json)).risk_score,
          })),
          joined.map(({ row, first, duplicateOf }) => ({
            row,
            duplicateOf,
            record: fieldsOf(model.rows[row] as ModelRow),
            verdict: model.rows[first]?.verdict,
            first,
          })),
        );
      }),
      RUNS,
    );
  });

  it("gives the same rows as CSV and as JSONL, with the customer's values as they were", async () => {
    await fc.assert(
      fc.asyncProperty(models, async (model) => {
        const { deps, material, joined } = await build(model);
        const { layout, escapeFormulas } = material;
        const csv = await textOf(deps, material, "csv");
        const bytes = layout.bom ? csv.subarray(3) : csv;
        if (layout.bom) assert.equal(csv.toString("latin1", 0, 3), "\xef\xbb\xbf");
        const [header = [], ...records] = parse(bytes, {
          delimiter: layout.delimiter,
          encoding: "latin1",
        }) as string[][];
        assert.deepEqual(header.slice(layout.columns, layout.columns + 2), ["rcpt_verdict", "rcpt_reason"]);
        assert.equal(header[0], model.header ? "mail" : "column_1");
        const lines = (await textOf(deps, material, "jsonl"))
          .toString()
          .split("\n")
          .slice(0, -1)
          .map((line) => JSON.parse(line));
        assert.deepEqual([records.length, lines.length], [joined.length, joined.length]);
        for (const [i, { row, duplicateOf }] of joined.entries()) {
          const given = fieldsOf(model.rows[row] as ModelRow);
          const padded = [...given, ...Array<string>(layout.columns - given.length).fill("")];
          if (!escapeFormulas) assert.deepEqual(records[i]?.slice(0, layout.columns), padded);
          const line = lines[i];
          assert.deepEqual([line.row, line.input], [row + 1, given[0]]);
          assert.equal(line.duplicate_of, duplicateOf === null ? null : duplicateOf + 1);
          const texts = given.map((field) => Buffer.from(field, "latin1").toString("utf8"));
          assert.deepEqual(line.columns, model.hasColumns ? texts : undefined);
          assert.deepEqual(
            records[i]?.slice(layout.columns).map((cell) => Buffer.from(cell, "latin1").toString("utf8")),
            [
              line.verdict,
              line.reason,
              String(line.risk_score),
              line.email,
              "",
              "unknown",
              "",
              "false",
              line.checks.mx.provider,
            ],
          );
        }
      }),
      RUNS,
    );
  });

  it("filtered out of the whole, however it is cut, is what was filtered before it was written", async () => {
    await fc.assert(
      fc.asyncProperty(
        models,
        fc.constantFrom(...VERDICTS),
        fc.integer({ min: 1, max: 300 }),
        async (model, verdict, step) => {
          const { deps, material } = await build(model);
          for (const format of FORMATS) {
            const whole = await textOf(deps, material, format);
            const pieces = (async function* () {
              for (let at = 0; at < whole.length; at += step) yield whole.subarray(at, at + step);
            })();
            const got: Buffer[] = [];
            for await (const part of filterRows(pieces, format, verdict, material)) got.push(part);
            const writer = formatOf(format, material);
            const wanted = [writer.start];
            for await (const rows of readJoined(deps, material, new AbortController().signal))
              wanted.push(writer.rows(rows.filter(({ result }) => result.verdict === verdict)));
            assert.equal(Buffer.concat(got).toString("latin1"), Buffer.concat(wanted).toString("latin1"));
          }
        },
      ),
      RUNS,
    );
  });

  it("reads no more than it is let: of a reader that stops nothing beyond the span it stands in", async () => {
    const rows = Array.from({ length: 40 }, (_, address) => ({
      address,
      columns: [],
      answered: "shard" as const,
      verdict: "valid" as const,
      end: "\n",
    }));
    const one = { chunkRows: [1], done: [true], delimiter: ",", header: false, bom: false };
    const { deps, material } = await build({ rows, ...one, escapeFormulas: false, hasColumns: true });
    const asked: string[] = [];
    const objects = {
      ...deps.objects,
      get(key: string, cancelled?: AbortSignal) {
        asked.push(key);
        return deps.objects.get(key, cancelled);
      },
    };
    const { joinedDownload } = LIMITS.results;
    const sizes = { ...joinedDownload, spanChunks: 3 };
    const reading = readJoined({ ...deps, objects, sizes }, material, new AbortController().signal);
    await reading.next();
    assert.equal(asked.length, 3);
    await reading.return(undefined);
    assert.equal(joinedDownload.spansAhead, 0);
    assert.equal(asked.length, 3);
  });

  it("ends with what it was aborted for, and stops reading", async () => {
    const rows = Array.from({ length: 40 }, (_, address) => ({
      address,
      columns: [],
      answered: "shard" as const,
      verdict: "valid" as const,
      end: "\n",
    }));
    const model = {
      rows,
      chunkRows: [1],
      done: [true],
      delimiter: ",",
      header: false,
      bom: false,
      escapeFormulas: false,
      hasColumns: true,
    };
    const { deps, material } = await build(model);
    const control = new AbortController();
    const seen: number[] = [];
    await assert.rejects(async () => {
      for await (const part of readJoined(deps, material, control.signal)) {
        seen.push(...part.map(({ row }) => row));
        control.abort(new Error("enough"));
      }
    }, /enough/);
    assert.ok(seen.length < rows.length);
  });

  it("refuses a source that does not hold the rows that were found in it", async () => {
    const row = { address: 1, columns: [], answered: "shard" as const, verdict: "valid" as const, end: "\n" };
    const model = {
      rows: [row],
      chunkRows: [1],
      done: [true],
      delimiter: ",",
      header: false,
      bom: false,
      escapeFormulas: false,
      hasColumns: true,
    };
    const { deps, material } = await build(model);
    const other = { ...deps, streams: { readRange: async () => Buffer.from("a\nb\n") } };
    await assert.rejects(textOf(other, material, "csv"), /a chunk of 1 rows holds 2/);
  });
});
