import { systemClock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import { createLifecycle, type Lifecycle } from "../core/lifecycle.ts";
import type { Logger } from "../core/log.ts";
import { createMetrics } from "../core/metrics.ts";
import { createMetricsServer } from "../http/metrics-server.ts";
import { composeApi } from "./api.ts";
import { composeRelay } from "./relay.ts";
import { composeStores } from "./stores.ts";

/** One role of this process, put together but not started. */
export interface ServingRole {
  lifecycle: Lifecycle;
  /** Ports once it has started; `port` is null where the role has no API. */
  ports(): { port: number | null; metricsPort: number };
}

/** @throws ConfigError for what only shows when the parts meet */
export function composeRole(config: Config & { role: "api" | "relay" }, log: Logger): ServingRole {
  const metrics = createMetrics();
  const stores = composeStores(config, log);
  const api = config.role === "api" ? composeApi({ config, log, metrics, stores }) : null;
  const parts = api === null ? [composeRelay({ log, stores })] : api.parts;
  const metricsServer = createMetricsServer({ registry: metrics.registry, log, config: config.http });
  let metricsPort = 0;
  const observed = {
    name: "metrics",
    async start() {
      metricsPort = (await metricsServer.listen()).port;
    },
    stop: () => metricsServer.close(),
  };
  return {
    lifecycle: createLifecycle([observed, ...stores.parts, ...parts], {
      log,
      clock: systemClock,
      graceMs: config.shutdownGraceMs,
    }),
    ports: () => ({ port: api?.port() ?? null, metricsPort }),
  };
}
