import { type BeliefAuthority, createBeliefAuthority } from "../check/belief/authority.ts";
import { beliefNotice, suspicionNotice } from "../check/belief/notices.ts";
import { type CatchAllFacts, isCatchAllFact, siteAndDomainOf } from "../check/catch-all.ts";
import { systemClock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import { createBeliefStore } from "../store/beliefs.ts";
import type { RedisClients } from "../store/redis.ts";

interface Deps {
  config: Config;
  log: Logger;
  metrics: Metrics;
  redis: RedisClients;
  /** Names of providers, which are their sites. */
  providers: ReadonlySet<string>;
}

/** Which sites this process cannot believe: shared by its egress, told to the operator. */
export function composeBeliefs({ config, log, metrics, redis, providers }: Deps): BeliefAuthority {
  const beliefs = createBeliefAuthority({
    clock: systemClock,
    log,
    store: createBeliefStore(redis.commands, config.smtp.egressId),
    isProvider: (site) => providers.has(site),
    random: Math.random,
    onSuspect(suspicion) {
      const { provider, habit } = suspicion;
      metrics.habitsSuspected.inc({ provider, habit });
      log.warn({ provider, habit }, suspicionNotice(suspicion));
    },
    onChange(event) {
      for (const [habit, count] of Object.entries(beliefs.counts()))
        metrics.sitesDisbelieved.set({ habit }, count);
      if (event.formed) log.warn({ site: event.site, habit: event.habit }, beliefNotice(event));
      else log.info({ site: event.site, habit: event.habit }, beliefNotice(event));
    },
  });
  return beliefs;
}

/** The same facts, told of to those who learn from them. */
export function teachingFacts(facts: CatchAllFacts, beliefs: BeliefAuthority): CatchAllFacts {
  return {
    ...facts,
    settle(key, answer, retryAfterS) {
      facts.settle(key, answer, retryAfterS);
      const { site, domain } = siteAndDomainOf(key);
      if (isCatchAllFact(answer)) beliefs.stranger(site, domain, answer === "accepted");
    },
  };
}
