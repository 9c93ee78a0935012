import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createCustomerList, csvRecord } from "../../../../scripts/demo/list.ts";
import { parseAddress } from "../../../../src/verification/address/address.ts";

const ROWS = 60_000;

describe("the demo's list", () => {
  it("says of each row whether it repeats an earlier one", () => {
    const list = createCustomerList(ROWS);
    const seen = new Map<string, string>();
    for (let i = 0; i < ROWS; i++) {
      const { values, verdict, isFree } = list.row(i);
      const parsed = parseAddress(values[2] ?? "");
      assert.equal(!parsed.ok, isFree === "malformed", `row ${i}`);
      if (!parsed.ok) continue;
      const { cacheKey } = parsed.address;
      assert.equal(seen.has(cacheKey), isFree === "repeat", `row ${i}: ${values[2]}`);
      assert.equal(seen.get(cacheKey) ?? verdict, verdict);
      seen.set(cacheKey, verdict);
    }
  });

  it("has rows of every verdict it can be sure of, and fields that need quotes", () => {
    const list = createCustomerList(1_000);
    const rows = Array.from({ length: 1_000 }, (_, i) => list.row(i));
    assert.deepEqual([...new Set(rows.map(({ verdict }) => verdict))].sort(), ["invalid", "risky", "valid"]);
    assert.match(
      csvRecord(rows[3]?.values ?? []),
      /^3,"Customer, 3",.*,"says ""hello, row 3""\nand more"\r\n$/s,
    );
  });
});
