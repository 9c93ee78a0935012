import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countsOf, memoryList } from "../../../bench/bulk/memory-list.ts";
import { parseAddress } from "../../../src/verification/address/address.ts";

describe("the list whose memory is watched", () => {
  it("has as many rows, repeats and malformed addresses as it says", () => {
    for (const rows of [1, 7, 1_000, 2_345]) {
      const text = Buffer.concat([...memoryList(rows)]).toString();
      const addresses = text
        .split("\r\n")
        .slice(1, -1)
        .map((record) => record.split(",").at(-2) ?? "");
      const seen = new Set<string>();
      const found = { total: addresses.length, duplicates: 0, malformed: 0 };
      for (const address of addresses) {
        if (!parseAddress(address).ok) found.malformed += 1;
        else if (seen.has(address)) found.duplicates += 1;
        seen.add(address);
      }
      assert.deepEqual(countsOf(rows), found);
    }
  });

  it("has repeats that are far from what they repeat", () => {
    const [, ...records] = Buffer.concat([...memoryList(8_000)])
      .toString()
      .split("\r\n");
    assert.match(records[7_999] ?? "", /,user3996@/);
  });
});
