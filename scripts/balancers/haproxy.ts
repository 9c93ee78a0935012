import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, PortTakenError, withFreePort } from "../embedded/ports.ts";
import { findProgram } from "../embedded/program.ts";
import { startService, untilReady } from "../embedded/service.ts";
import {
  type Backend,
  type Balancer,
  type BalancerOptions,
  IDLE_TO_BACKEND_MS,
  PROBE_EVERY_MS,
  requireBackends,
} from "./balancer.ts";

const HAPROXY = { name: "haproxy", path: "usr/sbin/haproxy" };
const READY_WITHIN_MS = 30_000;
const STOP_GRACE_MS = 3_000;
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
    "",
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
export async function startHaproxy(options: BalancerOptions): Promise<Balancer> {
  const { guard, folder, backends, say } = options;
  requireBackends(backends);
  mkdirSync(folder, { recursive: true });
  const { binary, env } = await findProgram(HAPROXY, { folder: options.cacheDir, guard, say });
  return withFreePort(async (clients) => {
    const stats = await freePort();
    const file = join(folder, "haproxy.cfg");
    writeFileSync(file, haproxyConfiguration(backends, { clients, stats }));
    const service = startService({
      command: binary,
      args: ["-db", "-f", file],
      env,
      logFile: join(folder, "haproxy.log"),
      stopSignal: "SIGTERM",
      stopGraceMs: STOP_GRACE_MS,
      guard,
    });
    const ready = async () => {
      const signal = AbortSignal.timeout(STATS_WITHIN_MS);
      const response = await fetch(`http://127.0.0.1:${stats}/;csv`, { signal });
      return serversUp(await response.text());
    };
    try {
      await untilReady("HAProxy", service, READY_WITHIN_MS, () =>
        ready().then(
          () => true,
          () => false,
        ),
      );
    } catch (error) {
      if (/cannot bind|Address already in use/i.test(service.lastLines()))
        throw new PortTakenError(String(error));
      throw error;
    }
    return {
      name: "HAProxy",
      url: `http://127.0.0.1:${clients}`,
      pid: service.pid,
      ready,
      async stop() {
        if (service.ended === null) process.kill(service.pid, "SIGTERM");
        await service.exited;
      },
    };
  });
}
