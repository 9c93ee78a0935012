import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Backend,
  type Balancer,
  type BalancerOptions,
  IDLE_TO_BACKEND_MS,
  PROBE_EVERY_MS,
  requireBackends,
} from "./balancer.ts";
import { findProxy, nginxAround, startProxy } from "./proxy.ts";

const PROBE_WITHIN_MS = 2_000;

/** Every choice of some of the backends, named by theirs: nginx picks one by which are ready. */
function groups(backends: readonly Backend[]): Backend[][] {
  let some: Backend[][] = [[]];
  for (const backend of backends) some = some.concat(some.map((group) => [...group, backend]));
  return some;
}

const readyFile = (folder: string, { name }: Backend) => join(folder, "ready", name);

function upstream(group: readonly Backend[]): string {
  return [
    `  upstream ready${group.map(({ name }) => `_${name}`).join("")} {`,
    ...group.map(({ host, port }) => `    server ${host}:${port} max_fails=0;`),
    "    keepalive 64;",
    `    keepalive_timeout ${IDLE_TO_BACKEND_MS}ms;`,
    "  }",
  ].join("\n");
}

/**
 * nginx has no health checks of its own. An ingress controller has them and updates nginx without a reload, which would
 * close the clients' connections. Here a file for each ready backend does the same: nginx looks for the files at each
 * request and chooses a group by them. It never retries.
 */
export function nginxConfiguration(folder: string, port: number, backends: readonly Backend[]): string {
  const http = [
    "  keepalive_timeout 120s;",
    "  keepalive_requests 1000000;",
    "  client_max_body_size 0;",
    ...groups(backends)
      .filter((group) => group.length > 0)
      .map(upstream),
    "  server {",
    `    listen 127.0.0.1:${port};`,
    '    set $ready "";',
    ...backends.map(
      (backend) =>
        `    if (-f ${JSON.stringify(readyFile(folder, backend))}) { set $ready "\${ready}_${backend.name}"; }`,
    ),
    '    if ($ready = "") { return 503; }',
    "    location / {",
    "      proxy_pass http://ready$ready;",
    "      proxy_http_version 1.1;",
    '      proxy_set_header Connection "";',
    "      proxy_set_header Host $http_host;",
    "      proxy_next_upstream off;",
    "      proxy_request_buffering off;",
    "      proxy_buffering off;",
    "      proxy_connect_timeout 5s;",
    "      proxy_read_timeout 120s;",
    "    }",
    "  }",
  ];
  return nginxAround(folder, http.join("\n"));
}

async function isReady({ host, port }: Backend): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(PROBE_WITHIN_MS);
    // A connection of its own each time, as a kubelet's.
    const response = await fetch(`http://${host}:${port}/readyz`, {
      signal,
      headers: { connection: "close" },
    });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}

/** Checks all backends until closed, and keeps their files up to date; `first` resolves when each was checked once. */
function watch(folder: string, backends: readonly Backend[]) {
  const up = new Set<string>();
  let over = false;
  async function look(backend: Backend): Promise<void> {
    const ready = await isReady(backend);
    if (over || ready === up.has(backend.name)) return;
    if (ready) {
      writeFileSync(readyFile(folder, backend), "");
      up.add(backend.name);
    } else {
      rmSync(readyFile(folder, backend), { force: true });
      up.delete(backend.name);
    }
  }
  const first = Promise.all(backends.map(look));
  const timers = backends.map((backend) => {
    let asking = false;
    return setInterval(() => {
      if (asking) return;
      asking = true;
      void look(backend).finally(() => {
        asking = false;
      });
    }, PROBE_EVERY_MS).unref();
  });
  return {
    first,
    up: () => [...up],
    stop() {
      over = true;
      for (const timer of timers) clearInterval(timer);
    },
  };
}

/** Starts nginx, from PATH or the distribution's package. Resolves once it takes connections and each backend was asked. */
export async function startNginx({
  guard,
  folder,
  cacheDir,
  backends,
  say,
}: BalancerOptions): Promise<Balancer> {
  requireBackends(backends);
  mkdirSync(join(folder, "ready"), { recursive: true });
  const program = await findProxy("nginx", { folder: cacheDir, guard, say });
  const configure = (port: number) => nginxConfiguration(folder, port, backends);
  const running = await startProxy("nginx", program, { folder, guard, configure });
  const watching = watch(folder, backends);
  await watching.first;
  return {
    name: "nginx",
    url: `http://127.0.0.1:${running.port}`,
    pid: running.pid,
    ready: async () => watching.up(),
    stop() {
      watching.stop();
      return running.stop();
    },
  };
}
