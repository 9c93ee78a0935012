import assert from "node:assert/strict";
import { test } from "node:test";
import { checkSources } from "../../../../scripts/layers/check.ts";
import { parseSources } from "../../../../scripts/layers/parse.ts";

/** The broken rules of one file beside files that are in order. */
function broken(path: string, text: string, others: Record<string, string> = {}): string[] {
  return checkSources(parseSources(new Map([...Object.entries(others), [path, text]])));
}

test("what points down is allowed", () => {
  assert.deepEqual(broken("src/api/routes/verify.ts", 'import { x } from "../../features/x/x.ts";\n'), []);
  assert.deepEqual(broken("src/app/api.ts", 'import { x } from "../api/server/server.ts";\n'), []);
  assert.deepEqual(broken("src/operator/bootstrap.ts", 'import { x } from "../stores/redis.ts";\n'), []);
  assert.deepEqual(broken("src/api/server/server.ts", 'import uWS from "uWebSockets.js";\n'), []);
  assert.deepEqual(broken("src/config/config.ts", "const env = process.env;\n"), []);
  assert.deepEqual(broken("src/engine/a.ts", 'import type { Evidence } from "../verification/b.ts";\n'), []);
});

const VIOLATIONS: [string, string, string, RegExp][] = [
  [
    "up",
    "src/platform/a.ts",
    'import { b } from "../engine/b.ts";',
    /a\.ts:1 platform may not import engine/,
  ],
  ["up by type", "src/engine/a.ts", 'import type { B } from "../api/b.ts";', /engine may not import api/],
  ["sideways", "src/dns/a.ts", 'import { b } from "../stores/b.ts";', /dns may not import stores/],
  [
    "up to a feature",
    "src/egress/a.ts",
    'import { b } from "../features/x/b.ts";',
    /egress may not import features/,
  ],
  ["past a layer", "src/api/a.ts", 'import { b } from "../stores/b.ts";', /api may not import stores/],
  [
    "an inline type",
    "src/stores/a.ts",
    'import { type B } from "../engine/b.ts";',
    /stores may not import engine/,
  ],
  ["over lines", "src/dns/a.ts", 'import {\n  b,\n  c,\n} from "../smtp/b.ts";', /dns may not import smtp/],
  ["by re-export", "src/platform/a.ts", 'export * from "../dns/b.ts";', /platform may not import dns/],
  [
    "a type by re-export",
    "src/platform/a.ts",
    'export type { B } from "../dns/b.ts";',
    /platform may not import dns/,
  ],
  ["for its effect", "src/platform/a.ts", 'import "../dns/b.ts";', /platform may not import dns/],
  [
    "dynamically",
    "src/platform/a.ts",
    'const b = await import("../dns/b.ts");',
    /platform may not import dns/,
  ],
  ["by require", "src/platform/a.ts", 'const b = require("../dns/b.ts");', /platform may not import dns/],
  ["after a comment", "src/platform/a.ts", '/* x */\nimport { b } from "../dns/b.ts";', /a\.ts:2 platform/],
  [
    "after a regex with a quote",
    "src/platform/a.ts",
    'const q = /["`]/;\nawait import("../dns/b.ts");',
    /:2 platform/,
  ],
  [
    "from the root",
    "src/features/x/a.ts",
    'import { b } from "../../app/b.ts";',
    /features may not import root/,
  ],
  [
    "from scripts",
    "src/operator/a.ts",
    'import { b } from "../../scripts/b.ts";',
    /scripts\/b\.ts belongs to no/,
  ],
  ["from tests", "workers/a.ts", 'import { b } from "../test/support/b.ts";', /belongs to no layer/],
  [
    "a worker to the stores",
    "workers/a.ts",
    'import { b } from "../src/stores/b.ts";',
    /workers may not import stores/,
  ],
  [
    "uWebSockets.js",
    "src/api/a.ts",
    'import uWS from "uWebSockets.js";',
    /only src\/api\/server\/server\.ts/,
  ],
  [
    "uWebSockets.js types",
    "src/api/a.ts",
    'import type uWS from "uWebSockets.js";',
    /only src\/api\/server\/server/,
  ],
  [
    "process.env",
    "src/engine/a.ts",
    "const a = 1;\nconst p = process.env.PORT;",
    /a\.ts:2 only src\/config\/config/,
  ],
  ["process['env']", "src/engine/a.ts", 'const p = process["env"];', /may read process\.env/],
  ["env by import", "src/engine/a.ts", 'import { env } from "node:process";', /may read process\.env/],
  ["an unknown layer", "src/misc/a.ts", 'import { b } from "../platform/b.ts";', /misc is in no row/],
  ["a file beside the layers", "src/loose.ts", "const a = 1;", /belongs to no layer/],
  ["a private word", "src/engine/a.ts", "// A\nconst freeSeats = 1;", /a\.ts:2 "seats" is a word of this/],
  ["a private word of a constant", "workers/a.ts", "const TOWER_MAX = 1;", /"tower" is a word/],
  ["a long file", "test/unit/a.test.ts", "x();\n".repeat(401), /401 lines, 400 at most/],
];

// Parsed together: a compiler for each would take 100 ms.
const violating = parseSources(
  new Map(VIOLATIONS.map(([name, path, text]) => [`${name}/${path}`, `${text}\n`])),
);
for (const [name, path, , expected] of VIOLATIONS) {
  test(`refused: ${name}`, () => {
    const file = violating.get(`${name}/${path}`);
    assert.ok(file);
    const found = checkSources(new Map([[path, file]]));
    assert.ok(
      found.some((line) => expected.test(line)),
      found.join("\n") || "nothing was found",
    );
  });
}

test("part of a word is no private word, and tools and tests have their own", () => {
  assert.deepEqual(broken("src/platform/a.ts", "const contour = elderly + detours;\n"), []);
  assert.deepEqual(broken("scripts/a.ts", "const seat = 1;\n"), []);
});

test("what is only mentioned is not imported", () => {
  const text =
    '// import { b } from "../dns/b.ts";\n/*\nimport "../dns/b.ts";\nprocess.env\n*/\nconst a = 1;\n';
  assert.deepEqual(broken("src/platform/a.ts", text), []);
});

test("a cycle is named once", () => {
  const others = {
    "src/platform/b.ts": 'import { c } from "./c.ts";\n',
    "src/platform/c.ts": 'import type { A } from "./a.ts";\n',
  };
  assert.deepEqual(broken("src/platform/a.ts", 'import { b } from "./b.ts";\n', others), [
    "import cycle: src/platform/b.ts → src/platform/c.ts → src/platform/a.ts → src/platform/b.ts",
  ]);
});

test("features that need each other are a cycle, also when no file is", () => {
  const others = {
    "src/features/a/two.ts": "export const two = 2;\n",
    "src/features/b/one.ts": 'import { two } from "../a/two.ts";\n',
  };
  assert.deepEqual(broken("src/features/a/one.ts", 'import type { B } from "../b/one.ts";\n', others), [
    "cycle of features: features/a → features/b → features/a",
  ]);
});
