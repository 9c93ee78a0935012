import type { ChecksConfig } from "../../config/config.ts";
import {
  type BehaviourAuthority,
  createBehaviourAuthority,
} from "../../engine/learned-behaviour/authority.ts";
import { behaviourNotice, suspicionNotice } from "../../engine/learned-behaviour/notices.ts";
import { createLearnedBehaviourStore } from "../../engine/learned-behaviour/store.ts";
import type { Logger } from "../../platform/log.ts";
import type { Metrics } from "../../platform/telemetry/metrics.ts";
import { systemClock } from "../../platform/time/clock.ts";
import type { RedisClients } from "../../stores/redis.ts";
import {
  type CatchAllFacts,
  isLastingCatchAllAnswer,
  parseCatchAllKey,
} from "../../verification/catch-all.ts";

interface Deps {
  config: ChecksConfig;
  log: Logger;
  metrics: Metrics;
  redis: RedisClients;
  /** Names of providers, which are their sites. */
  providers: ReadonlySet<string>;
}

/** Learned behaviour of sites: shared with the other processes of the egress, logged for the operator. */
export function composeLearnedBehaviour({
  config,
  log,
  metrics,
  redis,
  providers,
}: Deps): BehaviourAuthority {
  const behaviours = createBehaviourAuthority({
    clock: systemClock,
    log,
    store: createLearnedBehaviourStore(redis.commands, config.smtp.egressId),
    isProvider: (site) => providers.has(site),
    random: Math.random,
    onSuspect(suspicion) {
      const { provider, habit } = suspicion;
      metrics.behaviourSuspicions.inc({ provider, habit });
      log.warn({ provider, habit }, suspicionNotice(suspicion));
    },
    onChange(event) {
      for (const [habit, count] of Object.entries(behaviours.counts()))
        metrics.sitesWithLearnedBehaviour.set({ habit }, count);
      if (event.isLearned) log.warn({ site: event.site, habit: event.habit }, behaviourNotice(event));
      else log.info({ site: event.site, habit: event.habit }, behaviourNotice(event));
    },
  });
  return behaviours;
}

/** The same facts; `behaviours` learns from those that are settled. */
export function withLearning(facts: CatchAllFacts, behaviours: BehaviourAuthority): CatchAllFacts {
  return {
    ...facts,
    settle(key, answer, retryAfterS) {
      facts.settle(key, answer, retryAfterS);
      const { site, domain } = parseCatchAllKey(key);
      if (isLastingCatchAllAnswer(answer)) behaviours.onCatchAllProbe(site, domain, answer === "accepted");
    },
  };
}
