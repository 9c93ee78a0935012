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

/** A process with a test file needs 0.1 to 0.4 s of CPU before its first test. */
const FILES_PER_PROCESS = 16;
/**
 * Marks a test file that needs a process of its own: a comment that says why it changes or measures its process; or
 * hooks, which would apply to all files after it.
 */
const ALONE = /^(?:\/\/ Alone in its process: |(?:before|after|beforeEach|afterEach)\()/m;

/** The files of each process, in their order: several of test/unit together, any other by itself. */
export function inProcesses(root: string, files: string[]): string[][] {
  const isShared = (file: string) =>
    relative(root, file).startsWith("test/unit/") && !ALONE.test(readFileSync(file, "utf8"));
  const shared = files.filter(isShared);
  const batches = files.filter((file) => !isShared(file)).map((file) => [file]);
  for (let at = 0; at < shared.length; at += FILES_PER_PROCESS)
    batches.push(shared.slice(at, at + FILES_PER_PROCESS));
  return batches;
}
