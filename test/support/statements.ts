import { resolve } from "node:path";
import { filesIn, readTexts } from "../../scripts/layers/files.ts";
import { parseSources } from "../../scripts/layers/parse.ts";
import { subselectsOf } from "../../scripts/layers/subselects.ts";
import { templatesOf } from "../../scripts/layers/syntax.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const RUN_ONCE = /^src\/stores\/postgres\/migrations\//;

/** The function or method whose code contains `index`: the last one that begins before it. */
function functionAt(source: string, index: number): string {
  const names = [...source.slice(0, index).matchAll(/\bfunction\s+(\w+)|\n\s+async\s+(\w+)\s*\(/g)];
  const last = names.at(-1);
  return last?.[1] ?? last?.[2] ?? "";
}

/**
 * Functions of `src` with a statement that takes rows by a locking or limited subselect: `file function`, each once.
 */
export function takersOfRows(): string[] {
  const found = new Set<string>();
  const paths = filesIn(ROOT, ["src"]).filter((path) => path.endsWith(".ts") && !RUN_ONCE.test(path));
  for (const [path, file] of parseSources(readTexts(ROOT, paths))) {
    for (const { start, text } of templatesOf(file)) {
      const subselects = subselectsOf(text);
      const isTaker = subselects.some(({ holder }) => holder === "materialized");
      const isLimited = subselects.some(({ locks }) => locks) && subselects.some(({ locks }) => !locks);
      if (isTaker || isLimited) found.add(`${path} ${functionAt(file.text, start)}`);
    }
  }
  return [...found].sort();
}
