import { posix } from "node:path";
import type { SourceFile } from "typescript/unstable/ast";
import type { Trees } from "./measures.ts";
import { repeatableSubselects } from "./subselects.ts";
import { environmentLine, type Import, importsOf } from "./syntax.ts";
import {
  ENVIRONMENT_READER,
  FILE_LINES_MAX,
  featureOf,
  LAYERS,
  layerOf,
  PRIVATE_WORDS,
  UWS,
} from "./table.ts";

/** Project path of a relative import; null for packages and built-in modules. */
function targetOf(path: string, specifier: string): string | null {
  return specifier.startsWith(".") ? posix.normalize(posix.join(posix.dirname(path), specifier)) : null;
}

/** Why this import is not allowed, or null. */
function objection(path: string, { specifier }: Import): string | null {
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
  return `${from} may not import ${to}`;
}

/** Lines of a file at which a private word begins, in any spelling of an identifier, also over two lines of a comment. */
function privateWords({ text }: SourceFile): [line: number, word: string][] {
  const plain = text
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .replaceAll(/[_-]/g, " ")
    .toLowerCase();
  return [...plain.matchAll(PRIVATE_WORDS)].map(({ 0: word, index }) => [
    plain.slice(0, index).split("\n").length,
    word,
  ]);
}

/** A file of code or styles that is too long. */
export function checkLength(path: string, text: string): string[] {
  const lines = text.trimEnd().split("\n").length;
  return lines > FILE_LINES_MAX ? [`${path}:1 has ${lines} lines, ${FILE_LINES_MAX} at most`] : [];
}

function checkFile(path: string, file: SourceFile): string[] {
  const found: string[] = [];
  const isProduct = /^(src|workers)\/|^packages\/[a-z]+\/src\//.test(path);
  if (isProduct) {
    if (layerOf(path) === null) found.push(`${path}:1 belongs to no layer`);
    for (const entry of importsOf(file)) {
      const why = objection(path, entry);
      if (why !== null) found.push(`${path}:${entry.line} ${why}`);
    }
    const line = path === ENVIRONMENT_READER ? null : environmentLine(file);
    if (line !== null) found.push(`${path}:${line} only ${ENVIRONMENT_READER} may read process.env`);
    for (const { line: at, why } of repeatableSubselects(path, file)) found.push(`${path}:${at} ${why}`);
    for (const [at, word] of privateWords(file))
      found.push(`${path}:${at} "${word}" is a word of this project alone: use the field's term`);
  }
  return [...found, ...checkLength(path, file.text)];
}

type Graph = ReadonlyMap<string, Iterable<string>>;

/**
 * Imports of each file among the sources. Imports of types count: such a cycle is one of the design, though not at run
 * time.
 */
function fileGraph(trees: Trees): Graph {
  const targets = (path: string, file: SourceFile) =>
    importsOf(file).flatMap(({ specifier }) => {
      const target = targetOf(path, specifier);
      return target !== null && trees.has(target) ? [target] : [];
    });
  return new Map([...trees].map(([path, file]) => [path, targets(path, file)]));
}

/** For each feature, the other features that it imports. */
function featureGraph(files: Graph): Graph {
  const graph = new Map<string, Set<string>>();
  for (const [path, targets] of files) {
    const from = featureOf(path);
    if (from === null) continue;
    const edges = graph.get(from) ?? new Set<string>();
    graph.set(from, edges);
    for (const target of targets) {
      const to = featureOf(target);
      if (to !== null && to !== from) edges.add(to);
    }
  }
  return graph;
}

/** Each cycle once, as `a → b → a`. */
function cyclesOf(graph: Graph): string[] {
  const state = new Map<string, "open" | "done">();
  const trail: string[] = [];
  const found: string[] = [];
  function visit(node: string): void {
    if (state.get(node) === "done") return;
    if (state.get(node) === "open") {
      found.push([...trail.slice(trail.indexOf(node)), node].join(" → "));
      return;
    }
    state.set(node, "open");
    trail.push(node);
    for (const next of graph.get(node) ?? []) visit(next);
    trail.pop();
    state.set(node, "done");
  }
  for (const node of graph.keys()) visit(node);
  return found;
}

/**
 * Everything that breaks a rule, one line each; empty when all is well.
 * @param trees the syntax trees by path relative to the project, with forward slashes
 */
export function checkSources(trees: Trees): string[] {
  const broken = [...trees].flatMap(([path, file]) => checkFile(path, file));
  const files = fileGraph(trees);
  return [
    ...broken,
    ...cyclesOf(files).map((cycle) => `import cycle: ${cycle}`),
    ...cyclesOf(featureGraph(files)).map((cycle) => `cycle of features: ${cycle}`),
  ];
}
