import assert from "node:assert/strict";
import { test } from "node:test";
import { figureTable } from "../../../bench/report/table.ts";
import { countLines } from "../../../scripts/layers/files.ts";

test("lines of code and of data are counted separately, by folder", () => {
  const texts = new Map([
    ["src/a.ts", "a\nb\n"],
    ["src/run.mjs", "a"],
    ["src/schema.json", "{\n}\n"],
    ["src/empty.ts", ""],
    ["srcs/other.ts", "a\n"],
    ["workers/c.ts", "a\n"],
    ["test/d.ts", "a\n"],
  ]);
  assert.deepEqual(countLines(texts, ["src", "workers"]), { files: 5, code: 4, data: 2 });
});

test("columns of figures stand to the right, with thousands apart", () => {
  assert.equal(
    figureTable(
      ["", "today", "bar"],
      [
        ["src", 85_578, "≤ 58,000"],
        ["exports", 4, "0"],
      ],
    ),
    ["          today  bar", "src      85,578  ≤ 58,000", "exports       4  0"].join("\n"),
  );
});
