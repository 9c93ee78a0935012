import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

/** The folders that hold the project's own code. */
export const CODE_FOLDERS = ["src", "workers", "scripts", "bench", "test", "packages"] as const;
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
  return /\.m?[tj]s$/.test(path);
}

export function readTexts(root: string, paths: readonly string[]): Map<string, string> {
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), "utf8")]));
}
