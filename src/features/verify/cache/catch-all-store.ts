import { hash128 } from "../../../platform/ids.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { RedisClient } from "../../../stores/redis.ts";
import type { CatchAllFact, CatchAllStore } from "../../../verification/catch-all.ts";

/** Catch-all answers beyond this process: a letter and the epoch second until which it holds. */
export function createCatchAllStore(redis: RedisClient, clock: Clock): CatchAllStore {
  const answers: Record<string, CatchAllFact | undefined> = { a: "accepted", r: "refused" };
  return {
    async get(key) {
      const text = await redis.get(`rcpt:ca:${hash128(key)}`).catch(() => null);
      const answer = answers[text?.charAt(0) ?? ""];
      const ttlS = Number(text?.slice(1)) - Math.ceil(clock.now() / 1000);
      return answer !== undefined && ttlS > 0 ? { answer, ttlS } : null;
    },
    put(key, answer, ttlS) {
      const until = Math.floor(clock.now() / 1000) + ttlS;
      redis.set(`rcpt:ca:${hash128(key)}`, `${answer.charAt(0)}${until}`, "EX", ttlS).catch(ignore);
    },
  };
}

/** A cache that could not be written is a cache that misses; the connection's own errors are logged by its owner. */
function ignore(): void {}
