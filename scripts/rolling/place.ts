import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { ChildRole } from "../../src/supervisor.ts";
import type { Guard } from "../embedded/guard.ts";

/** What all processes of a run have in common. */
export interface Grounds {
  guard: Guard;
  /** `main.js` as it was built. */
  entry: string;
  /** Folder for the logs. */
  logsDir: string;
  settings: Record<string, string>;
}

/** How a process was replaced by the next, in milliseconds. */
export interface Restart {
  role: ChildRole;
  /** From SIGTERM to the exit. */
  endedMs: number;
  /** From the start to readiness. */
  startedMs: number;
  /** `exit code 0` when all is well. */
  exit: string;
}

const READY_WITHIN_MS = 90_000;
const READY_POLL_MS = 50;
const PROBE_WITHIN_MS = 2_000;
/** More than SHUTDOWN_GRACE_MS. */
const END_WITHIN_MS = 40_000;

/** A place of the deployment, with its ports, in which one process comes after another. */
export class Place {
  readonly name: string;
  readonly role: ChildRole;
  readonly port: number;
  readonly #metricsPort: number;
  readonly #grounds: Grounds;
  #child: ChildProcess | null = null;
  #exit: Promise<string> = Promise.resolve("never started");

  constructor(
    role: ChildRole,
    number: number,
    ports: { port: number; metricsPort: number },
    grounds: Grounds,
  ) {
    this.name = `${role}${number}`;
    this.role = role;
    this.port = ports.port;
    this.#metricsPort = ports.metricsPort;
    this.#grounds = grounds;
  }

  /** Asked as a kubelet asks: by the port that every role has. */
  async #isReady(): Promise<boolean> {
    try {
      const signal = AbortSignal.timeout(PROBE_WITHIN_MS);
      const headers = { connection: "close" };
      const response = await fetch(`http://127.0.0.1:${this.#metricsPort}/readyz`, { signal, headers });
      await response.arrayBuffer();
      return response.status === 200;
    } catch {
      return false;
    }
  }

  /** Starts a process here; resolves once it says that it is ready. @throws Error when it ends before */
  async start(): Promise<void> {
    const { guard, entry, logsDir, settings } = this.#grounds;
    const log = openSync(join(logsDir, `${this.name}.log`), "a");
    const child = spawn(process.execPath, [entry], {
      env: {
        PATH: process.env.PATH,
        AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
        ...guard.env,
        ...settings,
        ROLE: this.role,
        PORT: String(this.port),
        METRICS_PORT: String(this.#metricsPort),
      },
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    if (child.pid === undefined) throw new Error(`${this.name} cannot be started`);
    guard.hold(child.pid, "SIGTERM", END_WITHIN_MS);
    this.#child = child;
    this.#exit = once(child, "exit").then(([code, signal]) => {
      if (this.#child === child) this.#child = null;
      return String(signal ?? `exit code ${code}`);
    });
    const deadlineMs = performance.now() + READY_WITHIN_MS;
    while (!(await this.#isReady())) {
      if (this.#child !== child) throw new Error(`${this.name} ended before it served: ${await this.#exit}`);
      if (performance.now() > deadlineMs) throw new Error(`${this.name} was not ready in time`);
      await wait(READY_POLL_MS);
    }
  }

  /** Resolves to how it ended: by force when SIGTERM was not enough. */
  async stop(): Promise<string> {
    const child = this.#child;
    if (child === null) return `was gone: ${await this.#exit}`;
    child.kill("SIGTERM");
    const force = setTimeout(() => child.kill("SIGKILL"), END_WITHIN_MS);
    const exit = await this.#exit;
    clearTimeout(force);
    return exit;
  }

  async restart(): Promise<Restart> {
    const begunMs = performance.now();
    const exit = await this.stop();
    const endedMs = performance.now();
    await this.start();
    return { role: this.role, endedMs: endedMs - begunMs, startedMs: performance.now() - endedMs, exit };
  }
}
