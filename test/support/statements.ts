import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { subselectsOf } from "../../scripts/layers/subselects.ts";
import { templatesOf } from "../../scripts/layers/templates.ts";

const SOURCES = resolve(import.meta.dirname, "../../src");
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
  for (const entry of readdirSync(SOURCES, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith(".ts")) continue;
    const path = join(entry.parentPath, entry.name);
    const name = `src/${path.slice(SOURCES.length + 1)}`;
    if (RUN_ONCE.test(name)) continue;
    const source = readFileSync(path, "utf8");
    for (const { start, text } of templatesOf(source)) {
      const subselects = subselectsOf(text);
      const isTaker = subselects.some(({ holder }) => holder === "materialized");
      const isLimited = subselects.some(({ locks }) => locks) && subselects.some(({ locks }) => !locks);
      if (isTaker || isLimited) found.add(`${name} ${functionAt(source, start)}`);
    }
  }
  return [...found].sort();
}
