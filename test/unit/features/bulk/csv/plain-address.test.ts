import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toText } from "../../../../../src/features/bulk/csv/field.ts";
import {
  type CellKind,
  kindOfCell,
  NO_ADDRESS_CELL,
  PLAIN_CELL,
  UNSURE_CELL,
} from "../../../../../src/features/bulk/csv/plain-address.ts";
import { readAddresses } from "../../../../../src/verification/address/addresses-in.ts";
import fc from "../../../../support/properties.ts";

function kindOf(cell: string): CellKind {
  const bytes = Buffer.from(`,${cell},`, "latin1");
  return kindOfCell({ bytes, from: 1, to: 1 + cell.length });
}

/** Asserts that a definite kind is the result of the general reader too. */
function agree(cell: string): CellKind {
  const kind = kindOf(cell);
  const reading = readAddresses(toText(cell));
  if (kind === PLAIN_CELL)
    assert.ok(reading.kind === "one" && reading.address.cacheKey === cell && !reading.unwrapped, cell);
  if (kind === NO_ADDRESS_CELL) assert.equal(reading.kind, "none", cell);
  return kind;
}

/** Random texts of these characters and pieces. */
function textOf(characters: string, pieces: readonly string[] = []) {
  const piece = fc.constantFrom(...characters, ...pieces);
  return fc.array(piece, { minLength: 1, maxLength: 16 }).map((all) => all.join(""));
}

const letters = textOf("abzAZ019._+-");
const names = textOf("abz019.-xn");
const hostile = textOf("aZ0.@-_+ \"'<>:;,!#%\\()[]xn\t\r\n\0\x7f\x80\xe9", ["mailto:", "@@", ".."]);

describe("a cell that is judged by its bytes", () => {
  it("agrees with the general reader on near-addresses", () => {
    fc.assert(
      fc.property(
        letters,
        fc.oneof(names, fc.constantFrom("gmail.com", "a.fastmail.com")),
        (local, domain) => void agree(`${local}@${domain}`),
      ),
      { numRuns: 5_000 },
    );
  });

  it("agrees with the general reader on any text", () => {
    fc.assert(
      fc.property(fc.oneof(hostile, letters), (cell) => void agree(cell)),
      { numRuns: 5_000 },
    );
  });

  it("is surely an address where nothing is unusual", () => {
    for (const cell of [
      "a@b.co",
      "Jane.Doe+news_2@mail.example-shop.com",
      "x1@1a.2b.c3d",
      "a-@b.cd",
      "a_@xx.yy",
    ])
      assert.equal(agree(cell), PLAIN_CELL, cell);
    const longest = `${"a".repeat(64)}@${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(57)}.co`;
    assert.equal(longest.length, 64 + 1 + 63 + 1 + 63 + 1 + 57 + 3);
    assert.equal(agree(longest), PLAIN_CELL);
  });

  it("is certainly not an address without an @", () => {
    for (const cell of ["customer.4001.3", "n-a", "00", "a.b"])
      assert.equal(agree(cell), NO_ADDRESS_CELL, cell);
  });

  it("is left to the general reader where its provider ignores its letter case", () => {
    for (const cell of ["Jane@gmail.com", "JANE.DOE@qq.com", "x@jane.fastmail.com"])
      assert.equal(agree(cell), /[A-Z]/.test(cell) ? UNSURE_CELL : PLAIN_CELL, cell);
    assert.equal(agree("Jane@shop.example"), PLAIN_CELL);
  });

  it("is left to the general reader where it is uncertain", () => {
    const unusual = [
      "",
      "a",
      "-",
      "a@b",
      "a@b.c",
      "a@b.1c",
      "a@B.co",
      "a@b-.co",
      "a@-b.co",
      "a@b..co",
      "a@b.co.",
      "a@.b.co",
    ];
    const bounds = [`${"a".repeat(65)}@b.co`, `a@${"b".repeat(64)}.co`, `a@b.${"c".repeat(64)}`];
    const more = [
      ".a@b.co",
      "a.@b.co",
      "a..b@c.co",
      "a@b@c.co",
      "a@xn--a.co",
      "a@b--c.co",
      "a b@c.co",
      "'a@b.co'",
      "a!@b.co",
    ];
    const long = `${"a".repeat(64)}@${`${"b".repeat(62)}.`.repeat(3)}com`;
    assert.equal(long.length, 257);
    for (const cell of [...unusual, ...bounds, ...more, long, "_a@b.co", "a-", "\xe9a@b.co"])
      assert.equal(agree(cell), UNSURE_CELL, cell);
  });
});
