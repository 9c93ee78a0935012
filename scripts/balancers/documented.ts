import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import type { DebianProgram } from "../embedded/debian-package.ts";
import type { Guard } from "../embedded/guard.ts";
import { PortTakenError, withFreePort } from "../embedded/ports.ts";
import { findProgram, type Program } from "../embedded/program.ts";
import { runsAsRoot } from "../embedded/reachable.ts";
import { startService, untilReady } from "../embedded/service.ts";

const PAGE = join(import.meta.dirname, "../../docs/proxies.md");
/** Address of the API in every configuration of the page. */
const API_ADDRESS = "127.0.0.1:8080";
const READY_WITHIN_MS = 30_000;
const STOP_GRACE_MS = 3_000;

interface Kind {
  program: DebianProgram;
  versionFlag: string;
  /** The listening address as the page has it, and its replacement. */
  listens: string;
  listensAt(port: number): string;
  /** The page shows what concerns us; this is put around it so that it runs anywhere, as anybody. */
  wrap(text: string, folder: string): string;
  args(file: string, folder: string): string[];
}

function wrapNginx(text: string, folder: string): string {
  const file = (name: string) => JSON.stringify(join(folder, name));
  return [
    "daemon off;",
    "worker_processes 1;",
    ...(runsAsRoot() ? ["user root;"] : []),
    `pid ${file("nginx.pid")};`,
    "events { worker_connections 1000; }",
    "http {",
    "access_log off;",
    ...["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${file(name)};`),
    text,
    "}",
  ].join("\n");
}

const KINDS = {
  nginx: {
    program: { name: "nginx", path: "usr/sbin/nginx" },
    versionFlag: "-v",
    listens: "listen 80;",
    listensAt: (port) => `listen 127.0.0.1:${port};`,
    wrap: wrapNginx,
    args: (file, folder) => ["-p", folder, "-e", "stderr", "-c", file],
  },
  haproxy: {
    program: { name: "haproxy", path: "usr/sbin/haproxy" },
    versionFlag: "-v",
    listens: "bind :80",
    listensAt: (port) => `bind 127.0.0.1:${port}`,
    wrap: (text) => `global\n    maxconn 1000\n    nbthread 1\n${text}`,
    args: (file) => ["-db", "-f", file],
  },
  caddy: {
    program: { name: "caddy", path: "usr/bin/caddy" },
    versionFlag: "version",
    listens: ":80 {",
    listensAt: (port) => `http://127.0.0.1:${port} {`,
    wrap: (text) => `{\n    admin off\n}\n${text}`,
    args: (file) => ["run", "--adapter", "caddyfile", "--config", file],
  },
} as const satisfies Record<string, Kind>;

export type DocumentedProxy = keyof typeof KINDS;

export const DOCUMENTED_PROXIES = Object.keys(KINDS) as DocumentedProxy[];

/**
 * The configuration in docs/proxies.md, unchanged except for its two addresses.
 * @throws Error when the page does not have it exactly once, or it does not name each address once
 */
export function documentedConfiguration(
  name: DocumentedProxy,
  page: string,
  ports: { clients: number; api: number },
): string {
  const kind: Kind = KINDS[name];
  const blocks = [...page.matchAll(new RegExp(`^\`\`\`${name}\n([\\s\\S]*?)^\`\`\`$`, "gm"))];
  if (blocks.length !== 1) throw new Error(`docs/proxies.md has ${blocks.length} configurations of ${name}`);
  const replace = (text: string, from: string, to: string) => {
    const parts = text.split(from);
    if (parts.length !== 2)
      throw new Error(`${name}: "${from}" is there ${parts.length - 1} times, not once`);
    return parts.join(to);
  };
  const text = replace(blocks[0]?.[1] ?? "", API_ADDRESS, `127.0.0.1:${ports.api}`);
  return replace(text, kind.listens, kind.listensAt(ports.clients));
}

/** From PATH, or the distribution's package. @throws Error one line: it cannot be had here */
export function findProxy(
  name: DocumentedProxy,
  options: { folder: string; guard: Guard; say(line: string): void },
): Promise<Program> {
  const { program, versionFlag } = KINDS[name];
  return findProgram(program, options, versionFlag);
}

export interface RunningProxy {
  /** On 127.0.0.1. */
  port: number;
  lastLines(): string;
  stop(): Promise<void>;
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

export interface DocumentedOptions {
  /** For configuration and log; removed by the caller. */
  folder: string;
  /** Port of the API on 127.0.0.1. */
  apiPort: number;
  guard: Guard;
  /** Makes another configuration of the page's, to see what goes wrong. */
  alter?(text: string): string;
}

/** Runs a proxy as docs/proxies.md has it. Resolves once it takes connections. */
export function startDocumented(
  name: DocumentedProxy,
  { binary, env }: Program,
  { folder, apiPort, guard, alter = (text) => text }: DocumentedOptions,
): Promise<RunningProxy> {
  const kind: Kind = KINDS[name];
  mkdirSync(folder, { recursive: true });
  return withFreePort(async (port) => {
    const file = join(folder, "configuration");
    const text = documentedConfiguration(name, readFileSync(PAGE, "utf8"), { clients: port, api: apiPort });
    writeFileSync(file, `${kind.wrap(alter(text), folder)}\n`);
    const service = startService({
      command: binary,
      args: kind.args(file, folder),
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
      lastLines: () => service.lastLines(),
      async stop() {
        if (service.ended === null) process.kill(service.pid, "SIGTERM");
        await service.exited;
      },
    };
  });
}
