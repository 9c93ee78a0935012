// npm test [-- [--seed N|random] PATH...]: runs the test files under the paths (default: all) against one set of embedded services
// (or of the caller's: scripts/test/services.ts).
import { mkdirSync, mkdtempSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { SETTING_NAMES } from "../src/config/config.ts";
import { type Guard, startGuard } from "./embedded/guard.ts";
import { bundle } from "./image/bundle.ts";
import { commandOf, markedWith, parentOf } from "./processes.mjs";
import { compileTests } from "./test/compile.ts";
import { collectTestFiles } from "./test/files.ts";
import { parseTestOptions } from "./test/options.ts";
import { skippedLines, slowestLines } from "./test/report.ts";
import { runTestFiles } from "./test/runner.ts";
import { judgeLogs } from "./test/secrets.ts";
import { startServices } from "./test/services.ts";

const ROOT = resolve(import.meta.dirname, "..");
/** Waited only when processes were left behind; far more than a process takes after SIGTERM. */
const LEFTOVER_GRACE_MS = 30_000;
/** Fewer lines than a run of all tests logs, and more than a few services log. */
const LOG_LINES_MIN = 1_000;

/**
 * Compiles the service as `npm run build` does, once for all tests that start it. A role then starts in 0.4 s of CPU
 * instead of 2, and the tests run what a deployment runs.
 */
async function compileService(folder: string): Promise<void> {
  await bundle(ROOT, join(folder, "dist"));
  process.env.RCPT_TEST_SERVICE = join(folder, "dist/src/main.js");
}

/** Makes the folder for compiled files: inside the project, so that packages are found. It is removed after the run. */
function makeFolder(guard: Guard): string {
  mkdirSync(join(ROOT, ".rcpt"), { recursive: true });
  const folder = mkdtempSync(join(ROOT, ".rcpt/test-"));
  guard.removeAtEnd(folder);
  return folder;
}

/** Command lines of processes that tests started and did not end; those about to exit are waited for. */
async function leftovers(guard: Guard, services: number[]): Promise<string[]> {
  const mark = `RCPT_RUN=${guard.env.RCPT_RUN}`;
  const find = () =>
    markedWith(mark).filter((pid) => parentOf(pid) !== process.pid && !services.includes(pid));
  const deadline = Date.now() + LEFTOVER_GRACE_MS;
  while (find().length > 0 && Date.now() < deadline) await wait(50);
  return find().map((pid) => `${pid} ${commandOf(pid)}`);
}

/** Prints the faults in the services' logs. @returns true if there are none */
function reportLogs(folder: string, linesMin: number): boolean {
  const { lines, faults } = judgeLogs(folder, linesMin);
  for (const fault of faults) console.log(fault);
  console.log(`${lines} logged lines were looked through for secrets: ${faults.length} faults`);
  return faults.length === 0;
}

/** Runs everything. Resolves to the exit code. */
async function main(stop: AbortSignal): Promise<number> {
  const startedAt = Date.now();
  const { filters, seed } = parseTestOptions(process.argv.slice(2));
  const files = collectTestFiles(ROOT, filters);
  const guard = startGuard();
  console.log(`properties draw by --seed ${seed}`);
  try {
    for (const name of SETTING_NAMES) delete process.env[name];
    const needsServices = files.some((file) => !file.startsWith(join(ROOT, "test/unit")));
    const folder = makeFolder(guard);
    const compiled = await compileTests(ROOT, join(folder, "tests"), files);
    if (needsServices) await compileService(folder);
    const logs = needsServices ? await startServices(ROOT, guard) : null;
    const servicesMs = Date.now() - startedAt;
    const services = markedWith(`RCPT_RUN=${guard.env.RCPT_RUN}`);
    Object.assign(process.env, guard.env, { RCPT_TEST_SEED: String(seed) });
    const { passed, failed, runs } = await runTestFiles(ROOT, compiled, files, stop);
    const left = await leftovers(guard, services);
    for (const line of left) console.log(`left behind: ${line}`);
    for (const line of [...slowestLines(runs, ROOT), ...skippedLines(runs)]) console.log(line);
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
    const upAfter = needsServices ? `, services were up after ${(servicesMs / 1000).toFixed(1)} s` : "";
    console.log(`\n${files.length} files in ${seconds} s${upAfter}`);
    console.log(`${passed} passed, ${failed} failed`);
    const logsAreGood = logs === null || reportLogs(logs, filters.length === 0 ? LOG_LINES_MIN : 0);
    if (passed + failed === 0) console.log("no test ran");
    if (stop.aborted) console.log("stopped before the end");
    return failed > 0 || passed === 0 || left.length > 0 || !logsAreGood || stop.aborted ? 1 : 0;
  } finally {
    await guard.end();
  }
}

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => stop.abort());
main(stop.signal).then(
  (code) => process.exit(code),
  (error: Error) => {
    console.error(`rcpt: ${error.message}`);
    process.exit(1);
  },
);
