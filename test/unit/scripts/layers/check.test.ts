import assert from "node:assert/strict";
import { test } from "node:test";
import { checkSources } from "../../../../scripts/layers/check.ts";

/** The broken rules of one file beside files that are in order. */
function broken(path: string, text: string, others: Record<string, string> = {}): string[] {
  return checkSources(new Map([...Object.entries(others), [path, text]]));
}

test("what points down is allowed", () => {
  assert.deepEqual(broken("src/api/routes/verify.ts", 'import { x } from "../../services/x.ts";\n'), []);
  assert.deepEqual(broken("src/app/api.ts", 'import { x } from "../http/server.ts";\n'), []);
  assert.deepEqual(broken("src/operator/bootstrap.ts", 'import { x } from "../store/accounts.ts";\n'), []);
  assert.deepEqual(broken("src/api/server/server.ts", 'import uWS from "uWebSockets.js";\n'), []);
  assert.deepEqual(broken("src/config/config.ts", "const env = process.env;\n"), []);
  assert.deepEqual(broken("src/store/a.ts", 'import type { Evidence } from "../check/evidence.ts";\n'), []);
});

const VIOLATIONS: [string, string, string, RegExp][] = [
  ["up", "src/core/a.ts", 'import { b } from "../check/b.ts";', /a\.ts:1 core may not import check/],
  ["up by type", "src/check/a.ts", 'import type { B } from "../store/b.ts";', /check may not import store/],
  ["sideways", "src/http/a.ts", 'import { b } from "../relay/b.ts";', /http may not import relay/],
  ["past a layer", "src/http/a.ts", 'import { b } from "../store/b.ts";', /http may not import store/],
  [
    "a value where types may pass",
    "src/store/a.ts",
    'import { b } from "../check/b.ts";',
    /only types from check/,
  ],
  ["an inline type", "src/store/a.ts", 'import { type B } from "../check/b.ts";', /only types from check/],
  ["over lines", "src/dns/a.ts", 'import {\n  b,\n  c,\n} from "../smtp/b.ts";', /dns may not import smtp/],
  ["by re-export", "src/core/a.ts", 'export * from "../dns/b.ts";', /core may not import dns/],
  [
    "a type by re-export",
    "src/core/a.ts",
    'export type { B } from "../dns/b.ts";',
    /core may not import dns/,
  ],
  ["for its effect", "src/core/a.ts", 'import "../dns/b.ts";', /core may not import dns/],
  ["dynamically", "src/core/a.ts", 'const b = await import("../dns/b.ts");', /core may not import dns/],
  ["by require", "src/core/a.ts", 'const b = require("../dns/b.ts");', /core may not import dns/],
  ["after a comment", "src/core/a.ts", '/* x */\nimport { b } from "../dns/b.ts";', /a\.ts:2 core/],
  [
    "after a regex with a quote",
    "src/core/a.ts",
    'const q = /["`]/;\nawait import("../dns/b.ts");',
    /:2 core/,
  ],
  [
    "from the root",
    "src/services/a.ts",
    'import { b } from "../compose/b.ts";',
    /services may not import root/,
  ],
  [
    "from scripts",
    "src/operator/a.ts",
    'import { b } from "../../scripts/b.ts";',
    /scripts\/b\.ts belongs to no/,
  ],
  ["from tests", "workers/a.ts", 'import { b } from "../test/support/b.ts";', /belongs to no layer/],
  [
    "a worker to the store",
    "workers/a.ts",
    'import { b } from "../src/store/b.ts";',
    /workers may not import store/,
  ],
  ["uWebSockets.js", "src/http/a.ts", 'import uWS from "uWebSockets.js";', /only src\/http\/server\.ts/],
  [
    "uWebSockets.js types",
    "src/http/a.ts",
    'import type uWS from "uWebSockets.js";',
    /only src\/http\/server/,
  ],
  [
    "process.env",
    "src/check/a.ts",
    "const a = 1;\nconst p = process.env.PORT;",
    /a\.ts:2 only src\/core\/config/,
  ],
  ["process['env']", "src/check/a.ts", 'const p = process["env"];', /may read process\.env/],
  ["env by import", "src/check/a.ts", 'import { env } from "node:process";', /may read process\.env/],
  ["an unknown layer", "src/misc/a.ts", 'import { b } from "../core/b.ts";', /misc is in no row/],
  ["a file beside the layers", "src/loose.ts", "const a = 1;", /belongs to no layer/],
  ["a long file", "test/unit/a.test.ts", "x();\n".repeat(401), /401 lines, 400 at most/],
];

for (const [name, path, text, expected] of VIOLATIONS) {
  test(`refused: ${name}`, () => {
    const found = broken(path, `${text}\n`);
    assert.ok(
      found.some((line) => expected.test(line)),
      found.join("\n") || "nothing was found",
    );
  });
}

test("what is only mentioned is not imported", () => {
  const text =
    '// import { b } from "../dns/b.ts";\n/*\nimport "../dns/b.ts";\nprocess.env\n*/\nconst a = 1;\n';
  assert.deepEqual(broken("src/core/a.ts", text), []);
});

test("a cycle is named once", () => {
  const others = {
    "src/core/b.ts": 'import { c } from "./c.ts";\n',
    "src/core/c.ts": 'import type { A } from "./a.ts";\n',
  };
  assert.deepEqual(broken("src/core/a.ts", 'import { b } from "./b.ts";\n', others), [
    "import cycle: src/core/b.ts → src/core/c.ts → src/core/a.ts → src/core/b.ts",
  ]);
});
