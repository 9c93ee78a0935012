import { freePort } from "../embedded/ports.ts";
import {
  type Backend,
  type Balancer,
  type BalancerOptions,
  IDLE_TO_BACKEND_MS,
  PROBE_EVERY_MS,
  requireBackends,
} from "./balancer.ts";
import { findProxy, startProxy } from "./proxy.ts";

const STATS_WITHIN_MS = 5_000;

/**
 * Requests are never sent twice: no retries, no other server. Connections to the servers are shared by all clients at
 * once (`aggressive`), the hardest for a server that wants to leave.
 */
export function haproxyConfiguration(
  backends: readonly Backend[],
  ports: { clients: number; stats: number },
): string {
  return [
    "global",
    "  maxconn 4000",
    "  nbthread 1",
    "defaults",
    "  mode http",
    "  timeout connect 5s",
    "  timeout client 120s",
    "  timeout http-keep-alive 120s",
    "  timeout server 120s",
    "  timeout queue 5s",
    "  timeout check 2s",
    "  option http-keep-alive",
    "  http-reuse aggressive",
    "  retries 0",
    "  no option redispatch",
    "frontend clients",
    `  bind 127.0.0.1:${ports.clients}`,
    "  default_backend api",
    "backend api",
    "  balance roundrobin",
    "  option httpchk",
    "  http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host localhost",
    "  http-check expect status 200",
    `  default-server check inter ${PROBE_EVERY_MS}ms fall 1 rise 1 pool-purge-delay ${IDLE_TO_BACKEND_MS / 2}ms`,
    ...backends.map(({ name, host, port }) => `  server ${name} ${host}:${port}`),
    "listen stats",
    `  bind 127.0.0.1:${ports.stats}`,
    "  stats enable",
    "  stats uri /",
  ].join("\n");
}

/** Names of the servers of `api` that are up, out of the statistics as CSV: proxy, server, ..., status. */
export function serversUp(csv: string): string[] {
  const [header = "", ...lines] = csv.trim().split("\n");
  const columns = header.replace(/^# /, "").split(",");
  const status = columns.indexOf("status");
  const check = columns.indexOf("check_status");
  return (
    lines
      .map((line) => line.split(","))
      .filter(([proxy, server]) => proxy === "api" && server !== "BACKEND")
      // Before its first check a server counts as up; `* ` marks a check in progress.
      .filter((fields) => fields[status] === "UP" && /L7OK/.test(fields[check] ?? ""))
      .map(([, server = ""]) => server)
  );
}

/** Starts HAProxy, from PATH or the distribution's package. Resolves once it takes connections. */
export async function startHaproxy({
  guard,
  folder,
  cacheDir,
  backends,
  say,
}: BalancerOptions): Promise<Balancer> {
  requireBackends(backends);
  const program = await findProxy("haproxy", { folder: cacheDir, guard, say });
  let stats = 0;
  const configure = async (clients: number) => {
    stats = await freePort();
    return haproxyConfiguration(backends, { clients, stats });
  };
  const { port, pid, stop } = await startProxy("haproxy", program, { folder, guard, configure });
  return {
    name: "HAProxy",
    url: `http://127.0.0.1:${port}`,
    pid,
    async ready() {
      const signal = AbortSignal.timeout(STATS_WITHIN_MS);
      const response = await fetch(`http://127.0.0.1:${stats}/;csv`, { signal });
      return serversUp(await response.text());
    },
    stop,
  };
}
