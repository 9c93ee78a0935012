import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { bulkMemoryTerms, totalOf } from "../../../bench/bulk/memory-bound.ts";
import { LIMITS } from "../../../src/config/limits/limits.ts";

const MANIFEST = new URL("../../../k8s/base/bulk.yaml", import.meta.url);

const BASIS = { readyBytes: 100_000_000, threads: 2, cacheEntries: 100_000, rowsMax: 50_000_000 };

describe("the bound of the memory of a worker", () => {
  it("hardly grows with the rows of a job", async () => {
    const few = totalOf(await bulkMemoryTerms({ ...BASIS, rows: 1_000_000 }));
    const many = totalOf(await bulkMemoryTerms({ ...BASIS, rows: 10_000_000 }));
    assert.ok(many > few && many < few * 1.05, `${few} and ${many} bytes`);
  });

  it("grows with what is configured", async () => {
    const usual = totalOf(await bulkMemoryTerms({ ...BASIS, rows: 1_000_000 }));
    for (const more of [{ threads: 3 }, { cacheEntries: 200_000 }, { readyBytes: 200_000_000 }])
      assert.ok(totalOf(await bulkMemoryTerms({ ...BASIS, rows: 1_000_000, ...more })) > usual);
  });

  it("is within what a pod has", async () => {
    const [, gib] = /limits: \{ memory: (\d+)Gi/.exec(await readFile(MANIFEST, "utf8")) ?? [];
    const total = totalOf(await bulkMemoryTerms({ ...BASIS, readyBytes: 200_000_000, rows: 10_000_000 }));
    assert.ok(total < 0.85 * Number(gib) * 2 ** 30, `${total} bytes of ${gib} GiB`);
  });

  it("counts all that is remembered of domains", async () => {
    const { domainNames, domainNameChars, factsKept, findingsKept, plans } = LIMITS.check;
    const { templates, domains } = LIMITS.bulk.templates;
    const terms = await bulkMemoryTerms({ ...BASIS, rows: 1_000_000 });
    const least: [RegExp, number][] = [
      [/ templates of results$/, templates * 2_600],
      [/ domains with several templates$/, domains * 200],
      // As it was written and as it was read.
      [/ names of domains$/, domainNames * 2 * domainNameChars],
      [/ facts of domains, \d+ findings$/, (factsKept + findingsKept) * 600],
      [/ plans of domains$/, BASIS.threads * plans * 1_900],
    ];
    for (const [what, bytes] of least) {
      const found = terms.filter((term) => what.test(term.what));
      assert.equal(found.length, 1, `${what}`);
      assert.ok(totalOf(found) >= bytes, `${what}: ${totalOf(found)} bytes`);
    }
  });
});
