import { type ChildProcess, fork } from "node:child_process";
import { childEnvironment, type ProcessRole } from "./config/config.ts";
import { LIMITS } from "./config/limits/limits.ts";
import type { Logger } from "./platform/log.ts";
import type { Clock } from "./platform/time/clock.ts";

/** The message of a role over its IPC channel once it serves. A role without such a port sends null. */
export interface RoleReady {
  type: "ready";
  role: ProcessRole;
  port: number | null;
  metricsPort: number | null;
}

export type ChildRole = Exclude<ProcessRole, "all">;

export interface SupervisorDeps {
  /** The roles to run, a process each. */
  roles: readonly ChildRole[];
  /** The module to run in each process, and how: `process.argv[1]` and `process.execArgv`. */
  entry: string;
  execArgv: string[];
  log: Logger;
  clock: Clock;
  /** Milliseconds a role has to end after SIGTERM. */
  graceMs: number;
}

export interface Supervisor {
  /**
   * Starts every role in a process of its own; resolves when all are ready. A role that ends before it was ready for
   * the first time is not tried again: the error names it.
   */
  start(): Promise<RoleReady[]>;
  /** Has the roles that are being stopped wait for no balancer any more. */
  hurry(): void;
  /** Sends SIGTERM to every role, SIGKILL to those that outlast their grace; resolves when all are gone. Idempotent. */
  stop(): Promise<void>;
  /** Resolves when a role other than `bulk` has failed quickly too often and is given up. The caller stops the rest. */
  readonly gaveUp: Promise<Error>;
}

const { supervisor: limits } = LIMITS;

/** Only the api has the port of the metrics: all cannot have it. */
const SETTINGS: Record<ChildRole, { ROLE: ProcessRole; METRICS_PORT?: string }> = {
  api: { ROLE: "api" },
  bulk: { ROLE: "bulk", METRICS_PORT: "0" },
  relay: { ROLE: "relay", METRICS_PORT: "0" },
};

function isReady(message: unknown): message is RoleReady {
  return typeof message === "object" && message !== null && "type" in message && message.type === "ready";
}

const HURRY = { type: "hurry" } as const;

/** Whether a message over a role's IPC channel says that a person waits for its end. */
export function isHurry(message: unknown): message is typeof HURRY {
  return typeof message === "object" && message !== null && "type" in message && message.type === HURRY.type;
}

/**
 * A customer's work can end this role again and again, until its task is given up: that is no reason to end the other
 * roles.
 */
const ALWAYS_RESTARTED: ChildRole = "bulk";

/** How long to wait before the restart that follows `failures` quick failures in a row, at least one. */
function backoffMs(failures: number): number {
  if (failures > limits.quickFailures) return limits.restartSlowMs;
  return Math.min(limits.restartMaxMs, limits.restartFirstMs * 2 ** (failures - 1));
}

/** Runs the roles of `ROLE=all`, one process each, and restarts what crashes. Roles end when this process does. */
class ProcessSupervisor implements Supervisor {
  readonly #deps: SupervisorDeps;
  readonly #children = new Map<ChildRole, ChildProcess>();
  readonly #quickFailures = new Map<ChildRole, number>();
  /** Roles that were ready once: what ends before that fails the start instead of being restarted. */
  readonly #served = new Set<ChildRole>();
  #stopping: Promise<void> | null = null;
  #keepAlive: NodeJS.Timeout | undefined;
  #giveUp: (error: Error) => void = () => undefined;
  readonly gaveUp = new Promise<Error>((resolve) => {
    this.#giveUp = resolve;
  });

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
  }

  start(): Promise<RoleReady[]> {
    // While a role waits for its restart nothing else may keep this process alive.
    this.#keepAlive = setInterval(() => undefined, 60_000);
    return Promise.all(this.#deps.roles.map((role) => this.#launch(role)));
  }

  hurry(): void {
    // A child that has ended cannot receive it, which is not an error.
    for (const child of this.#children.values()) child.send(HURRY, () => undefined);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  /** Starts a role; resolves when it is ready, rejects when it ends, or keeps silent, before. */
  #launch(role: ChildRole): Promise<RoleReady> {
    const startedMs = this.#deps.clock.monotonic();
    const child = fork(this.#deps.entry, [], {
      execArgv: this.#deps.execArgv,
      env: childEnvironment(SETTINGS[role]),
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#children.set(role, child);
    return new Promise((resolve, reject) => {
      const late = this.#deps.clock.after(limits.readyWithinMs, () => {
        this.#deps.log.error({ role }, "a role was not ready in time");
        child.kill("SIGKILL");
      });
      child.on("message", (message) => {
        if (!isReady(message)) return;
        late.cancel();
        this.#served.add(role);
        resolve(message);
      });
      const ended = (how: string) => {
        late.cancel();
        this.#children.delete(role);
        reject(new Error(`role ${role} ended (${how})`));
        this.#onEnd(role, how, this.#deps.clock.monotonic() - startedMs);
      };
      child.once("error", (error) => {
        if (child.pid === undefined) ended(error.message);
      });
      child.once("exit", (code, signal) => ended(signal ?? `exit code ${code}`));
    });
  }

  #onEnd(role: ChildRole, how: string, afterMs: number): void {
    if (this.#stopping !== null || !this.#served.has(role)) return;
    const failures = afterMs < limits.quickFailureMs ? (this.#quickFailures.get(role) ?? 0) + 1 : 1;
    this.#quickFailures.set(role, failures);
    if (failures > limits.quickFailures && role !== ALWAYS_RESTARTED) {
      this.#giveUp(new Error(`role ${role} failed ${failures} times in a row, the last time with ${how}`));
      return;
    }
    const delayMs = backoffMs(failures);
    this.#deps.log.error({ role, how, failures, delayMs }, "a role ended; it is restarted");
    this.#deps.clock.after(delayMs, () => {
      // An error of the launch is handled by `#onEnd`.
      if (this.#stopping === null) this.#launch(role).catch(() => undefined);
    });
  }

  #stopChild(child: ChildProcess): Promise<void> {
    return new Promise((resolve) => {
      const kill = this.#deps.clock.after(this.#deps.graceMs + limits.killAfterGraceMs, () =>
        child.kill("SIGKILL"),
      );
      child.once("exit", () => {
        kill.cancel();
        resolve();
      });
      child.kill("SIGTERM");
    });
  }

  async #stopAll(): Promise<void> {
    await Promise.all([...this.#children.values()].map((child) => this.#stopChild(child)));
    clearInterval(this.#keepAlive);
  }
}

export function createSupervisor(deps: SupervisorDeps): Supervisor {
  return new ProcessSupervisor(deps);
}
