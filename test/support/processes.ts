import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { PortTakenError, withFreePort } from "../../scripts/embedded/ports.ts";
import { parentOf, startOf } from "../../scripts/processes.mjs";
import { openLogFile } from "./log.ts";
import { until } from "./until.ts";

/** The service as the test run compiled it; a file that is run by itself takes the sources. */
const ENTRY = process.env.RCPT_TEST_SERVICE ?? resolve(import.meta.dirname, "../../src/main.ts");
const READY_WITHIN_MS = 180_000;
const ALIVE_WITHIN_MS = 120_000;

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** The message that `main` sends to its parent process once it serves. */
interface Ready {
  port: number | null;
  metricsPort: number;
}

/** The service in a process of its own. */
export interface MainProcess {
  pid: number;
  /** `http://127.0.0.1:PORT`. Rejects when it ends before it serves, with what it wrote to standard error. */
  ready: Promise<string>;
  /** The same for the operator's port. */
  metricsUrl: Promise<string>;
  exited: Promise<Exit>;
  /** All of standard error so far. */
  stderr(): string;
  kill(signal: NodeJS.Signals): void;
}

export interface Processes {
  /**
   * Runs `main` with no environment variable of this process but those that Node and the run's guard need.
   * @param entry another build's entry
   */
  start(settings: Record<string, string>, entry?: string): MainProcess;
  /** Kills what still runs. */
  close(): Promise<void>;
}

/** PATH and the like, and the mark by which the run finds processes that are left; no setting. */
function bareEnvironment(): Record<string, string> {
  const kept = ["PATH", "HOME", "TMPDIR", "RCPT_RUN"];
  return Object.fromEntries(kept.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

/** The processes of a test file. */
export function createProcesses(): Processes {
  const running = new Set<ChildProcess>();
  return {
    start(settings, entry = ENTRY) {
      const log = openLogFile(`main-${process.pid}`);
      const child = fork(entry, [], {
        execArgv: entry.endsWith(".ts") ? ["--import", "tsx"] : [],
        env: { ...bareEnvironment(), ...settings },
        stdio: ["ignore", log ?? "ignore", "pipe", "ipc"],
      });
      if (log !== null) closeSync(log);
      running.add(child);
      child.once("exit", () => running.delete(child));
      return watch(child);
    },
    async close() {
      const left = [...running].map((child) => {
        const gone = once(child, "exit");
        child.kill("SIGKILL");
        return gone;
      });
      await Promise.all(left);
    },
  };
}

function watch(child: ChildProcess): MainProcess {
  let errors = "";
  child.stderr?.on("data", (chunk) => {
    errors += chunk;
  });
  // "close" comes once standard error has been read completely.
  const exited = new Promise<Exit>((done) => {
    child.once("close", (code, signal) => done({ code, signal }));
  });
  const told = new Promise<Ready>((serve, fail) => {
    const late = setTimeout(() => fail(new Error(`not ready in time: ${errors}`)), READY_WITHIN_MS);
    child.once("message", (message) => {
      clearTimeout(late);
      serve(message as Ready);
    });
    void exited.then(({ code, signal }) => {
      clearTimeout(late);
      fail(new Error(`ended before it served (${signal ?? code}): ${errors}`));
    });
  });
  const ready = told.then(({ port }) => `http://127.0.0.1:${port}`);
  const metricsUrl = told.then(({ metricsPort }) => `http://127.0.0.1:${metricsPort}`);
  // Not every test awaits them.
  for (const promise of [ready, metricsUrl]) promise.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    ready,
    metricsUrl,
    exited,
    stderr: () => errors,
    kill: (signal) => void child.kill(signal),
  };
}

/** For attempts of `withFreePort`: the error of a process that found its port in use, as one that leads to the next. */
export function orPortTaken(error: unknown): never {
  throw /in use/.test(String(error)) ? new PortTakenError(String(error)) : error;
}

/** A process whose operator's port is known before it is ready. */
export interface LivingProcess {
  main: MainProcess;
  /** Status of a probe on the operator's port. */
  probe(path: "/healthz" | "/readyz"): Promise<number>;
}

/** Starts a process with a port for the operator, and resolves once it is alive. @throws Error when it ends instead */
export function startAlive(start: (METRICS_PORT: string) => MainProcess): Promise<LivingProcess> {
  return withFreePort(async (port) => {
    const main = start(String(port));
    const probe = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
    const ended = new AbortController();
    void main.exited.then(() => ended.abort());
    const looked = () => probe("/healthz").catch(() => 0);
    await until("it lives", async () => ended.signal.aborted || (await looked()) === 200, ALIVE_WITHIN_MS);
    if (ended.signal.aborted) orPortTaken(new Error(`ended before it was alive: ${main.stderr()}`));
    return { main, probe };
  });
}

/** Pids of the living children of `parent` whose environment has ROLE=`role`. */
export function childrenWithRole(parent: number, role: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter(
      (pid) =>
        parentOf(pid) === parent && startOf(pid) !== null && environmentOf(pid).includes(`ROLE=${role}`),
    );
}

function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
  } catch {
    return [];
  }
}
