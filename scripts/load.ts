// npm run load -- --url URL [options]: a load on a deployment of your own, and a report of how it bore it. --help lists the
// options; docs/load-testing.md says how to read the figures. Ctrl-C ends it with a report of what was done; again, at once.
import { load } from "../bench/load.ts";

/** A terminal signals all its processes, and those pass the signal on: one key pressed comes several times. */
const SAME_KEY_MS = 1_000;

const interrupted = new AbortController();
const hurried = new AbortController();
let firstMs = 0;
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    if (!interrupted.signal.aborted) {
      firstMs = performance.now();
      interrupted.abort();
    } else if (performance.now() - firstMs > SAME_KEY_MS) hurried.abort();
  });
}

process.exitCode = await load({
  argv: process.argv.slice(2),
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  interrupted: interrupted.signal,
  hurried: hurried.signal,
});
