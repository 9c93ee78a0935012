import { posix } from "node:path";
import type { SourceFile } from "typescript/unstable/ast";
import { exportsOf, functionsOf } from "./syntax.ts";
import { FOLDER_FILES_MAX, FOLDER_FILES_MIN, FUNCTION_LINES_MAX } from "./table.ts";

/** Rules that the present code breaks in some places; `known.json` lists them. */
export const RULES = ["folders", "functions", "exports"] as const;
export type Rule = (typeof RULES)[number];

/** Syntax trees by path. */
export type Trees = ReadonlyMap<string, SourceFile>;

/** One place that breaks a rule. */
export interface Finding {
  rule: Rule;
  /** Identity that survives changes of the code around it: a folder, `path#function`, an exported name. */
  key: string;
  /** Files of the folder, lines of the function, files that export the name. */
  count: number;
  why: string;
}

export interface Folder {
  path: string;
  /** Files directly in it. */
  files: number;
  hasFolders: boolean;
}

/** All folders that hold a file. */
export function foldersOf(paths: Iterable<string>): Folder[] {
  const files = new Map<string, number>();
  const parents = new Set<string>();
  for (const path of paths) {
    const folder = posix.dirname(path);
    files.set(folder, (files.get(folder) ?? 0) + 1);
    for (let inner = folder; inner !== "."; inner = posix.dirname(inner)) parents.add(posix.dirname(inner));
  }
  return [...files].map(([path, count]) => ({ path, files: count, hasFolders: parents.has(path) }));
}

/**
 * A folder with folders in it is a table of contents, and may hold a single file beside them. One at the top has no parent that its
 * files could be in.
 */
export function isTooSmall({ path, files, hasFolders }: Folder): boolean {
  return files < FOLDER_FILES_MIN && !hasFolders && path.includes("/");
}

function folderFindings(paths: Iterable<string>): Finding[] {
  return foldersOf(paths).flatMap((folder) => {
    if (folder.files <= FOLDER_FILES_MAX && !isTooSmall(folder)) return [];
    const why = `${folder.path} has ${folder.files} files, ${FOLDER_FILES_MIN} to ${FOLDER_FILES_MAX} are allowed`;
    return [{ rule: "folders", key: folder.path, count: folder.files, why }];
  });
}

export interface LongFunction {
  path: string;
  name: string;
  line: number;
  lines: number;
}

/** Functions over the bound, those inside them counted, the longest first. */
export function longFunctions(trees: Trees): LongFunction[] {
  return [...trees]
    .flatMap(([path, file]) => functionsOf(file).map((span) => ({ path, ...span })))
    .filter(({ lines }) => lines > FUNCTION_LINES_MAX)
    .sort((a, b) => b.lines - a.lines);
}

function functionFindings(trees: Trees): Finding[] {
  const seen = new Map<string, number>();
  return longFunctions(trees).map(({ path, name, line, lines }) => {
    const times = (seen.get(`${path}#${name}`) ?? 0) + 1;
    seen.set(`${path}#${name}`, times);
    const key = times === 1 ? `${path}#${name}` : `${path}#${name}#${times}`;
    const why = `${path}:${line} ${name} has ${lines} lines with the functions inside it, ${FUNCTION_LINES_MAX} at most`;
    return { rule: "functions", key, count: lines, why };
  });
}

/** Files by the names that two or more of them declare and export, in the order of the names. */
export function sharedExports(trees: Trees): Map<string, string[]> {
  const files = new Map<string, string[]>();
  for (const [path, file] of trees)
    for (const name of exportsOf(file)) files.set(name, [...(files.get(name) ?? []), path]);
  const shared = [...files].filter(([, paths]) => paths.length > 1);
  return new Map(shared.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function exportFindings(trees: Trees): Finding[] {
  return [...sharedExports(trees)].map(([name, paths]) => {
    const why = `${name} is declared and exported by ${paths.length} files: ${paths.join(", ")}`;
    return { rule: "exports", key: name, count: paths.length, why };
  });
}

export function isProduct(path: string): boolean {
  return path.startsWith("src/") || path.startsWith("workers/");
}

/**
 * Everything that breaks one of the rules. The caller leaves tests out: a folder there has a file for each scenario,
 * and a scenario is one function. Exports of tools are not compared, because no reader reads two tools together.
 *
 * @param paths all files, also those without code
 * @param trees the syntax trees of the files with code
 */
export function findingsOf(paths: readonly string[], trees: Trees): Finding[] {
  const product = new Map([...trees].filter(([path]) => isProduct(path)));
  return [...folderFindings(paths), ...functionFindings(trees), ...exportFindings(product)];
}
