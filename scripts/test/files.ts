import { existsSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { filesIn } from "../layers/files.ts";

/** Those that take longest come first, so that the end of a run is of small files. */
const FOLDERS = ["test/scenario", "test/integration", "test/unit"];

function testsIn(root: string, folder: string): string[] {
  const found = filesIn(root, [folder]).filter((path) => path.endsWith(".test.ts"));
  return found.map((path) => join(root, path));
}

/**
 * Absolute paths of the test files of the project at `root`, sorted by kind; with `filters`, files or folders
 * relative to `root`, only those.
 *
 * @throws Error when a filter names nothing that exists: a typo must not pass as success.
 */
export function collectTestFiles(root: string, filters: string[]): string[] {
  if (filters.length === 0) return FOLDERS.flatMap((folder) => testsIn(root, folder));
  const found = filters.flatMap((filter) => {
    const path = resolve(root, filter);
    if (!existsSync(path)) throw new Error(`no such test file or folder: ${filter}`);
    return statSync(path).isDirectory() ? testsIn(root, relative(root, path)) : [path];
  });
  return [...new Set(found)];
}
