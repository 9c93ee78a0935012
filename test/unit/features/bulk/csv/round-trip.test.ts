import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SourceOptions } from "../../../../../src/features/bulk/analysis/layout.ts";
import { writeRecord } from "../../../../../src/features/bulk/csv/write.ts";
import { type Dialect, dialects, objectOf, writeList } from "../../../../support/csv-corpus/dialect.ts";
import { cut, latin1, oracle } from "../../../../support/csv-corpus/hostile.ts";
import { type ReadList, readList } from "../../../../support/csv-corpus/read-list.ts";
import { sourceOf } from "../../../../support/csv-corpus/sources.ts";
import fc from "../../../../support/properties.ts";

type Table = string[][];

const UTF8_BOM = Buffer.from("\ufeff");
const NO_BOM = Buffer.alloc(0);

const special = fc.constantFrom(
  '"',
  '""',
  ",",
  ";",
  "\t",
  "|",
  "\r",
  "\n",
  "\r\n",
  " ",
  "'",
  "=1+1",
  "a@example.com",
  "-5",
);
/** Lists with NULs are refused as binary, a Ctrl-Z at the end is left out: refusals.test.ts, tolerated.test.ts. */
const anyByte = latin1.filter((byte) => byte !== "\0" && byte !== "\x1a");
const anyText = fc.string({ unit: "binary", maxLength: 4 }).map((text) => text.replace(/[\0\x1a]/g, ""));

/** Fields whose lines could be rows of the list are refused (suspicion.test.ts): no value of these tables is such a one. */
function withoutRows(value: string): string {
  const [first = "", end, ...lines] = value.replaceAll("@", "").split(/(\r\n|\r|\n)/);
  if (end === undefined) return first;
  return `${first}${end}${lines.join("").replace(/[\r\n]/g, "")}`.replace(/[,;\t|]/g, "");
}

const valueWith = (unit: fc.Arbitrary<string>) =>
  fc.array(fc.oneof(unit, special), { maxLength: 6 }).map((parts) => withoutRows(parts.join("")));

/** Rows of any lengths. The first field is no byte order mark, no magic number and no `sep=` line. */
const tableOf = (unit: fc.Arbitrary<string>): fc.Arbitrary<Table> =>
  fc
    .array(fc.array(valueWith(unit), { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 8 })
    .map((rows) => [["id", "x"], ...rows]);

async function read(object: Buffer, pieceBytes: number, options?: SourceOptions): Promise<ReadList> {
  const list = await readList(sourceOf(cut(object, [pieceBytes])), options);
  assert.ok("layout" in list, JSON.stringify(list));
  return list;
}

/** Writes the rows as results have them and has csv-parse read that: each value as it was, short rows padded. */
function assertWrittenBack(rows: Table, expected: Table, delimiter: string): void {
  const columns = Math.max(...expected.map(({ length }) => length));
  const style = { delimiter, columns, escapeFormulas: false };
  const results = rows.map((row) => `${writeRecord(row, style)}\r\n`).join("");
  const padded = expected.map((row) => [...row, ...Array<string>(columns - row.length).fill("")]);
  assert.deepEqual(oracle(Buffer.from(results, "latin1"), delimiter), padded);
}

async function told(
  table: Table,
  object: Buffer,
  dialect: Dialect,
  bom: boolean,
  pieceBytes: number,
): Promise<void> {
  const options = { delimiter: dialect.delimiter, hasHeader: true, emailColumn: 1 };
  const list = await read(object, pieceBytes, options);
  assert.equal(list.layout.bom, bom);
  assert.deepEqual(list.layout.header, table[0]);
  assert.deepEqual(
    list.addresses,
    table.slice(1).map((row) => row[1] ?? ""),
  );
  assertWrittenBack([list.layout.header ?? [], ...list.rows], table, dialect.delimiter);
}

describe("the customer's values come back as they were", () => {
  const pieceBytes = fc.constantFrom(1, 3, 64, 1_000);

  it("whatever bytes they are, in whatever dialect", async () => {
    await fc.assert(
      fc.asyncProperty(tableOf(anyByte), dialects, pieceBytes, async (table, dialect, size) => {
        const bytes = Buffer.from(writeList(table, dialect), "latin1");
        await told(
          table,
          objectOf(bytes, dialect.bom ? UTF8_BOM : NO_BOM, dialect),
          dialect,
          dialect.bom,
          size,
        );
      }),
      { numRuns: 300 },
    );
  });

  it("as UTF-8, from UTF-16 of both kinds", async () => {
    await fc.assert(
      fc.asyncProperty(
        tableOf(anyText),
        dialects,
        fc.boolean(),
        pieceBytes,
        async (table, dialect, big, size) => {
          const utf16 = Buffer.from(`\ufeff${writeList(table, dialect)}`, "utf16le");
          const object = objectOf(big ? utf16.swap16() : utf16, NO_BOM, dialect);
          const asUtf8 = table.map((row) => row.map((value) => Buffer.from(value).toString("latin1")));
          await told(asUtf8, object, dialect, true, size);
        },
      ),
      { numRuns: 150 },
    );
  });

  it("without options, when a column is one of addresses", async () => {
    const names = fc.constantFrom("email", "E-Mail", "Email Address", "E-Mail-Adresse", "courriel");
    const row = fc.array(valueWith(anyByte), { maxLength: 4 });
    const rows = fc.array(row, { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(rows, names, dialects, pieceBytes, async (others, name, dialect, size) => {
        const table = [
          [name, "id", "note"],
          ...others.map((values, i) => [`user${i}@example.com`, `${i}`, ...values]),
        ];
        const bytes = Buffer.from(writeList(table, dialect), "latin1");
        const list = await read(objectOf(bytes, dialect.bom ? UTF8_BOM : NO_BOM, dialect), size);
        // A few bytes may be a word in several encodings (charset-words.test.ts): values are the same, whichever is
        // detected.
        assert.deepEqual(
          { ...list.layout, encoding: undefined },
          {
            delimiter: dialect.delimiter,
            emailColumn: 0,
            header: table[0],
            bom: dialect.bom,
            encoding: undefined,
          },
        );
        assertWrittenBack([list.layout.header ?? [], ...list.rows], table, dialect.delimiter);
      }),
      { numRuns: 150 },
    );
  });
});
