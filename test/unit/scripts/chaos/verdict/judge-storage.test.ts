import assert from "node:assert/strict";
import { test } from "node:test";
import type { HourLater } from "../../../../../scripts/chaos/verdict/an-hour-later.ts";
import { passes } from "../../../../../scripts/chaos/verdict/closing.ts";
import { judgeStorage } from "../../../../../scripts/chaos/verdict/judge-storage.ts";

const tidy: HourLater = {
  tidiedS: 4.2,
  before: { objects: ["a/results-1.csv", "a/source", "u/1"], parts: ["a/results-2.csv"] },
  after: { objects: ["u/1", "a/results-1.csv"], parts: [] },
  readable: ["a/results-1.csv", "u/1"],
};

test("object storage may have readable objects only, whatever it had before", () => {
  const { findings, details } = judgeStorage(tidy);
  assert.equal(passes(findings), true);
  assert.deepEqual(details, []);
});

const missed: [what: string, found: Partial<HourLater>, detail: string[]][] = [
  [
    "an object too many",
    { after: { objects: ["u/1", "a/results-1.csv", "a/source"], parts: [] } },
    ["nobody may read a/source"],
  ],
  ["an object too few", { after: { objects: ["u/1"], parts: [] } }, ["missing: a/results-1.csv"]],
  [
    "an upload in parts",
    { after: { ...tidy.after, parts: ["a/results-2.csv"] } },
    ["still in parts: a/results-2.csv"],
  ],
  ["an upload in parts that was never seen", { before: { ...tidy.before, parts: [] } }, []],
  ["relays that did not get there", { tidiedS: null }, []],
];

for (const [what, found, detail] of missed)
  test(`${what} misses a bound`, () => {
    const { findings, details } = judgeStorage({ ...tidy, ...found });
    assert.equal(findings.filter(({ ok }) => !ok).length, 1);
    assert.deepEqual(details, detail);
  });
