import { existsSync, readFileSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { filesIn } from "../layers/files.ts";

/** Folders of tests, the slowest first, so that the last files of a run are quick ones. */
const FOLDERS = ["test/scenario/bulk", "test/scenario", "test/integration", "test/unit"];

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
  if (filters.length === 0) return [...new Set(FOLDERS.flatMap((folder) => testsIn(root, folder)))];
  const found = filters.flatMap((filter) => {
    const path = resolve(root, filter);
    if (!existsSync(path)) throw new Error(`no such test file or folder: ${filter}`);
    return statSync(path).isDirectory() ? testsIn(root, relative(root, path)) : [path];
  });
  return [...new Set(found)];
}

/**
 * Kinds of tests, and most files of a process: scenarios are long, and all cores are to be busy until the end. Those of the
 * portal share a deployment and a browser in their process.
 */
const KINDS = [
  { folder: "test/scenario/portal/", filesPerProcess: 5 },
  { folder: "test/scenario/", filesPerProcess: 5 },
  { folder: "test/integration/", filesPerProcess: 8 },
  { folder: "", filesPerProcess: 16 },
];
/** Marks a test file that needs a process of its own: a comment that says why it changes or measures its process. */
const ALONE = /^\/\/ Alone in its process: /m;

/**
 * The files of each process: several of one kind together, but for those that need a process of their own. Neighbours
 * go to different processes, since the slow ones lie beside each other.
 */
export function inProcesses(root: string, files: string[]): string[][] {
  const kindOf = (file: string) => KINDS.findIndex(({ folder }) => relative(root, file).startsWith(folder));
  const isAlone = (file: string) => ALONE.test(readFileSync(file, "utf8"));
  return KINDS.flatMap(({ filesPerProcess }, kind) => {
    const ofKind = files.filter((file) => kindOf(file) === kind);
    const shared = ofKind.filter((file) => !isAlone(file));
    const count = Math.ceil(shared.length / filesPerProcess);
    const together = Array.from({ length: count }, (_, at) => shared.filter((_, i) => i % count === at));
    return [...ofKind.filter(isAlone).map((file) => [file]), ...together];
  });
}
