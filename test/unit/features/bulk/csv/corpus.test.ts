import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { toText } from "../../../../../src/features/bulk/csv/field.ts";
import { DIALECTS } from "../../../../support/csv-corpus/dialects.ts";
import { type CorpusList, EXPORTS } from "../../../../support/csv-corpus/exports.ts";
import { cut } from "../../../../support/csv-corpus/hostile.ts";
import { readList } from "../../../../support/csv-corpus/read-list.ts";
import { sourceOf } from "../../../../support/csv-corpus/sources.ts";

const PIECES = [1, 2, 3, 7, 4_096];

async function check(list: CorpusList, object: Buffer, pieceBytes: number): Promise<void> {
  const read = await readList(sourceOf(cut(object, [pieceBytes])), list.options);
  assert.ok("layout" in read, JSON.stringify(read));
  const { delimiter, emailColumn, header, bom } = read.layout;
  assert.deepEqual(
    { delimiter, emailColumn, header: header?.map(toText) ?? null, bom },
    { delimiter: list.delimiter, emailColumn: list.emailColumn, header: list.header, bom: list.bom ?? false },
  );
  assert.deepEqual(
    read.rows.map((row) => row.map(toText)),
    list.rows,
  );
  assert.deepEqual(
    read.addresses.map(toText),
    list.rows.map((row) => row[list.emailColumn] ?? ""),
  );
  assert.deepEqual(
    read.widths,
    list.rows.map((row) => row.length),
  );
}

for (const [title, lists] of [
  ["what programs export", EXPORTS],
  ["what CSV can be", DIALECTS],
] as const) {
  describe(`${title} is read as it is meant`, () => {
    for (const list of lists) {
      it(list.name, async () => {
        for (const pieceBytes of PIECES) await check(list, list.bytes, pieceBytes);
        await check(list, gzipSync(list.bytes), 100);
      });
    }
  });
}
