import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { collectTestFiles, inProcesses } from "../../../../scripts/test/files.ts";

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

test("files of a kind share a process, but for those that say why not", () => {
  const texts = {
    "test/unit/env.test.ts": "// Alone in its process: it changes the environment.\n",
    "test/unit/hooks.test.ts": 'import { after } from "node:test";\nafter(() => undefined);\n',
  };
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(root, name), text);
  const at = (...names: string[]) => names.map((name) => join(root, name));
  const [env, hooks, b] = at(...Object.keys(texts), "test/unit/b.test.ts");
  const [scenario] = at("test/scenario/c.test.ts");
  const files = [scenario, hooks, b, env] as string[];
  assert.deepEqual(inProcesses(root, files), [[scenario], [env], [hooks, b]]);
});

test("a process has 16 unit tests, 8 integration tests or 5 scenarios at most, and neighbours are apart", () => {
  const filesOf = (folder: string, count: number) =>
    Array.from({ length: count }, (_, i) => join(root, folder, `n${i}.test.ts`));
  const lengths = (files: string[]) => {
    for (const file of files) {
      mkdirSync(join(file, ".."), { recursive: true });
      writeFileSync(file, "");
    }
    return inProcesses(root, files).map((batch) => batch.length);
  };
  assert.deepEqual(lengths(filesOf("test/unit", 20)), [10, 10]);
  assert.deepEqual(lengths(filesOf("test/integration", 17)), [6, 6, 5]);
  assert.deepEqual(lengths(filesOf("test/scenario", 5)), [5]);
  const scenarios = filesOf("test/scenario", 6);
  assert.deepEqual(lengths(scenarios), [3, 3]);
  assert.deepEqual(inProcesses(root, scenarios)[0], [scenarios[0], scenarios[2], scenarios[4]]);
  // Those of the portal share what they start among themselves.
  assert.deepEqual(lengths([...scenarios, ...filesOf("test/scenario/portal", 5)]), [5, 3, 3]);
});
