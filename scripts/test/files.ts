import { existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

/** Those that take longest come first, so that the end of a run is of small files. */
const FOLDERS = ["test/scenario", "test/integration", "test/unit"];

function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".test.ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/**
 * Absolute paths of the test files of the project at `root`, sorted by kind; with `filters`, files or folders
 * relative to `root`, only those.
 *
 * @throws Error when a filter names nothing that exists: a typo must not pass as success.
 */
export function collectTestFiles(root: string, filters: string[]): string[] {
  if (filters.length === 0) return FOLDERS.flatMap((folder) => filesIn(join(root, folder)));
  const found = filters.flatMap((filter) => {
    const path = resolve(root, filter);
    if (!existsSync(path)) throw new Error(`no such test file or folder: ${filter}`);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });
  return [...new Set(found)];
}
