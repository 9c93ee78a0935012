import assert from "node:assert/strict";
import { test } from "node:test";
import { checkExceptions, tighten } from "../../../../scripts/layers/exceptions.ts";
import type { Finding } from "../../../../scripts/layers/measures.ts";

const NONE = { folders: {}, functions: {}, exports: {} };
const folder = (count: number): Finding => ({
  rule: "folders",
  key: "src/a",
  count,
  why: `src/a has ${count} files`,
});

test("what is not known fails", () => {
  assert.deepEqual(checkExceptions([folder(30)], NONE), ["src/a has 30 files"]);
  // An entry of another rule does not count for this one.
  const broken = checkExceptions([folder(30)], { ...NONE, exports: { "src/a": 30 } });
  assert.equal(broken.length, 2);
});

test("what is known may not grow, and what became less is written down", () => {
  const known = { ...NONE, folders: { "src/a": 30 } };
  assert.deepEqual(checkExceptions([folder(30)], known), []);
  assert.deepEqual(checkExceptions([folder(29)], known), [
    'known.json: "src/a" of folders is 29 by now, not 30; run npm run layers -- --tighten',
  ]);
  assert.deepEqual(checkExceptions([folder(31)], known), [
    "src/a has 31 files; it is a known exception with 30, and may not grow",
  ]);
});

test("an entry that is no longer needed fails", () => {
  const [line, ...others] = checkExceptions([], { ...NONE, functions: { "src/a.ts#b": 90 } });
  assert.match(line ?? "", /"src\/a\.ts#b" of functions is no exception any more/);
  assert.deepEqual(others, []);
});

test("the list is tightened: nothing is added, nothing is raised", () => {
  const known = { ...NONE, folders: { "src/a": 30, "src/gone": 40 }, exports: { Reply: 2 } };
  const reply: Finding = { rule: "exports", key: "Reply", count: 3, why: "" };
  const fresh: Finding = { rule: "functions", key: "src/a.ts#b", count: 90, why: "" };
  assert.deepEqual(tighten([folder(28), reply, fresh], known), {
    folders: { "src/a": 28 },
    functions: {},
    exports: { Reply: 2 },
  });
});
