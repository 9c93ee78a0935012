import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSources } from "../../../../scripts/layers/parse.ts";
import { exportsOf, functionsOf } from "../../../../scripts/layers/syntax.ts";

function parse(text: string) {
  const tree = parseSources(new Map([["src/platform/a.ts", text]])).get("src/platform/a.ts");
  assert.ok(tree);
  return tree;
}

test("a function has the lines of the functions inside it, and a name that says where it is", () => {
  const spans = functionsOf(
    parse(`// é 😀
/** Comments before a function are no part of it. */
export function createA(deps: {
  b: number;
}) {
  const c = () => {
    setTimeout(() => {
      d();
    });
  };
  return {
    c,
    async e() {
      return () => 1;
    },
  };
}
class F {
  #g = 1;
  constructor() {
    this.#h();
  }
  get #h() {
    return 1;
  }
  i = function () {};
}
export default () => 2;
`),
  );
  assert.deepEqual(
    spans.map(({ name, line, lines }) => [name, line, lines]),
    [
      ["createA", 3, 15],
      ["createA.c", 6, 5],
      ["createA.c.setTimeout", 7, 3],
      ["createA.e", 13, 3],
      ["createA.e.(anonymous)", 14, 1],
      ["F.constructor", 20, 3],
      ["F.#h", 23, 3],
      ["F.i", 26, 1],
      ["(anonymous)", 28, 1],
    ],
  );
});

test("what stands in strings, templates and regular expressions opens no function", () => {
  const text = "const a = `function b() {\n$" + "{c(() => 1)}`;\nconst d = /function e() {/;\n";
  const spans = functionsOf(parse(text));
  assert.deepEqual(spans, [{ name: "c", line: 2, lines: 1 }]);
});

test("exported names are those that a file declares, however it exports them", () => {
  const names = exportsOf(
    parse(`import { passed, type Old } from "./b.ts";
export { passed, Old };
export { elsewhere } from "./b.ts";
export * as everything from "./b.ts";
export const a = 1, { b, c: [d], ...e } = f;
export type G = string;
export interface H {}
export async function i() {}
export class J {}
const k = 1, hidden = 2;
export { k, k as l };
export default hidden;
`),
  );
  assert.deepEqual([...names].sort(), ["G", "H", "J", "a", "b", "d", "e", "i", "k", "l"]);
});

test("what cannot be parsed is an error, not a file without functions", () => {
  assert.throws(() => parse("function a( {\n"), /src\/platform\/a\.ts/);
});
