import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { unpackedFolder } from "../../../scripts/embedded/debian-package.ts";
import { commandOf, startOf } from "../../../scripts/processes.mjs";

const ROOT = resolve(import.meta.dirname, "../../..");
const UP_WITHIN_MS = 240_000;
const GONE_WITHIN_MS = 120_000;
let parent: string;
/** A project with the real scripts and a small service, in a folder with a space in its name. */
let project: string;
const started: ChildProcess[] = [];

/** Folders in the project's root that hold workspaces. */
function workspaceFolders(): string[] {
  const { workspaces } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    workspaces: string[];
  };
  return [...new Set(workspaces.map((path) => path.split("/")[0] ?? ""))];
}

before(() => {
  parent = mkdtempSync(join(tmpdir(), "rcpt-launcher-"));
  chmodSync(parent, 0o755);
  project = join(parent, "my project");
  mkdirSync(project);
  for (const name of ["scripts", "src", "package.json", "package-lock.json"])
    cpSync(join(ROOT, name), join(project, name), { recursive: true });
  cpSync(join(import.meta.dirname, "entry.fixture.ts"), join(project, "src/main.ts"));
  // All that is installed: what the launcher took for missing it would install, over what the links lead to.
  for (const name of ["node_modules", ...workspaceFolders()])
    symlinkSync(join(ROOT, name), join(project, name));
  cpSync(join(ROOT, "dist/portal"), join(project, "dist/portal"), { recursive: true });
  // What was downloaded earlier need not be again. The rest of the folder may change under the copy.
  const redisOf = (root: string) => unpackedFolder(join(root, ".rcpt/cache"), "redis");
  if (existsSync(redisOf(ROOT)))
    cpSync(redisOf(ROOT), redisOf(project), { recursive: true, verbatimSymlinks: true });
});

afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGTERM");
      await once(child, "exit");
    }
  }
  await untilNothingRuns();
});

after(() => rmSync(parent, { recursive: true, force: true, maxRetries: 5 }));

/** Processes whose command line names the project, or that serve its data. */
function running(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((name) => ({ pid: Number(name), command: commandOf(Number(name)) }))
    .filter(({ pid, command }) => command.includes(project) && startOf(pid) !== null)
    .map(({ pid, command }) => `${pid} ${command}`);
}

async function untilNothingRuns(): Promise<void> {
  const deadline = Date.now() + GONE_WITHIN_MS;
  while (running().length > 0 && Date.now() < deadline) await wait(20);
  assert.deepEqual(running(), []);
}

interface Run {
  child: ChildProcess;
  output: () => string;
}

function npmStart(): Run {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(RCPT_|NODE_)/.test(name)),
  );
  const child = spawn(process.execPath, ["scripts/run.mjs", "start"], {
    cwd: project,
    // A process group of its own, as a terminal gives it.
    detached: true,
    env: { ...env, DNS_SERVERS: "127.0.0.1:1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk) => {
      output += chunk;
    });
  started.push(child);
  return { child, output: () => output };
}

/** A run that is up: where, and with which key. */
async function up(run: Run): Promise<{ url: string; key: string; pid: number }> {
  const deadline = Date.now() + UP_WITHIN_MS;
  while (!run.output().includes("Stop it with Ctrl-C")) {
    if (run.child.exitCode !== null || Date.now() > deadline) assert.fail(`not up:\n${run.output()}`);
    await wait(20);
  }
  const url = /rcpt is up: +(\S+)/.exec(run.output())?.[1] ?? "";
  const key = /test key: +(\S+)/.exec(run.output())?.[1] ?? "";
  return { url, key, pid: Number(await (await fetch(url)).text()) };
}

function killGroup({ child }: Run, signal: NodeJS.Signals): void {
  process.kill(-(child.pid ?? assert.fail("never started")), signal);
}

const leftInHome = () => readdirSync(join(project, ".rcpt")).filter((name) => /^(lock|env)$/.test(name));

test("Ctrl-C ends everything, and the next run has the same keys", async () => {
  const first = npmStart();
  const { key } = await up(first);
  assert.match(first.output(), /cannot be told: no mail exchanger/);
  const envFile = join(project, ".rcpt/env");
  assert.match(readFileSync(envFile, "utf8"), /^DATABASE_URL='postgres:\/\/.*^S3_BUCKET='rcpt'$/ms);
  assert.equal(statSync(envFile).mode & 0o777, 0o600);
  killGroup(first, "SIGINT");
  const [code] = await once(first.child, "exit");
  assert.equal(code, 0);
  await untilNothingRuns();
  assert.deepEqual(leftInHome(), []);

  const second = npmStart();
  assert.equal((await up(second)).key, key);
  killGroup(second, "SIGINT");
  await once(second.child, "exit");
});

test("a second run in the same folder is refused, and does the first no harm", async () => {
  const first = npmStart();
  const { url, pid } = await up(first);
  const second = npmStart();
  const [code] = await once(second.child, "exit");
  assert.equal(code, 1);
  assert.match(second.output(), /runs in this folder already \(process \d+\)/);
  assert.equal(await (await fetch(url)).text(), String(pid));
  assert.deepEqual(leftInHome().sort(), ["env", "lock"]);
});

test("after a SIGKILL of everything in the terminal the next run waits for the guard, then works", async () => {
  const first = npmStart();
  const { key, pid } = await up(first);
  killGroup(first, "SIGKILL");
  const second = npmStart();
  const again = await up(second);
  assert.equal(again.key, key);
  assert.notEqual(again.pid, pid);
  assert.equal(startOf(pid), null);
});

test("when its parent process is killed, everything ends", async () => {
  const first = npmStart();
  const { pid } = await up(first);
  // The launcher itself; run.mjs sees it end, and the guard ends the rest.
  first.child.kill("SIGKILL");
  await untilNothingRuns();
  assert.equal(startOf(pid), null);
  assert.deepEqual(leftInHome(), []);
});

test("when the service dies the run ends with an error and leaves nothing", async () => {
  const first = npmStart();
  const { pid } = await up(first);
  process.kill(pid, "SIGKILL");
  const [code] = await once(first.child, "exit");
  assert.equal(code, 1);
  assert.match(first.output(), /the service ended \(SIGKILL\)/);
});
