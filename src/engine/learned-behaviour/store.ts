import { LIMITS } from "../../config/limits/limits.ts";
import type { RedisClient } from "../../stores/redis.ts";
import type { BehaviourStore, SharedBehaviour } from "./known-behaviours.ts";

const PUT = `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3], 'NX')
redis.call('PEXPIRE', KEYS[1], ARGV[3], 'GT')
return 1
`;

/**
 * Learned behaviour of sites, shared by the processes of an egress in Redis: `rcpt:beliefs:{<egress>}`, a hash of a site's
 * name to its behaviour as JSON. Its TTL ends with the last of them; at most LIMITS.learnedBehaviour.behaviours. Best
 * effort: an entry without room is not shared, and overwriting does no harm, as each process learns for itself too.
 */
export function createLearnedBehaviourStore(redis: RedisClient, egressId: string): BehaviourStore {
  const key = `rcpt:beliefs:{${egressId}}`;
  return {
    async load() {
      const fields = await redis.hgetall(key);
      const learned = Object.entries(fields).map(([site, text]) => [site, parse(text)] as const);
      const over = learned.flatMap(([site, behaviour]) =>
        behaviour === null || behaviour.untilMs <= Date.now() ? [site] : [],
      );
      if (over.length > 0) await redis.hdel(key, ...over);
      return learned.flatMap(([site, behaviour]) =>
        behaviour === null || over.includes(site) ? [] : [{ ...behaviour, site }],
      );
    },
    async put(behaviour) {
      const { site, habit, sinceMs, untilMs } = behaviour;
      const leftMs = Math.max(1, untilMs - Date.now());
      const text = JSON.stringify({ habit, sinceMs, untilMs });
      await redis.eval(PUT, 1, key, site, text, leftMs, LIMITS.learnedBehaviour.behaviours);
    },
  };
}

/** null for an unreadable entry. */
function parse(text: string): Omit<SharedBehaviour, "site"> | null {
  try {
    const { habit, sinceMs, untilMs } = JSON.parse(text) as Record<string, unknown>;
    if (habit !== null && habit !== "accepts_all" && habit !== "refuses_all") return null;
    if (typeof sinceMs !== "number" || typeof untilMs !== "number") return null;
    return { habit, sinceMs, untilMs };
  } catch {
    return null;
  }
}
