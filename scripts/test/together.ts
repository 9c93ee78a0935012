// Runs the named test files one after the other in this process, so that their imports are loaded and compiled only once.
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { END_OF_FILE, written } from "./told.ts";

for (const path of process.argv.slice(2)) {
  let fault: unknown = null;
  await import(pathToFileURL(path).href).catch((error: unknown) => {
    fault = error ?? new Error("it threw nothing");
  });
  const isWritten = written(path);
  // Top-level tests run in the order in which they are made: this one ends when all of the file have ended.
  await test(path, () => {
    if (fault !== null) throw fault;
  });
  // The next file may end the process.
  await isWritten;
  process.stdout.write(END_OF_FILE);
  process.stderr.write(END_OF_FILE);
}
