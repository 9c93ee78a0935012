import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { collectTestFiles } from "../../../../scripts/test/files.ts";

const root = mkdtempSync(join(tmpdir(), "rcpt-files-"));
after(() => rmSync(root, { recursive: true }));
for (const file of [
  "test/unit/b.test.ts",
  "test/unit/deep/a.test.ts",
  "test/unit/b.fixture.ts",
  "test/scenario/c.test.ts",
]) {
  mkdirSync(join(root, file, ".."), { recursive: true });
  writeFileSync(join(root, file), "");
}

test("all test files, and only those; filters by file and folder, each file once", () => {
  const at = (...names: string[]) => names.map((name) => join(root, name));
  const all = at("test/scenario/c.test.ts", "test/unit/b.test.ts", "test/unit/deep/a.test.ts");
  assert.deepEqual(collectTestFiles(root, []), all);
  assert.deepEqual(collectTestFiles(root, ["test/unit/deep", "test/unit/deep/a.test.ts"]), [all[2]]);
  assert.throws(() => collectTestFiles(root, ["test/unit/typo.test.ts"]), /no such test file or folder/);
});
