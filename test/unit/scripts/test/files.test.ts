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

test("files of test/unit share a process, but for those with hooks of their own or that say why not", () => {
  const texts = {
    "test/unit/hooks.test.ts": 'import { after } from "node:test";\nafter(() => undefined);\n',
    "test/unit/env.test.ts": "// Alone in its process: it changes the environment.\n",
    "test/unit/inner.test.ts": 'describe("x", () => {\n  after(() => undefined);\n});\n',
  };
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(root, name), text);
  const at = (...names: string[]) => names.map((name) => join(root, name));
  const [hooks, env, inner] = at(...Object.keys(texts));
  const [scenario, b] = at("test/scenario/c.test.ts", "test/unit/b.test.ts");
  const files = [scenario, hooks, b, env, inner] as string[];
  assert.deepEqual(inProcesses(root, files), [[scenario], [hooks], [env], [b, inner]]);
});

test("no process has more than 16 files", () => {
  const names = Array.from({ length: 20 }, (_, i) => join(root, `test/unit/n${i}.test.ts`));
  for (const name of names) writeFileSync(name, "");
  assert.deepEqual(
    inProcesses(root, names).map((batch) => batch.length),
    [16, 4],
  );
});
