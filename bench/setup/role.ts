import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { ChildRole, RoleReady } from "../../src/supervisor.ts";
import type { ChildHost } from "./child.ts";
import { SERVICE } from "./compile.ts";

/** A role of the service in a process of its own, as production runs it. */
export interface RoleProcess {
  pid: number;
  /** null: the role has no port. */
  port: number | null;
  end(): Promise<void>;
}

const END_WITHIN_MS = 30_000;

/**
 * Starts `main.js` of the compiled project; its log goes to standard error of this run.
 * @param settings should include LOG_LEVEL: at `info` the log is long
 * @throws Error when it ends before it is ready
 */
export async function startRole(
  { guard, compiledDir, profileDir }: ChildHost,
  role: ChildRole,
  settings: Record<string, string>,
): Promise<RoleProcess> {
  const child = fork(join(compiledDir, SERVICE), [], {
    execArgv: profileDir === null ? [] : ["--cpu-prof", `--cpu-prof-dir=${join(profileDir, role)}`],
    env: { PATH: process.env.PATH, ...guard.env, ...settings, ROLE: role },
    stdio: ["ignore", process.stderr, "inherit", "ipc"],
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`the role ${role} cannot be started`);
  guard.hold(pid, "SIGTERM", END_WITHIN_MS);
  const exited = once(child, "exit");
  const ended = exited.then(([code, signal]) => {
    throw new Error(`the role ${role} ended before it was ready (${signal ?? code})`);
  });
  const ready = once(child, "message").then(([message]) => message as RoleReady);
  const { port } = await Promise.race([ready, ended]);
  ended.catch(() => undefined);
  return {
    pid,
    port,
    async end() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGTERM");
      const force = setTimeout(() => child.kill("SIGKILL"), END_WITHIN_MS);
      await exited;
      clearTimeout(force);
    },
  };
}
