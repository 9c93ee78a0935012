import assert from "node:assert/strict";
import { test } from "node:test";
import { findingsOf } from "../../../../scripts/layers/measures.ts";
import { parseSources } from "../../../../scripts/layers/parse.ts";

/** Findings in these files, as `rule key count`. */
function found(sources: Record<string, string>, others: string[] = []): string[] {
  const trees = parseSources(new Map(Object.entries(sources)));
  return findingsOf([...Object.keys(sources), ...others], trees).map(
    ({ rule, key, count }) => `${rule} ${key} ${count}`,
  );
}

const files = (folder: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${folder}/${i}.json`);
const steps = (lines: number) => "  step();\n".repeat(lines);

test("a folder has 3 to 25 files, those in the folders inside it not counted", () => {
  assert.deepEqual(found({}, [...files("src/a", 3), ...files("src/b", 25)]), []);
  assert.deepEqual(found({}, files("src/a", 2)), ["folders src/a 2"]);
  assert.deepEqual(found({}, files("src/a", 26)), ["folders src/a 26"]);
  assert.deepEqual(found({}, files("workers", 2)), []);
  assert.deepEqual(found({}, [...files("src/a", 20), ...files("src/a/b", 20)]), []);
});

test("a folder with folders in it may have few files beside them", () => {
  assert.deepEqual(found({}, [...files("src", 2), ...files("src/a", 3)]), []);
  assert.deepEqual(found({}, [...files("src/a", 1), ...files("src/a/b/c", 3)]), []);
  assert.deepEqual(found({}, [...files("src/ab", 1), ...files("src/a", 3)]), ["folders src/ab 1"]);
});

test("a function has 70 lines at most, with those of the functions inside it", () => {
  const inner = (name: string, lines: number) => `  function ${name}() {\n${steps(lines)}  }\n`;
  const source = (lines: number) => `function create() {\n${inner("a", 32)}${inner("b", lines)}}\n`;
  const beside = files("src/platform", 2);
  assert.deepEqual(found({ "src/platform/a.ts": source(32) }, beside), []);
  assert.deepEqual(found({ "src/platform/a.ts": source(33) }, beside), [
    "functions src/platform/a.ts#create 71",
  ]);
  assert.deepEqual(found({ "src/platform/a.ts": source(80) }, beside), [
    "functions src/platform/a.ts#create 118",
    "functions src/platform/a.ts#create.b 82",
  ]);
});

test("two long functions of one name are two findings", () => {
  const long = (lines: number) => `on(() => {\n${steps(lines)}});\n`;
  assert.deepEqual(found({ "bench/a.ts": long(70) + long(90) }, files("bench", 2)), [
    "functions bench/a.ts#on 92",
    "functions bench/a.ts#on#2 72",
  ]);
});

test("a name is exported by one file of src and workers", () => {
  const beside = [
    ...files("src/platform", 2),
    ...files("src/smtp", 2),
    ...files("workers", 2),
    ...files("bench", 2),
  ];
  const sources = {
    "src/platform/a.ts": "export const reply = 1;\nexport const own = 1;\n",
    "src/smtp/a.ts": "export interface reply {}\n",
    "workers/a.ts": 'export { own } from "../src/platform/a.ts";\nexport const worker = 1;\n',
    "bench/a.ts": "export const worker = 1;\n",
  };
  assert.deepEqual(found(sources, beside), ["exports reply 2"]);
});
