import { posix } from "node:path";
import { environmentLine, type Import, importsOf } from "./scan.ts";
import { repeatableSubselects } from "./subselects.ts";
import { ENVIRONMENT_READER, FILE_LINES_MAX, LAYERS, layerOf, UWS } from "./table.ts";

/** Text of each source file by its path relative to the project, with forward slashes. */
export type Sources = ReadonlyMap<string, string>;

/** Project path of a relative import; null for packages and built-in modules. */
function targetOf(path: string, specifier: string): string | null {
  return specifier.startsWith(".") ? posix.normalize(posix.join(posix.dirname(path), specifier)) : null;
}

/** Why this import is not allowed, or null. */
function objection(path: string, { specifier, typeOnly }: Import): string | null {
  if (specifier === UWS.specifier && path !== UWS.only) return `only ${UWS.only} may import ${UWS.specifier}`;
  const target = targetOf(path, specifier);
  if (target === null || target === "package.json") return null;
  const from = layerOf(path);
  const to = layerOf(target);
  if (to === null) return `${target} belongs to no layer`;
  if (from === null || from === to) return null;
  const layer = LAYERS[from];
  if (!layer) return `src/${from} is in no row of the table`;
  if (layer.may === "all" || layer.may.includes(to)) return null;
  if (layer.types?.includes(to)) return typeOnly ? null : `${from} may import only types from ${to}`;
  return `${from} may not import ${to}`;
}

function checkFile(path: string, text: string): string[] {
  const found: string[] = [];
  const isProduct = path.startsWith("src/") || path.startsWith("workers/");
  if (isProduct) {
    if (layerOf(path) === null) found.push(`${path}:1 belongs to no layer`);
    for (const entry of importsOf(text)) {
      const why = objection(path, entry);
      if (why !== null) found.push(`${path}:${entry.line} ${why}`);
    }
    const line = path === ENVIRONMENT_READER ? null : environmentLine(text);
    if (line !== null) found.push(`${path}:${line} only ${ENVIRONMENT_READER} may read process.env`);
    for (const { line: at, why } of repeatableSubselects(path, text)) found.push(`${path}:${at} ${why}`);
  }
  const lines = text.trimEnd().split("\n").length;
  if (lines > FILE_LINES_MAX) found.push(`${path}:1 has ${lines} lines, ${FILE_LINES_MAX} at most`);
  return found;
}

/** Each cycle of imports once, as `a → b → a`. Imports of types count: a cycle is a knot in the design, not the run. */
function importCycles(sources: Sources): string[] {
  const state = new Map<string, "open" | "done">();
  const trail: string[] = [];
  const found: string[] = [];
  function visit(path: string): void {
    if (state.get(path) === "done") return;
    if (state.get(path) === "open") {
      found.push([...trail.slice(trail.indexOf(path)), path].join(" → "));
      return;
    }
    state.set(path, "open");
    trail.push(path);
    for (const { specifier } of importsOf(sources.get(path) ?? "")) {
      const target = targetOf(path, specifier);
      if (target !== null && sources.has(target)) visit(target);
    }
    trail.pop();
    state.set(path, "done");
  }
  for (const path of sources.keys()) visit(path);
  return found;
}

/** Everything that breaks a rule, one line each; empty when all is well. */
export function checkSources(sources: Sources): string[] {
  const broken = [...sources].flatMap(([path, text]) => checkFile(path, text));
  return [...broken, ...importCycles(sources).map((cycle) => `import cycle: ${cycle}`)];
}
