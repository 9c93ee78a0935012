import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { SERVERS } from "../../../scripts/compat/servers.ts";
import { HEADER, lineOf, totalsOf, withLines } from "../../../scripts/compat/table.ts";
import { OBJECT_TESTS, POOLER_TESTS, POSTGRES_TESTS, REDIS_TESTS } from "../../../scripts/compat/tests.ts";
import { collectTestFiles } from "../../../scripts/test/files.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const PAGE = readFileSync(join(ROOT, "docs/compatibility.md"), "utf8");
const OUTCOME = {
  name: "redis-8",
  version: "8.0.2",
  passed: 191,
  failed: 2,
  known: 0,
  seconds: 61,
  date: "2026-11-28",
};

describe("the table of compatibility", () => {
  it("has one line of figures for each server that is tried, in that order", () => {
    const lines = PAGE.slice(PAGE.indexOf(HEADER.join("\n"))).split("\n");
    const names = lines.flatMap((line) => /^\| `([\w-]+)` \|/.exec(line)?.[1] ?? []);
    assert.deepEqual(
      names,
      SERVERS.map(({ name }) => name),
    );
    const figures = lines.slice(2, 2 + names.length);
    for (const line of figures)
      assert.match(line, /^\| `[\w-]+` \| \S.* \| \d+ \| 0( \+ \d+ known)? \| \d+ \| \d{4}-\d\d-\d\d \|$/);
  });

  it("gets the lines of what ran, and keeps all else", () => {
    const page = "# A\n\n| `redis-7` | 7 | 1 | 0 | 1 | x |\n| `redis-8` | 8 | 1 | 0 | 1 | x |\nend\n";
    assert.equal(withLines(page, []), page);
    assert.equal(
      withLines(page, [OUTCOME]),
      page.replace("| `redis-8` | 8 | 1 | 0 | 1 | x |", lineOf(OUTCOME)),
    );
    assert.throws(() => withLines(page, [{ ...OUTCOME, name: "redis" }]), /no line of redis$/);
  });

  it("has the figures that the test runner prints, known failures apart", () => {
    const output =
      "not ok a.test.ts:3 keeps it\nnot ok a.test.ts:1 a suite\n22 files in 150.3 s\n191 passed, 2 failed\n3 lines\n";
    assert.deepEqual(totalsOf(output, []), { passed: 191, failed: 2, known: 0 });
    assert.deepEqual(totalsOf(output, ["keeps it", "another"]), { passed: 191, failed: 1, known: 1 });
    assert.equal(totalsOf("services: PostgreSQL 18.4, Redis 7.0.15\n", []), null);
    assert.match(lineOf({ ...OUTCOME, failed: 0, known: 3 }), /\| 191 \| 0 \+ 3 known \| 61 \|/);
  });
});

it("the tests that are run against servers are there", () => {
  for (const tests of [POSTGRES_TESTS, POOLER_TESTS, REDIS_TESTS, OBJECT_TESTS])
    assert.ok(collectTestFiles(ROOT, [...tests]).length >= tests.length);
});
