import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { it } from "node:test";
import { filesIn } from "../../../../scripts/layers/files.ts";
import { intervalOf } from "../../../../src/stores/postgres/interval.ts";

const ROOT = resolve(import.meta.dirname, "../../../..");

it("a duration is in seconds, without an exponent, to the microsecond", () => {
  const cases: [number, string][] = [
    [30 * 86_400_000, "2592000.000000 seconds"],
    [1_500, "1.500000 seconds"],
    [0.0004, "0.000000 seconds"],
    [0.25, "0.000250 seconds"],
    [-1, "-0.001000 seconds"],
  ];
  for (const [ms, text] of cases) assert.equal(intervalOf(ms), text);
});

it("no statement is given a duration in milliseconds, of which PostgreSQL 14 takes too few", () => {
  const sources = filesIn(ROOT, ["src", "test"]).filter((path) => path.endsWith(".ts"));
  const found = sources.filter((path) => readFileSync(join(ROOT, path), "utf8").includes("} milliseconds`"));
  assert.deepEqual(
    found.filter((path) => path !== "test/unit/stores/postgres/interval.test.ts"),
    [],
  );
});
