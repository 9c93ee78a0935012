// Runs the named test files one after the other in this process, each as a suite named by its path. What they import is
// loaded and compiled once, and code that has become fast stays so: 50 to 70 % of the CPU of a process for each.
import { before, beforeEach, describe } from "node:test";
import { pathToFileURL } from "node:url";
import { endProcess } from "./at-end.ts";
import { awayFromMidnight } from "./midnight.ts";
import { END_OF_FILE, written } from "./reporter.ts";

// Node.js reports an error that comes after its test without the place that threw it.
process.on("uncaughtExceptionMonitor", (error) => console.error(error));

for (const path of process.argv.slice(2)) {
  const isWritten = written(path);
  describe(path, () => {
    // Services count by the UTC day: that day must not change during a test.
    before(awayFromMidnight);
    beforeEach(awayFromMidnight);
    return import(pathToFileURL(path).href);
  });
  // The next file may end the process.
  await isWritten;
  process.stdout.write(END_OF_FILE);
  process.stderr.write(END_OF_FILE);
}
await endProcess();
