import { systemClock } from "../core/clock.ts";
import type { Config, Role } from "../core/config.ts";
import { createLifecycle, type Lifecycle, type Part } from "../core/lifecycle.ts";
import type { Logger } from "../core/log.ts";
import { createMetrics } from "../core/metrics.ts";
import { createMetricsServer } from "../http/metrics-server.ts";
import { composeApi } from "./api.ts";
import { composeBulk } from "./bulk.ts";
import type { House } from "./house.ts";
import { composeRelay } from "./relay.ts";
import { composeStores } from "./stores.ts";

/** One role of this process, put together but not started. */
export interface ServingRole {
  lifecycle: Lifecycle;
  /** Ports once it has started; `port` is null where the role has no API. */
  ports(): { port: number | null; metricsPort: number };
}

/** Roles that run in a process of their own. */
export type SingleRole = Exclude<Role, "all">;

interface Composed {
  parts: Part[];
  /** null where the role has no API. */
  port(): number | null;
  /** null where the role does not probe. */
  house: House | null;
}

const noPort = () => null;

/** @throws ConfigError for what only shows when the parts meet */
export function composeRole(config: Config & { role: SingleRole }, log: Logger): ServingRole {
  const metrics = createMetrics();
  const stores = composeStores(config, log);
  const deps = { config, log, metrics, stores };
  const compose: Record<SingleRole, () => Composed> = {
    api: () => composeApi(deps),
    bulk: () => ({ ...composeBulk(deps), port: noPort }),
    relay: () => ({ parts: composeRelay(deps), port: noPort, house: null }),
  };
  const { parts, port, house } = compose[config.role]();
  const metricsServer = createMetricsServer({
    registry: metrics.registry,
    log,
    config: config.http,
    preflight: house === null ? null : () => house.status(),
  });
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
    ports: () => ({ port: port(), metricsPort }),
  };
}
