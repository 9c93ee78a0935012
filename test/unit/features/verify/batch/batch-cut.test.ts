import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cutByDomain } from "../../../../../src/features/verify/batch/batch-cut.ts";
import type { Scope } from "../../../../../src/verification/evidence.ts";
import fc from "../../../../support/properties.ts";

interface Row {
  id: number;
  address: { domain: string };
  scope: Scope;
}

const rowsOf = (domains: readonly string[], scope: Scope = "probed"): Row[] =>
  domains.map((domain, id) => ({ id, address: { domain }, scope }));

const shown = (batches: readonly Row[][]) =>
  batches.map((rows) => rows.map((row) => row.address.domain).join(""));

describe("cutting rows into batches", () => {
  it("keeps a domain together, and cuts only one that is larger than a batch", () => {
    assert.deepEqual(shown(cutByDomain(rowsOf([..."abcabc"]), 4)), ["aabb", "cc"]);
    assert.deepEqual(shown(cutByDomain(rowsOf([..."abcbcb"]), 3)), ["a", "bbb", "cc"]);
    assert.deepEqual(shown(cutByDomain(rowsOf([..."abbbbbc"]), 2)), ["a", "bb", "bb", "bc"]);
  });

  it("is nothing of nothing", () => {
    assert.deepEqual(cutByDomain([], 4), []);
  });

  it("loses and repeats no row, mixes no scopes, and fills no batch beyond its size", () => {
    const row = fc.record({
      id: fc.nat(),
      address: fc.record({ domain: fc.constantFrom("a", "b", "c", "d") }),
      scope: fc.constantFrom("probed" as const, "unprobed" as const),
    });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 60 }), fc.integer({ min: 1, max: 9 }), (rows, size) => {
        const batches = cutByDomain(rows, size);
        assert.deepEqual(new Set(batches.flat()), new Set(rows));
        assert.equal(batches.flat().length, rows.length);
        for (const batch of batches) {
          assert.ok(batch.length > 0 && batch.length <= size);
          assert.equal(new Set(batch.map(({ scope }) => scope)).size, 1);
        }
        const spread = new Map<string, number>();
        for (const batch of batches) {
          for (const key of new Set(batch.map(({ address, scope }) => `${scope} ${address.domain}`)))
            spread.set(key, (spread.get(key) ?? 0) + 1);
        }
        for (const [key, count] of spread) {
          const rowsOfDomain = rows.filter(
            ({ address, scope }) => `${scope} ${address.domain}` === key,
          ).length;
          if (rowsOfDomain <= size) assert.equal(count, 1, key);
        }
      }),
    );
  });
});
