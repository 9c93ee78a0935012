import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { type AnalysisBounds, analyseSource } from "../../../../../src/features/bulk/analysis/analyse.ts";
import type { SourceOptions } from "../../../../../src/features/bulk/analysis/layout.ts";
import { toText } from "../../../../../src/features/bulk/csv/field.ts";
import { parseRecords } from "../../../../../src/features/bulk/csv/parse.ts";
import { type AddressReading, readAddresses } from "../../../../../src/verification/address/addresses-in.ts";

interface Asked {
  options?: SourceOptions;
  bounds?: Partial<AnalysisBounds>;
  /** Bytes of a piece in which the source comes. */
  pieceBytes?: number;
  inspect?(reading: AddressReading): void;
  cancelled?: AbortSignal;
}

/** Analyses bytes, and records the calls of the sinks. */
async function analyse(bytes: Buffer, asked: Asked = {}) {
  const keys: [number, string][] = [];
  const rewritten: Buffer[] = [];
  let isClosed = false;
  async function* source() {
    try {
      const { pieceBytes = 65_536 } = asked;
      for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
    } finally {
      isClosed = true;
    }
  }
  const sinks = {
    repeats: {
      add(row: number, bytes: Uint8Array, from: number, to: number) {
        keys.push([row, Buffer.from(bytes.subarray(from, to)).toString()]);
        return row % 3 === 0 ? Promise.resolve() : null;
      },
    },
    rewrite: () => ({ write: async (piece: Buffer) => void rewritten.push(Buffer.from(piece)) }),
    ...(asked.inspect === undefined ? {} : { inspect: asked.inspect }),
  };
  const bounds = { rows: 1_000_000, bytes: 1e9, ...asked.bounds };
  const cancelled = asked.cancelled ?? new AbortController().signal;
  const outcome = await analyseSource(source(), asked.options ?? {}, bounds, sinks, cancelled).catch(
    (error: unknown) => {
      assert.ok(isClosed, "the source is left open");
      throw error;
    },
  );
  assert.ok(isClosed, "the source is left open");
  return { outcome, keys, text: outcome.ok && outcome.rewritten ? Buffer.concat(rewritten) : bytes };
}

async function analysed(bytes: Buffer, asked: Asked = {}) {
  const { outcome, ...rest } = await analyse(bytes, asked);
  assert.ok(outcome.ok, JSON.stringify(outcome));
  return { ...outcome, ...rest };
}

async function refused(bytes: Buffer, asked: Asked = {}) {
  const { outcome } = await analyse(bytes, asked);
  assert.ok(!outcome.ok);
  return outcome;
}

/** The address that a worker reads from a cell; the cell itself if it has none. */
function readText(cell: string): string {
  const reading = readAddresses(cell);
  return reading.kind === "one" ? reading.text : cell;
}

/** The addresses of the chunks, as a worker reads them. */
function addressesOf({ text, chunks, layout }: Awaited<ReturnType<typeof analysed>>): string[] {
  return chunks.flatMap(({ firstByte, bytes, rows }) => {
    const records = parseRecords(text.subarray(firstByte, firstByte + bytes), layout);
    assert.equal(records.length, rows);
    return records.map((record) => readText(toText(record[layout.emailColumn] ?? "")));
  });
}

const LIST =
  'name;email;note\r\nAnn;ann@example.com;"a\r\nb"\r\n\r\nBo; bo@exämple.com ;x;y\nCy\nDi;no address\n';

describe("the analysis of a source", () => {
  for (const pieceBytes of [1, 7, 65_536])
    it(`finds layout, rows and addresses in pieces of ${pieceBytes}`, async () => {
      const found = await analysed(Buffer.from(LIST), { pieceBytes });
      assert.deepEqual(found.layout, {
        delimiter: ";",
        emailColumn: 1,
        columns: 4,
        header: ["name", "email", "note"],
        bom: false,
      });
      assert.deepEqual([found.rows, found.malformed, found.empty, found.rewritten], [4, 1, 1, false]);
      assert.deepEqual(addressesOf(found), ["ann@example.com", "bo@exämple.com", "", "no address"]);
      assert.deepEqual(found.keys, [
        [0, "ann@example.com"],
        [1, "bo@xn--exmple-cua.com"],
      ]);
    });

  it("reads a byte order mark past, and remembers it", async () => {
    const found = await analysed(Buffer.from(`\ufeff${LIST}`));
    assert.equal(found.layout.bom, true);
    assert.equal(addressesOf(found)[0], "ann@example.com");
  });

  it("rewrites what has no bytes to read in parts: gzip, UTF-16", async () => {
    const utf16 = Buffer.from(`\ufeff${LIST}`, "utf16le");
    for (const [bytes, bom] of [
      [gzipSync(LIST), false],
      [utf16, true],
      [gzipSync(utf16), true],
    ] as const) {
      const found = await analysed(bytes, { pieceBytes: 5 });
      assert.deepEqual([found.rewritten, found.layout.bom], [true, bom]);
      assert.equal(found.text.toString(), bom ? `\ufeff${LIST}` : LIST);
      assert.deepEqual(addressesOf(found), ["ann@example.com", "bo@exämple.com", "", "no address"]);
    }
  });

  it("cuts many rows into chunks that hold them all", async () => {
    const rows = 3 * LIMITS.bulk.rowsPerChunk + 17;
    const emails = Array.from({ length: rows }, (_, i) => `user${i}@example.com`);
    const found = await analysed(Buffer.from(`email\n${emails.join("\n")}`), { pieceBytes: 1_000 });
    assert.equal(found.chunks.length, 4);
    assert.deepEqual(addressesOf(found), emails);
    assert.deepEqual(
      found.keys,
      emails.map((email, row) => {
        const reading = readAddresses(email);
        assert.ok(reading.kind === "one");
        return [row, reading.address.cacheKey];
      }),
    );
  });

  it("goes by what was said of the source", async () => {
    const options = { delimiter: ";", emailColumn: 2, hasHeader: false };
    const found = await analysed(Buffer.from("email;b;c@example.com\nd;e;f\n"), { options });
    assert.deepEqual(addressesOf(found), ["c@example.com", "f"]);
    assert.equal(found.layout.header, null);
  });
});

