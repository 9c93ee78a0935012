import { spawn } from "node:child_process";
import type { Guard } from "../embedded/guard.ts";
import { freePort, isPortFree } from "../embedded/ports.ts";
import { isSet, publicUrlSetting } from "./settings.ts";

/** Message of the service over its IPC channel once all roles serve. */
export interface Ready {
  url: string;
  port: number;
  metricsPort: number;
}

export interface Running extends Ready {
  /** Resolves to how the service ended. */
  exited: Promise<string>;
}

export interface EntryOptions {
  root: string;
  /** Command line after `node`. */
  entry: string[];
  env: NodeJS.ProcessEnv;
  guard: Guard;
}

const ATTEMPTS = 3;
const GRACE_DEFAULT_MS = 25_000;
/** Beyond the grace of the service itself, and of its roles. */
const GRACE_EXTRA_MS = 8_000;

async function portNear(preferred: number): Promise<string> {
  return String((await isPortFree(preferred)) ? preferred : await freePort());
}

function isReady(message: unknown): message is Ready {
  return typeof message === "object" && message !== null && "type" in message && message.type === "ready";
}

/** One attempt. Resolves to the running service, or to how it ended before it was ready. */
function launch({ root, entry, env, guard }: EntryOptions): Promise<Running | string> {
  const child = spawn(process.execPath, entry, {
    cwd: root,
    env: { ...env, ...guard.env },
    // A session of its own: Ctrl-C reaches the launcher, which stops the service before what the service needs.
    detached: true,
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const graceMs = Number(env.SHUTDOWN_GRACE_MS) || GRACE_DEFAULT_MS;
  if (child.pid !== undefined) guard.hold(child.pid, "SIGTERM", graceMs + GRACE_EXTRA_MS);
  const exited = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  return new Promise((resolve) => {
    child.on("message", (message) => {
      if (isReady(message)) resolve({ ...message, exited });
    });
    exited.then(resolve);
  });
}

/**
 * Starts the service, all roles, on PORT and METRICS_PORT where set, else on 8080 and 9090, or on free ports where
 * others have those. When a port was taken in between, other ones are tried.
 *
 * @throws Error when the service ends before it is ready; what it had to say is on the terminal.
 */
export async function startEntry(options: EntryOptions): Promise<Running> {
  for (let attempt = 1; ; attempt++) {
    const ports: Record<string, string> = {};
    if (!isSet(options.env, "PORT")) ports.PORT = await portNear(8_080);
    if (!isSet(options.env, "METRICS_PORT")) ports.METRICS_PORT = await portNear(9_090);
    const publicUrl = publicUrlSetting(options.env, ports.PORT ?? options.env.PORT ?? "");
    const outcome = await launch({ ...options, env: { ...options.env, ...ports, ...publicUrl } });
    if (typeof outcome !== "string") return outcome;
    const free = await Promise.all(Object.values(ports).map((port) => isPortFree(Number(port))));
    if (free.every(Boolean) || attempt === ATTEMPTS)
      throw new Error(`the service did not start (${outcome})`);
  }
}
