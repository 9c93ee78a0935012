import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { startOf } from "../processes.mjs";

export interface Guard {
  readonly pid: number;
  /** Environment that marks every process of this run, so that the guard finds those that it was not told to hold. */
  readonly env: { RCPT_RUN: string };
  /**
   * Ends process `pid` by `signal`, and by SIGKILL after `graceMs`, once this launcher is done or dead.
   * @throws Error when the end has begun; the process is killed at once.
   */
  hold(pid: number, signal: NodeJS.Signals, graceMs: number): void;
  /** Removes a folder or file at the end. */
  removeAtEnd(path: string): void;
  /** Ends everything held, last first; resolves when all of it, the guard too, is gone. Idempotent. */
  end(): Promise<void>;
}

const GUARD_FILE = fileURLToPath(new URL("./guard.mjs", import.meta.url));

/** Starts the guard of this process, and another in its place should it be killed. See `guard.mjs` for what it does. */
export function startGuard(): Guard {
  const mark = randomUUID();
  const told: object[] = [{ mark: `RCPT_RUN=${mark}` }];
  let ending = false;
  let child = launch();

  function launch() {
    const guard = spawn(process.execPath, [GUARD_FILE], {
      detached: true,
      cwd: "/",
      env: { PATH: process.env.PATH },
      stdio: ["pipe", "ignore", "ignore"],
    });
    if (guard.pid === undefined) throw new Error("cannot start the guard process");
    guard.unref();
    // The guard that this was written to was killed: its successor gets every message again.
    guard.stdin.on("error", () => undefined);
    guard.once("exit", () => {
      if (!ending) child = launch();
    });
    for (const message of told) guard.stdin.write(`${JSON.stringify(message)}\n`);
    return guard;
  }

  function tell(message: object): void {
    told.push(message);
    child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  return {
    get pid() {
      return child.pid ?? 0;
    },
    env: { RCPT_RUN: mark },
    hold(pid, signal, graceMs) {
      if (ending) {
        process.kill(pid, "SIGKILL");
        throw new Error("this run is being stopped");
      }
      const start = startOf(pid);
      if (start !== null) tell({ hold: { pid, start, signal, graceMs } });
    },
    removeAtEnd: (path) => tell({ remove: path }),
    async end() {
      ending = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.ref();
      child.stdin.end();
      await once(child, "exit");
    },
  };
}