describe("spellings of one mailbox", () => {
  const spellings = (domain: string) =>
    `Email\nexists1@${domain}\nExists1@${domain}\nEXISTS1@${domain.toUpperCase()}\nexists1@${domain.toUpperCase()}\nexists1+x@${domain}\n "exists1@${domain}"\n`;

  for (const [domain, keys] of [
    // An unknown server may distinguish mailboxes by case.
    ["ok.test", ["exists1", "Exists1", "EXISTS1", "exists1", "exists1+x", "exists1"]],
    ["gmail.com", ["exists1", "exists1", "exists1", "exists1", "exists1+x", "exists1"]],
  ] as const)
    it(`are one check each at ${domain} where that is sure`, async () => {
      const found = await analysed(Buffer.from(spellings(domain)));
      assert.deepEqual(
        found.keys,
        keys.map((local, row) => [row, `${local}@${domain}`]),
      );
    });
});

describe("an address in a wrapping, or in windows-1252", () => {
  it("is that of its row: for repeats, for malformed rows, and for the preview", async () => {
    const inspected: string[] = [];
    const list =
      "contact\nJane <a@example.com>\na@example.com\nmailto:a@example.com\njos\xe9@example.com\njos\xc3\xa9@example.com\njos\xe8@example.com\n<no>\n";
    const found = await analysed(Buffer.from(list, "latin1"), {
      inspect: (reading) => inspected.push(reading.kind === "one" ? reading.text : reading.kind),
    });
    const addresses = ["a@example.com", "a@example.com", "a@example.com", "josé@example.com"];
    const expected = [...addresses, "josé@example.com", "josè@example.com", "<no>"];
    assert.deepEqual([found.rows, found.malformed, found.layout.header], [7, 1, ["contact"]]);
    assert.deepEqual(addressesOf(found), expected);
    assert.deepEqual(inspected, [...expected.slice(0, 6), "none"]);
    assert.deepEqual(
      found.keys.map(([, key]) => key),
      expected.slice(0, 6),
    );
  });
});

describe("a list without one address in its column", () => {
  const listOf = (rows: number) => Buffer.from(`id,email\n${"1,nobody\n".repeat(rows)}`);

  it("makes no job: the column or the list is another than was meant", async () => {
    const problem = await refused(listOf(5));
    assert.equal(problem.code, "no_email_column");
    assert.equal(
      problem.detail,
      'None of the 5 rows has an email address in column 1, counted from 0, "email".',
    );
    assert.equal((await refused(listOf(5), { options: { emailColumn: 0 } })).code, "no_email_column");
  });

  it("makes one when it is short, or one row of it has an address", async () => {
    assert.equal((await analysed(listOf(4))).malformed, 4);
    const found = await analysed(Buffer.concat([listOf(5_000), Buffer.from("2,a@example.com\n")]));
    assert.deepEqual([found.rows, found.malformed], [5_001, 5_000]);
  });
});

