import { mkdirSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import type { DebianProgram } from "../embedded/debian-package.ts";
import type { Guard } from "../embedded/guard.ts";
import { PortTakenError, withFreePort } from "../embedded/ports.ts";
import { findProgram, type Program } from "../embedded/program.ts";
import { runsAsRoot } from "../embedded/reachable.ts";
import { startService, untilReady } from "../embedded/service.ts";

const READY_WITHIN_MS = 30_000;
const STOP_GRACE_MS = 3_000;

interface Kind {
  program: DebianProgram;
  versionFlag: string;
  args(file: string, folder: string): string[];
}

const KINDS = {
  nginx: {
    program: { name: "nginx", path: "usr/sbin/nginx" },
    versionFlag: "-v",
    args: (file, folder) => ["-p", folder, "-e", "stderr", "-c", file],
  },
  haproxy: {
    program: { name: "haproxy", path: "usr/sbin/haproxy" },
    versionFlag: "-v",
    args: (file) => ["-db", "-f", file],
  },
  caddy: {
    program: { name: "caddy", path: "usr/bin/caddy" },
    versionFlag: "version",
    args: (file) => ["run", "--adapter", "caddyfile", "--config", file],
  },
} as const satisfies Record<string, Kind>;

export type ProxyName = keyof typeof KINDS;

/** From PATH, or the distribution's package. @throws Error one line: it cannot be had here */
export function findProxy(
  name: ProxyName,
  options: { folder: string; guard: Guard; say(line: string): void },
): Promise<Program> {
  const { program, versionFlag } = KINDS[name];
  return findProgram(program, options, versionFlag);
}

/** An nginx in the foreground that keeps its files in `folder`, around what its part `http` has. */
export function nginxAround(folder: string, http: string): string {
  const file = (name: string) => JSON.stringify(join(folder, name));
  return [
    "daemon off;",
    "worker_processes 1;",
    ...(runsAsRoot() ? ["user root;"] : []),
    `pid ${file("nginx.pid")};`,
    "events { worker_connections 4000; }",
    "http {",
    "access_log off;",
    ...["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${file(name)};`),
    http,
    "}",
  ].join("\n");
}

function connects(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, "127.0.0.1");
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}

export interface RunningProxy {
  /** On 127.0.0.1. */
  port: number;
  pid: number;
  lastLines(): string;
  stop(): Promise<void>;
}

export interface ProxyOptions {
  /** For configuration and log; made if missing, removed by the caller. */
  folder: string;
  guard: Guard;
  /** The configuration that listens on `port` of 127.0.0.1. */
  configure(port: number): string | Promise<string>;
}

/** Resolves once the proxy takes connections. */
export function startProxy(
  name: ProxyName,
  { binary, env }: Program,
  { folder, guard, configure }: ProxyOptions,
): Promise<RunningProxy> {
  mkdirSync(folder, { recursive: true });
  return withFreePort(async (port) => {
    const file = join(folder, "configuration");
    writeFileSync(file, `${await configure(port)}\n`);
    const service = startService({
      command: binary,
      args: KINDS[name].args(file, folder),
      // Caddy stores its last configuration in its home.
      env: { ...env, HOME: folder },
      logFile: join(folder, "log"),
      stopSignal: "SIGTERM",
      stopGraceMs: STOP_GRACE_MS,
      guard,
    });
    try {
      await untilReady(name, service, READY_WITHIN_MS, () => connects(port));
    } catch (error) {
      if (/Address already in use|cannot bind/i.test(service.lastLines()))
        throw new PortTakenError(String(error));
      throw error;
    }
    return {
      port,
      pid: service.pid,
      lastLines: () => service.lastLines(),
      async stop() {
        if (service.ended === null) process.kill(service.pid, "SIGTERM");
        await service.exited;
      },
    };
  });
}
