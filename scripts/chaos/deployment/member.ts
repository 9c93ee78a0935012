import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import type { ChildRole, RoleReady } from "../../../src/supervisor.ts";
import type { Guard } from "../../embedded/guard.ts";
import { type ClockLibrary, moveClock } from "./clock-library.ts";

/** Settings, folders and tools that all processes of a run share. */
export interface MemberContext {
  guard: Guard;
  /** `main.js` as it was built. */
  entry: string;
  /** A folder of this run. */
  dir: string;
  /** Folder for the logs. */
  logsDir: string;
  settings: Record<string, string>;
  /** null: clocks cannot be moved here. */
  clock: ClockLibrary | null;
  /** Whether processes may have a small disk of their own: a tmpfs in their own mount namespace. */
  ownDisks: boolean;
}

/** One process of the service. */
export interface Running {
  pid: number;
  exited: Promise<string>;
  ended(): boolean;
}

/** The process ended before it served. */
export class StartError extends Error {
  /** A signal's name, or `exit code 1`. */
  readonly how: string;
  constructor(name: string, how: string) {
    super(`${name} ended before it served (${how})`);
    this.how = how;
  }
}

const READY_WITHIN_MS = 90_000;
const END_WITHIN_MS = 30_000;
export const DISK_MB = 8;

/** A place of the deployment: a role with its port and folders, in which one process comes after another. */
export class Member {
  readonly name: string;
  readonly role: ChildRole;
  readonly port: number;
  /** Never killed and never rolled: what leaks with time shows in it. */
  readonly survives: boolean;
  readonly clockFile: string;
  readonly scratch: string;
  readonly #context: MemberContext;
  #child: ChildProcess | null = null;
  /** True while a fault acts on the process, so that no second one is chosen for it. */
  busy = false;
  /** Number of processes started so far. */
  starts = 0;
  /** Unrequested ends of processes that served. */
  readonly crashes: string[] = [];
  #mayEnd = true;

  constructor(role: ChildRole, number: number, port: number, context: MemberContext) {
    this.name = `${role}-${number}`;
    this.role = role;
    this.port = port;
    this.survives = number === 0;
    this.#context = context;
    this.clockFile = join(context.dir, `${this.name}.clock`);
    this.scratch = join(context.dir, `${this.name}.scratch`);
    mkdirSync(this.scratch, { recursive: true });
    moveClock(this.clockFile, 0);
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Path of the process' scratch folder from outside its mount namespace. */
  get scratchSeen(): string {
    return this.#context.ownDisks ? `/proc/${this.pid}/root${this.scratch}` : this.scratch;
  }

  #command(): { command: string; args: string[] } {
    const { clock, entry, ownDisks } = this.#context;
    const preload = clock === null ? {} : clock.env(this.clockFile);
    if (!ownDisks) return { command: process.execPath, args: [entry] };
    // The library is for Node.js alone: `env` puts it on at the last step.
    const words = Object.entries(preload).map(([name, value]) => `${name}=${value}`);
    const script = `mount -t tmpfs -o size=${DISK_MB}m,mode=0700 scratch "$0" && exec env "$@"`;
    const args = ["--mount", "--", "sh", "-c", script, this.scratch, ...words, process.execPath, entry];
    return { command: "unshare", args };
  }

  /** Starts a process in this place; resolves once it serves. @throws StartError when it ends before */
  async start(): Promise<void> {
    const { guard, settings, clock, logsDir, ownDisks } = this.#context;
    const log = openSync(join(logsDir, `${this.name}.log`), "a");
    const { command, args } = this.#command();
    const child = spawn(command, args, {
      env: {
        PATH: process.env.PATH,
        AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
        ...guard.env,
        ...settings,
        ...(clock !== null && !ownDisks ? clock.env(this.clockFile) : {}),
        ROLE: this.role,
        PORT: String(this.port),
        METRICS_PORT: "0",
        SCRATCH_DIR: this.scratch,
      },
      stdio: ["ignore", log, log, "ipc"],
    });
    closeSync(log);
    const { pid } = child;
    if (pid === undefined) throw new Error(`${this.name} cannot be started`);
    guard.hold(pid, "SIGTERM", END_WITHIN_MS);
    this.#child = child;
    this.#mayEnd = true;
    this.starts += 1;
    const exited = once(child, "exit").then(([code, signal]) => {
      const how = String(signal ?? `exit code ${code}`);
      clock?.tidy(pid);
      if (this.#child === child) this.#child = null;
      if (!this.#mayEnd) this.crashes.push(how);
      return how;
    });
    const late = AbortSignal.timeout(READY_WITHIN_MS);
    const ready = once(child, "message", { signal: late }).then(([message]) => message as RoleReady);
    const ended = exited.then((how) => {
      throw new StartError(this.name, how);
    });
    await Promise.race([ready, ended]);
    this.#mayEnd = false;
    ended.catch(() => undefined);
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  /** Ends the process; resolves to how it ended. By force when it takes longer than it may. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<string> {
    const child = this.#child;
    if (child === null) return "was gone";
    this.#mayEnd = true;
    const exited = once(child, "exit");
    child.kill(signal);
    const force = setTimeout(() => child.kill("SIGKILL"), END_WITHIN_MS);
    const [code, by] = await exited;
    clearTimeout(force);
    return String(by ?? `exit code ${code}`);
  }
}
