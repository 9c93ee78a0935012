import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parse } from "csv-parse/sync";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { fieldsOf as fieldsOfLine } from "../../../../../src/features/bulk/csv/field.ts";
import { lineAt } from "../../../../../src/features/bulk/csv/lines.ts";
import { readJoined } from "../../../../../src/features/bulk/results/join.ts";
import type { Scratch } from "../../../../../src/stores/scratch.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { build, fieldsOf, type ModelRow, models, textOf } from "../../../../support/join-model.ts";
import fc from "../../../../support/properties.ts";

const RUNS = { numRuns: 80 };

/** Reads of files in the ticks of the event loop, each of which takes `readMs` of a clock. */
function slowReads(scratch: Scratch, readMs: number) {
  const clock = createFakeClock();
  const perTick: number[] = [0];
  let next = setImmediate(function count() {
    perTick.push(0);
    next = setImmediate(count);
  });
  const slow: Scratch = {
    open(bytesMax) {
      const file = scratch.open(bytesMax);
      return {
        write: (parts, position) => file.write(parts, position),
        read: (into, position) => file.read(into, position),
        readNow(into, position) {
          perTick[perTick.length - 1] = (perTick.at(-1) ?? 0) + 1;
          clock.advance(readMs);
          file.readNow(into, position);
        },
        close: () => file.close(),
      };
    },
  };
  return { clock, scratch: slow, perTick, end: () => clearImmediate(next) };
}

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

  for (const answered of ["shard", "no"] as const)
    it(`ends a tick when reading copied results has taken long: of rows that are ${answered === "no" ? "not " : ""}answered`, async () => {
      const rows = Array.from({ length: 120 }, (_, i): ModelRow => {
        const address = i % 12;
        // Between two that are answered the others are looked for.
        const isEdge = address === 0 || address === 11;
        return { address, columns: [], answered: isEdge ? "shard" : answered, verdict: "valid", end: "\n" };
      });
      const one = { chunkRows: [12, 108], done: [true], delimiter: ",", header: false, bom: false };
      const { deps, material, joined } = await build({
        rows,
        ...one,
        escapeFormulas: false,
        hasColumns: true,
      });
      const slow = slowReads(deps.scratch, 4);
      // Each result is a block of its own, which is read for each copy.
      const copies = { fileBytes: 1_000_000, blockBytes: 64, blocksKept: 1 };
      const sizes = { ...LIMITS.results.joinedDownload, copies };
      const got: number[] = [];
      const slowly = { ...deps, clock: slow.clock, scratch: slow.scratch, sizes };
      for await (const part of readJoined(slowly, material, new AbortController().signal))
        got.push(...part.map(({ row }) => row));
      slow.end();
      assert.deepEqual(
        got,
        joined.map(({ row }) => row),
      );
      assert.ok(slow.perTick.reduce((sum, reads) => sum + reads) > 90, `${slow.perTick}`);
      assert.equal(Math.max(...slow.perTick), 3);
    });
});
