import { type SpawnOptions, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import type { Guard } from "./guard.ts";

export interface ServiceProcess {
  readonly pid: number;
  /** How the process ended, e.g. `exit code 1`; null while it runs. */
  readonly ended: string | null;
  readonly exited: Promise<string>;
  /** The last lines of its log. */
  lastLines(): string;
}

export interface ServiceSpec {
  command: string;
  args: string[];
  env: Record<string, string | undefined>;
  /** Its standard output and error go here, emptied first: no pipe to us, so that it can outlive us until the guard comes. */
  logFile: string;
  stopSignal: NodeJS.Signals;
  stopGraceMs: number;
  guard: Guard;
  stdin?: string;
  cwd?: string;
  user?: { uid: number; gid: number };
}

const READY_POLL_MS = 25;

/** Starts a service in a session of its own, so that Ctrl-C reaches the launcher first, and has the guard hold it. */
export function startService(spec: ServiceSpec): ServiceProcess {
  const log = openSync(spec.logFile, "w", 0o600);
  const options: SpawnOptions = {
    detached: true,
    env: { ...spec.env, ...spec.guard.env },
    cwd: spec.cwd ?? "/",
    stdio: [spec.stdin === undefined ? "ignore" : "pipe", log, log],
    ...spec.user,
  };
  const child = spawn(spec.command, spec.args, options);
  closeSync(log);
  let ended: string | null = null;
  const exited = new Promise<string>((resolve) => {
    const finish = (how: string) => {
      ended = how;
      resolve(how);
    };
    child.once("error", (error) => finish(error.message));
    child.once("exit", (code, signal) => finish(signal === null ? `exit code ${code}` : signal));
  });
  if (child.pid !== undefined) spec.guard.hold(child.pid, spec.stopSignal, spec.stopGraceMs);
  if (spec.stdin !== undefined) {
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(spec.stdin);
  }
  return {
    pid: child.pid ?? 0,
    get ended() {
      return ended;
    },
    exited,
    lastLines: () => readFileSync(spec.logFile, "utf8").trim().split("\n").slice(-8).join("\n"),
  };
}

/**
 * Asks `ready` until it says true.
 * @throws Error with the service's last lines when it ends, or is not ready within `withinMs`.
 */
export async function untilReady(
  name: string,
  service: ServiceProcess,
  withinMs: number,
  ready: () => Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await ready())) {
    if (service.ended !== null)
      throw new Error(`${name} ended at start (${service.ended}):\n${service.lastLines()}`);
    if (Date.now() > deadline)
      throw new Error(`${name} was not ready within ${withinMs / 1000} s:\n${service.lastLines()}`);
    await wait(READY_POLL_MS);
  }
}
