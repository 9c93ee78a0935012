import { createMetricsServer, type ProcessState } from "../api/server/metrics-server.ts";
import type { Config, ProcessRole } from "../config/config.ts";
import {
  createLifecycle,
  type Lifecycle,
  type LifecyclePart,
  type LifecycleState,
} from "../platform/lifecycle.ts";
import type { Logger } from "../platform/log.ts";
import { createMetrics, describeBuild, type Metrics } from "../platform/telemetry/metrics.ts";
import type { Tracer } from "../platform/telemetry/tracing.ts";
import { systemClock } from "../platform/time/clock.ts";
import { createRedis, type RedisClients } from "../stores/redis.ts";
import type { StartedThreads } from "./checks/check-threads.ts";
import { recordListTimestamps } from "./checks/list-timestamps.ts";
import type { SelfCheckService } from "./checks/self-check.ts";
import { composeStores, type Stores } from "./stores.ts";
import { composeTracing } from "./tracing.ts";

/** One role of this process, put together but not started. */
export interface ServingRole {
  lifecycle: Lifecycle;
  /** Ports once it has started; `port` is null where the role has no API. */
  ports(): { port: number | null; metricsPort: number };
}

/** Roles that run in a process of their own. */
export type SingleRole = Exclude<ProcessRole, "all">;

interface ComposedRole {
  parts: LifecyclePart[];
  /** null where the role has no API. */
  port(): number | null;
  /** null where the role does not probe. */
  selfCheck: SelfCheckService | null;
}

const noPort = () => null;

const STATES: Record<LifecycleState, ProcessState> = {
  new: "starting",
  running: "ready",
  leaving: "draining",
  draining: "draining",
  stopped: "draining",
};

type RoleBase = Pick<ComposeDeps, "config" | "log" | "metrics"> & {
  redis: RedisClients;
  tracer: Tracer | null;
  begun?: StartedThreads;
};

interface ComposeDeps {
  config: Config;
  log: Logger;
  metrics: Metrics;
  stores: Stores;
}

/** Each role loads only its own modules: reading modules is most of a process's start. */
const COMPOSE: Record<SingleRole, (base: RoleBase) => Promise<ComposedRole & { stores: Stores }>> = {
  async api(base) {
    const [stores, { composeApi }] = await Promise.all([
      composeStores(base.config, base.redis, base.log),
      import("./api.ts"),
    ]);
    return { ...composeApi({ ...base, stores }), stores };
  },
  async bulk(base) {
    const [stores, { composeBulk }] = await Promise.all([
      composeStores(base.config, base.redis, base.log),
      import("./bulk.ts"),
    ]);
    return { ...composeBulk({ ...base, stores }), port: noPort, stores };
  },
  async relay(base) {
    const [stores, { composeRelay }] = await Promise.all([
      composeStores(base.config, base.redis, base.log),
      import("./relay.ts"),
    ]);
    return { parts: composeRelay({ ...base, stores }), port: noPort, selfCheck: null, stores };
  },
};

/**
 * Composes the role of this process.
 * @param begun check threads of the role, if they were started before this module was loaded
 * @throws ConfigError for a setting that only proves wrong when the parts are composed
 */
export async function composeRole(
  config: Config & { role: SingleRole },
  log: Logger,
  begun?: StartedThreads,
): Promise<ServingRole> {
  const metrics = createMetrics();
  describeBuild(metrics, config.role);
  recordListTimestamps(metrics);
  const redis = createRedis({ url: config.redis.url, name: `rcpt-${config.role}`, log });
  const tracing = await composeTracing(config, { log, metrics });
  const { parts, port, selfCheck, stores } = await COMPOSE[config.role]({
    config,
    log,
    metrics,
    redis,
    tracer: tracing.tracer,
    ...(begun === undefined ? {} : { begun }),
  });
  const metricsServer = createMetricsServer({
    registry: metrics.registry,
    log,
    config: config.http,
    state: () => STATES[lifecycle.state],
    preflight: selfCheck === null ? null : () => selfCheck.status(),
  });
  let metricsPort = 0;
  const observed = {
    name: "metrics",
    async start() {
      metricsPort = (await metricsServer.listen()).port;
    },
    stop: () => metricsServer.close(),
  };
  const lifecycle = createLifecycle([observed, ...tracing.parts, ...stores.parts, ...parts], {
    log,
    clock: systemClock,
    graceMs: config.shutdownGraceMs,
    // No load balancer sends requests to the other roles: their work is handed back at once.
    leaveMs: config.role === "api" ? config.drainDelayMs : 0,
  });
  metrics.ready.readFrom(() => Number(lifecycle.state === "running"));
  return {
    lifecycle,
    ports: () => ({ port: port(), metricsPort }),
  };
}
