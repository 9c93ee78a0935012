import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

/** The folders that hold the project's own code. */
export const CODE_FOLDERS = ["src", "workers", "scripts", "bench", "test", "packages", "portal/src"] as const;
/** Generated files and packages, which the rules do not apply to. */
const MADE = /(^|\/)(dist|node_modules)\/|\/schema\.d\.ts$/;

/** Paths of all files in these folders of the project, with forward slashes, sorted. */
export function filesIn(root: string, folders: readonly string[]): string[] {
  return folders
    .map((name) => join(root, name))
    .filter(existsSync)
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter((path) => !MADE.test(path))
    .sort();
}

export function isCode(path: string): boolean {
  return /\.m?[tj]sx?$/.test(path);
}

export function readTexts(root: string, paths: readonly string[]): Map<string, string> {
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), "utf8")]));
}

export interface Lines {
  files: number;
  code: number;
  /** Lines of all other files: fixtures, lists, schemas, scripts for other programs. */
  data: number;
}

function linesOf(text: string): number {
  return text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

/** Lines of the files in these folders. */
export function countLines(texts: ReadonlyMap<string, string>, folders: readonly string[]): Lines {
  const sum: Lines = { files: 0, code: 0, data: 0 };
  for (const [path, text] of texts) {
    if (!folders.includes(path.slice(0, path.indexOf("/")))) continue;
    sum.files++;
    sum[isCode(path) ? "code" : "data"] += linesOf(text);
  }
  return sum;
}
