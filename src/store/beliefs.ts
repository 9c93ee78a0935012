import type { BeliefStore, SharedBelief } from "../check/belief/authority.ts";
import type { RedisClient } from "./redis.ts";

/**
 * What the processes of an egress have learnt of sites, in Redis: `rcpt:beliefs:{<egress>}`, a hash of a site's name to its
 * belief as JSON, with a TTL that ends with the last of them. Best effort: who overwrites whom does not matter, as each
 * learns for itself what the others would tell.
 */
export function createBeliefStore(redis: RedisClient, egressId: string): BeliefStore {
  const key = `rcpt:beliefs:{${egressId}}`;
  return {
    async load() {
      const fields = await redis.hgetall(key);
      const beliefs = Object.entries(fields).map(([site, text]) => [site, parse(text)] as const);
      const over = beliefs.flatMap(([site, belief]) =>
        belief === null || belief.untilMs <= Date.now() ? [site] : [],
      );
      if (over.length > 0) await redis.hdel(key, ...over);
      return beliefs.flatMap(([site, belief]) =>
        belief === null || over.includes(site) ? [] : [{ ...belief, site }],
      );
    },
    async put(belief) {
      const { site, habit, sinceMs, untilMs } = belief;
      const leftMs = Math.max(1, untilMs - Date.now());
      await redis
        .multi()
        .hset(key, site, JSON.stringify({ habit, sinceMs, untilMs }))
        .pexpire(key, leftMs, "NX")
        .pexpire(key, leftMs, "GT")
        .exec();
    },
  };
}

/** null for what is none. */
function parse(text: string): Omit<SharedBelief, "site"> | null {
  try {
    const { habit, sinceMs, untilMs } = JSON.parse(text) as Record<string, unknown>;
    if (habit !== null && habit !== "accepts_all" && habit !== "refuses_all") return null;
    if (typeof sinceMs !== "number" || typeof untilMs !== "number") return null;
    return { habit, sinceMs, untilMs };
  } catch {
    return null;
  }
}
