// npm run compat [-- --only NAME[,NAME...]] [--write]
//
// Runs the tests that touch a store against each server that rcpt supports, one after the other, at low priority, and
// prints a line of figures for each. The servers come from the registries (npm, Debian, Go) into .rcpt/cache; one that
// is unavailable here is named and skipped. `--write` writes the lines into docs/compatibility.md; logs are in
// .rcpt/compat. Exit codes: 0 all runs passed, 1 one failed, 2 wrong arguments.
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { join, resolve } from "node:path";
import { type CompatOptions, readCompatOptions } from "./compat/options.ts";
import type { Fetching } from "./compat/programs.ts";
import type { Prepared, Server } from "./compat/servers.ts";
import { HEADER, lineOf, type Outcome, totalsOf, withLines } from "./compat/table.ts";
import { type Guard, startGuard } from "./embedded/guard.ts";
import { runGuarded } from "./embedded/guarded.ts";

const ROOT = resolve(import.meta.dirname, "..");
const CACHE = join(ROOT, ".rcpt/cache/compat");
const LOGS = join(ROOT, ".rcpt/compat");
const PAGE = join(ROOT, "docs/compatibility.md");
const PRIORITY = 5;
const STOP_GRACE_MS = 60_000;

/** Runs the test runner, all it prints into a file. @returns its exit code and that text */
async function runTests(tests: readonly string[], env: Prepared["env"], file: string, guard: Guard) {
  const log = openSync(file, "w");
  const child = spawn(process.execPath, ["--import", "tsx", "scripts/test.ts", ...tests], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  if (child.pid !== undefined) guard.hold(child.pid, "SIGTERM", STOP_GRACE_MS);
  const code = await new Promise<number | null>((end, fail) => {
    child.once("error", fail);
    child.once("exit", end);
  });
  return { code, output: readFileSync(file, "utf8") };
}

/** Tests the service against `server`, and ends its processes. @returns the outcome; null: the server is not available here */
async function tryServer(server: Server, stop: AbortSignal): Promise<(Outcome & { isWell: boolean }) | null> {
  const guard = startGuard();
  const fetching: Fetching = { cacheDir: CACHE, guard, stop };
  const end = () => void guard.end();
  stop.addEventListener("abort", end);
  try {
    const prepared = await server.prepare(fetching).catch((error: Error) => {
      stop.throwIfAborted();
      console.log(`did not run  ${server.name}: ${error.message.trim()}`);
      return null;
    });
    if (prepared === null) return null;
    const startedMs = performance.now();
    const file = join(LOGS, `${server.name}.log`);
    const { code, output } = await runTests(server.tests, prepared.env, file, guard);
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    const isRight = (/^services: (.*)$/m.exec(output)?.[1] ?? "").includes(prepared.runsOn);
    if (!isRight) console.log(`${server.name}: the tests did not run on ${prepared.runsOn}: see ${file}`);
    for (const line of output.split("\n").filter((line) => line.startsWith("not ok "))) console.log(line);
    const totals = totalsOf(output, server.knownFailures) ?? { passed: 0, failed: 0, known: 0 };
    const date = new Date().toISOString().slice(0, 10);
    // The test runner fails by known failures too.
    const isWell = isRight && totals.failed === 0 && (code === 0 || totals.known > 0);
    return { name: server.name, version: prepared.version, ...totals, seconds, date, isWell };
  } finally {
    stop.removeEventListener("abort", end);
    await guard.end();
  }
}

async function tryAll({ servers, write }: CompatOptions, stop: AbortSignal): Promise<number> {
  setPriority(PRIORITY);
  for (const folder of [CACHE, LOGS]) mkdirSync(folder, { recursive: true });
  let exitCode = 0;
  console.log(HEADER.join("\n"));
  for (const server of servers) {
    const outcome = await tryServer(server, stop);
    stop.throwIfAborted();
    if (outcome === null) continue;
    console.log(lineOf(outcome));
    if (write) writeFileSync(PAGE, withLines(readFileSync(PAGE, "utf8"), [outcome]));
    if (!outcome.isWell) exitCode = 1;
  }
  return exitCode;
}

function readOptions(): CompatOptions {
  try {
    return readCompatOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`rcpt: ${(error as Error).message}\nusage: npm run compat [-- --only NAME,...] [--write]`);
    process.exit(2);
  }
}

const options = readOptions();
runGuarded((_guard, stop) => tryAll(options, stop), { interruptedCode: 130 });
