import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { filterRows } from "../../../../../src/features/bulk/analysis/filter-rows.ts";
import { dialectOfResults } from "../../../../../src/features/bulk/csv/dialect.ts";
import { type JoinedRow, readJoined } from "../../../../../src/features/bulk/results/join.ts";
import { FORMATS, formatOf } from "../../../../../src/features/bulk/results/result-rows.ts";
import { RowFilter, type WantedRows } from "../../../../../src/features/bulk/results/row-filter.ts";
import { VERDICTS } from "../../../../../src/features/bulk/results/shard.ts";
import { build, models, PROVIDERS, REASONS, textOf } from "../../../../support/join-model.ts";
import fc from "../../../../support/properties.ts";

/** Results are filtered by the values of their rows, and by the number of rows. */
const NONE: WantedRows = { verdict: null, reason: null, provider: null };
const maybe = <T>(values: readonly T[]) => fc.option(fc.constantFrom(...values));
const wantedRows = fc.record({
  verdict: maybe(VERDICTS),
  reason: maybe(REASONS),
  provider: maybe([...PROVIDERS, "", "m", "0", '"']),
});

/** By the JSON of the result. */
function isWanted({ verdict, reason, provider }: WantedRows, { result }: JoinedRow): boolean {
  const found = JSON.parse(String(result.json));
  return (
    (verdict === null || found.verdict === verdict) &&
    (reason === null || found.reason === reason) &&
    (provider === null || (found.checks.mx.provider ?? "") === provider)
  );
}

const now = async (work: () => void) => work();

async function* cut(bytes: Buffer, step: number, taken = { bytes: 0 }) {
  for (let at = 0; at < bytes.length; at += step) {
    const piece = bytes.subarray(at, at + step);
    taken.bytes += piece.length;
    yield piece;
  }
}

async function joined({ deps, material }: Awaited<ReturnType<typeof build>>): Promise<JoinedRow[]> {
  const all: JoinedRow[] = [];
  for await (const rows of readJoined(deps, material, new AbortController().signal)) all.push(...rows);
  return all;
}

async function allOf(parts: AsyncIterable<Buffer>): Promise<string> {
  const got: Buffer[] = [];
  for await (const part of parts) got.push(part);
  return Buffer.concat(got).toString("latin1");
}

describe("rows that are asked for", () => {
  it("filtered out of the whole, however it is cut, are what was filtered before it was written", () =>
    fc.assert(
      fc.asyncProperty(
        models,
        wantedRows,
        fc.option(fc.integer({ min: 1, max: 8 })),
        fc.integer({ min: 1, max: 300 }),
        async (model, wanted, limit, step) => {
          const world = await build(model);
          const { deps, material } = world;
          const filter = new RowFilter(wanted);
          const all = await joined(world);
          const rows = all.filter((row) => isWanted(wanted, row));
          const dialect = dialectOfResults(material.layout);
          assert.deepEqual(
            all.filter(({ result }) => filter.wantsResult(result, dialect)),
            rows,
          );
          for (const format of FORMATS) {
            const whole = await textOf(deps, material, format);
            const got = await allOf(filterRows(cut(whole, step), { format, filter, limit }, material, now));
            const writer = formatOf(format, material);
            const first = rows.slice(0, limit ?? rows.length);
            assert.equal(got, Buffer.concat([writer.start, writer.rows(first)]).toString("latin1"));
          }
        },
      ),
      { numRuns: 80 },
    ));

  it("are read no further than the last of them that may be", async () => {
    const row = { columns: [], answered: "shard", verdict: "valid", end: "\n" } as const;
    const rows = Array.from({ length: 200 }, (_, address) => ({ ...row, columns: [], address }));
    const one = { chunkRows: [9], done: [true], delimiter: ",", header: false, bom: false };
    const world = await build({ rows, ...one, escapeFormulas: false, hasColumns: true });
    const step = 500;
    for (const format of FORMATS) {
      const whole = await textOf(world.deps, world.material, format);
      const taken = { bytes: 0 };
      const asked = { format, filter: new RowFilter(NONE), limit: 10 };
      const got = await allOf(filterRows(cut(whole, step, taken), asked, world.material, now));
      assert.equal(got, whole.subarray(0, got.length).toString("latin1"));
      assert.ok(taken.bytes < got.length + step, `${taken.bytes} bytes were read for ${got.length}`);
    }
  });
});
