import type { ChecksConfig } from "../../config/config.ts";
import {
  type BreakerAuthority,
  type BreakerEvent,
  createBreakerAuthority,
} from "../../egress/breaker/authority.ts";
import { createBreakerStore } from "../../egress/breaker/breaker-states.ts";
import { breakerNotice, recoveryNotice } from "../../egress/breaker/notices.ts";
import type { Logger } from "../../platform/log.ts";
import type { Metrics } from "../../platform/telemetry/metrics.ts";
import { systemClock } from "../../platform/time/clock.ts";
import type { RedisClients } from "../../stores/redis.ts";

interface Deps {
  config: ChecksConfig;
  log: Logger;
  metrics: Metrics;
  redis: RedisClients;
  /** Releases the rows parked for a site. Returns how many. Absent: this process parks no rows. */
  releaseParkedRows?: (site: string) => Promise<number>;
}

/**
 * The circuit breakers of a process. The processes of an egress share them, the operator sees them, and parked rows of a site
 * are released when it may be asked again.
 */
export function composeBreakers({
  config,
  log,
  metrics,
  redis,
  releaseParkedRows: release,
}: Deps): BreakerAuthority {
  const clock = systemClock;

  async function releaseParked(site: string): Promise<number> {
    try {
      return (await release?.(site)) ?? 0;
    } catch (error) {
      // They come when they are due.
      log.warn({ err: error }, "rows that waited for a site could not be released");
      return 0;
    }
  }

  async function recovered(event: BreakerEvent): Promise<void> {
    const rows = await releaseParked(event.way.site);
    if (event.isLocal || rows > 0) log.info(recoveryNotice(event, release === undefined ? null : rows));
  }

  return createBreakerAuthority({
    clock,
    log,
    store: createBreakerStore(redis, config.smtp.egressId, log),
    firstMs: config.breaker.firstMs,
    random: Math.random,
    onChange(state, event) {
      if (event.isLocal) metrics.breakerTransitions.inc({ state, provider: event.way.provider ?? "other" });
      if (state === "closed") void recovered(event);
      else if (!event.isLocal)
        log.debug({ site: event.way.site }, "another process found that a site blocks us");
      else if (state === "opened") log.warn(breakerNotice(state, event, clock.now()));
      else log.info(breakerNotice(state, event, clock.now()));
    },
    onFreed: ({ site }) => void releaseParked(site),
  });
}
