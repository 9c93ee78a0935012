import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Guard } from "../embedded/guard.ts";
import type { Program } from "../embedded/program.ts";
import { nginxAround, type ProxyName, type RunningProxy, startProxy } from "./proxy.ts";

const PAGE = join(import.meta.dirname, "../../docs/proxies.md");
/** Address of the API in every configuration of the page. */
const API_ADDRESS = "127.0.0.1:8080";

interface Shown {
  /** The listening address as the page has it, and its replacement. */
  listens: string;
  listensAt(port: number): string;
  /** The page shows what concerns us; this is put around it so that it runs anywhere, as anybody. */
  wrap(text: string, folder: string): string;
}

const SHOWN: Record<ProxyName, Shown> = {
  nginx: {
    listens: "listen 80;",
    listensAt: (port) => `listen 127.0.0.1:${port};`,
    wrap: (text, folder) => nginxAround(folder, text),
  },
  haproxy: {
    listens: "bind :80",
    listensAt: (port) => `bind 127.0.0.1:${port}`,
    wrap: (text) => `global\n    maxconn 1000\n    nbthread 1\n${text}`,
  },
  caddy: {
    listens: ":80 {",
    listensAt: (port) => `http://127.0.0.1:${port} {`,
    wrap: (text) => `{\n    admin off\n}\n${text}`,
  },
};

export const DOCUMENTED_PROXIES = Object.keys(SHOWN) as ProxyName[];

/**
 * The configuration in docs/proxies.md, unchanged except for its two addresses.
 * @throws Error when the page does not have it exactly once, or it does not name each address once
 */
export function documentedConfiguration(
  name: ProxyName,
  page: string,
  ports: { clients: number; api: number },
): string {
  const { listens, listensAt } = SHOWN[name];
  const blocks = [...page.matchAll(new RegExp(`^\`\`\`${name}\n([\\s\\S]*?)^\`\`\`$`, "gm"))];
  if (blocks.length !== 1) throw new Error(`docs/proxies.md has ${blocks.length} configurations of ${name}`);
  const replace = (text: string, from: string, to: string) => {
    const parts = text.split(from);
    if (parts.length !== 2)
      throw new Error(`${name}: "${from}" is there ${parts.length - 1} times, not once`);
    return parts.join(to);
  };
  const text = replace(blocks[0]?.[1] ?? "", API_ADDRESS, `127.0.0.1:${ports.api}`);
  return replace(text, listens, listensAt(ports.clients));
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
  name: ProxyName,
  program: Program,
  { folder, apiPort, guard, alter = (text) => text }: DocumentedOptions,
): Promise<RunningProxy> {
  const configure = (clients: number) => {
    const text = documentedConfiguration(name, readFileSync(PAGE, "utf8"), { clients, api: apiPort });
    return SHOWN[name].wrap(alter(text), folder);
  };
  return startProxy(name, program, { folder, guard, configure });
}