describe("a source that makes no job", () => {
  const cases: [name: string, bytes: Buffer, asked: Asked, code: string, detail: RegExp][] = [
    ["is empty", Buffer.alloc(0), {}, "empty_source", /no rows/],
    ["is a header only", Buffer.from("name,email\n"), {}, "empty_source", /header and no rows/],
    ["has no addresses", Buffer.from("a,b\n1,2\n3,4\n"), {}, "no_email_column", /No column/],
    [
      "has no column of the name",
      Buffer.from(LIST),
      { options: { emailColumn: "mail" } },
      "no_email_column",
      /"mail".*"email"/s,
    ],
    ["is no text", Buffer.from("PK\x03\x04 xl/ rest"), {}, "not_csv", /Excel/],
    ["is broken gzip", gzipSync(LIST).subarray(0, 40), {}, "not_readable", /./],
    [
      "has an open quote far in",
      Buffer.from(`email\n${"a@example.com\n".repeat(30_000)}"b`),
      {},
      "quote_not_closed",
      /./,
    ],
    [
      "has a record beyond its bound far in",
      Buffer.from(`email\n${"a@example.com\n".repeat(30_000)}${"x".repeat(LIMITS.bulk.recordBytes + 1)}\n`),
      {},
      "record_too_large",
      /./,
    ],
    [
      "has too many columns far in",
      Buffer.from(`email,b\n${"a@example.com,b\n".repeat(30_000)}${",".repeat(LIMITS.bulk.columns)}\n`),
      {},
      "too_many_columns",
      /./,
    ],
    ["has more rows than it may", Buffer.from(LIST), { bounds: { rows: 3 } }, "bulk_too_large", /3 rows/],
    [
      "has more bytes than it may once decompressed",
      gzipSync(`email\n${"a@example.com\n".repeat(100_000)}`),
      { bounds: { bytes: 1_000_000 } },
      "bulk_too_large",
      /./,
    ],
    [
      "has more bytes than it may in UTF-8",
      Buffer.from(`\ufeffemail\n${"漢".repeat(100)}@example.com\n`, "utf16le"),
      { bounds: { bytes: 300 } },
      "bulk_too_large",
      /300 bytes when it is read as UTF-8; this one has more/,
    ],
    [
      "has more bytes than it may",
      Buffer.from(LIST),
      { bounds: { bytes: 20 } },
      "bulk_too_large",
      /20 bytes; this one has more/,
    ],
    [
      "has more bytes than it may in UTF-8 once decompressed",
      gzipSync(Buffer.from(`\ufeffemail\n${"漢".repeat(100)}@example.com\n`, "utf16le")),
      { bounds: { bytes: 300 } },
      "bulk_too_large",
      /300 bytes when it is decompressed and read as UTF-8/,
    ],
    [
      "has names that cannot be kept",
      Buffer.from(`e\0mail,b\n${"a@example.com,b\n".repeat(500)}`),
      { options: { hasHeader: true, emailColumn: 0 } },
      "not_csv",
      /header/,
    ],
  ];
  for (const [name, bytes, asked, code, detail] of cases)
    it(name, async () => {
      const problem = await refused(bytes, asked);
      assert.equal(problem.code, code, problem.detail);
      assert.match(problem.detail, detail);
    });

  it("may have exactly as many rows as it may", async () => {
    assert.equal((await analysed(Buffer.from(LIST), { bounds: { rows: 4 } })).rows, 4);
  });
});

describe("an analysis ends early", () => {
  it("when it is cancelled", async () => {
    const controller = new AbortController();
    let seen = 0;
    const bytes = Buffer.from(`email\n${"a@example.com\n".repeat(100_000)}`);
    const inspect = () => {
      seen += 1;
      controller.abort(new Error("not wanted"));
    };
    await assert.rejects(analyse(bytes, { inspect, cancelled: controller.signal }), /not wanted/);
    assert.ok(seen < 20_000, `${seen} rows were read after that`);
  });

  it("when an address says so", async () => {
    const inspect = ({ kind }: AddressReading) => {
      if (kind === "none") throw new Error("as it asked");
    };
    await assert.rejects(analyse(Buffer.from(LIST), { inspect }), /as it asked/);
  });
});

describe("cells with something around the address", () => {
  const fixture = (name: string) =>
    readFileSync(new URL(`../../../../fixtures/lists/${name}.csv`, import.meta.url));
  const exists = (...numbers: number[]) => numbers.map((number) => `exists${number}@ok.test`);
  const cases: [name: string, addresses: string[], malformed: number, empty: number][] = [
    ["nbsp-zwsp", exists(1, 2, 3, 4, 5, 6, 7, 8), 0, 0],
    ["tabs-in-csv", exists(1, 2), 0, 0],
    ["newline-in-cell", exists(1, 2, 3), 0, 0],
    ["latin1-nbsp", exists(1, 2), 0, 0],
    ["vt-ff", exists(1, 2), 0, 0],
    ["wrapped", exists(1, 2, 3, 4, 5, 6, 7, 8), 0, 0],
    ["trailing-punct", exists(1, 2, 3, 4), 0, 0],
    ["formula-hyperlink", exists(1, 2, 3, 4), 0, 0],
    ["multi-in-cell", [], 5, 0],
    ["header-and-empty-emails", [], 0, 6],
  ];
  for (const [name, addresses, malformed, empty] of cases)
    it(name, async () => {
      const { outcome, keys } = await analyse(fixture(name));
      assert.ok(outcome.ok, JSON.stringify(outcome));
      assert.deepEqual(
        keys.map(([, key]) => key),
        addresses,
      );
      assert.deepEqual([outcome.malformed, outcome.empty], [malformed, empty]);
    });
});
