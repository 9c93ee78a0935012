import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";
import type { Logger } from "../../platform/log.ts";

export interface MetricsServer {
  /** @throws Error when the port cannot be had */
  listen(): Promise<{ port: number }>;
  close(): Promise<void>;
}

const UNCACHED_JSON_HEADERS = { "Content-Type": "application/json", "Cache-Control": "no-store" };

/** The state of the process: starting, serving, or shutting down. */
export type ProcessState = "starting" | "ready" | "draining";

/**
 * `/metrics` (Prometheus text), `/healthz`, `/readyz` (200 when `ready`, 503 before and from SIGTERM on; the API reports
 * its dependencies on its own port) and, in processes that probe, `/preflight` (JSON: the last check of our sender
 * identity).
 *
 * They have a port of their own, so that the API's callers cannot reach them, and roles without an API can be scraped and
 * probed too. `/preflight` shows our source addresses and the host and port of each proxy to every caller of this port, so
 * the port is the operator's: METRICS_HOST is loopback unless it is set.
 */
export function createMetricsServer(deps: {
  registry: Registry;
  log: Logger;
  config: { metricsHost: string; metricsPort: number };
  state(): ProcessState;
  /** Plain data; null: this process does not probe. */
  preflight: (() => unknown) | null;
}): MetricsServer {
  const { registry, log, config, preflight } = deps;

  function sendReadiness(response: ServerResponse): void {
    const status = deps.state();
    response.writeHead(status === "ready" ? 200 : 503, UNCACHED_JSON_HEADERS).end(JSON.stringify({ status }));
  }

  async function sendMetrics(response: ServerResponse): Promise<void> {
    try {
      const text = await registry.metrics();
      response.writeHead(200, { "Content-Type": registry.contentType }).end(text);
    } catch (error) {
      log.error({ err: error }, "metrics could not be collected");
      response.writeHead(500).end();
    }
  }

  function serve(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url?.split("?", 1)[0];
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.writeHead(405, { Allow: "GET, HEAD" }).end();
    } else if (path === "/metrics") void sendMetrics(response);
    else if (path === "/healthz") {
      response.writeHead(200, { "Content-Type": "application/json" }).end('{"status":"ok"}');
    } else if (path === "/readyz") sendReadiness(response);
    else if (path === "/preflight" && preflight !== null) {
      response.writeHead(200, UNCACHED_JSON_HEADERS).end(JSON.stringify(preflight()));
    } else response.writeHead(404).end();
  }

  const server = createServer({ requestTimeout: 10_000, headersTimeout: 5_000 }, serve);
  server.maxConnections = 100;

  return {
    listen: () =>
      new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen(config.metricsPort, config.metricsHost, () => {
          server.off("error", reject);
          resolve({ port: (server.address() as AddressInfo).port });
        });
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
