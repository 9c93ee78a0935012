#!/usr/bin/env node
import { runProgram } from "./program.ts";

/** A reader that has enough, such as `head`, closes its end: that is not a failure. */
function endWithReader(stream: NodeJS.WriteStream): void {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(0);
  });
}

endWithReader(process.stdout);
endWithReader(process.stderr);
process.exitCode = await runProgram(process.argv.slice(2), {
  stdout: (text) => process.stdout.write(text),
  stderr: (text) => process.stderr.write(text),
});
