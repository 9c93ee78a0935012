import type { RedisClient } from "../../../stores/redis.ts";
import { GROUP, inGroup, isMissingGroup } from "./consumer-group.ts";

const ALIVE_TTL_MS = 3_600_000;

/** The workers that read a stream: which of them live, and which are gone. See `job-stream.ts` for the keys. */
export interface StreamConsumers {
  /** The consumer gives a sign of life. */
  heartbeat(consumer: string): Promise<void>;
  /** Consumers with a sign of life within `silentMs`. */
  countConsumers(silentMs: number): Promise<number>;
  /** Removes consumers that have nothing pending and were idle for `idleMs`. */
  removeIdleConsumers(idleMs: number): Promise<void>;
  /** Removes the consumer. With the last consumer an empty stream goes too. */
  removeConsumer(consumer: string): Promise<void>;
}

/** KEYS: the stream. ARGV: group, minimum idle time. */
const REMOVE_IDLE = `
local removed = 0
for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local fields = {}
  for i = 1, #consumer, 2 do fields[consumer[i]] = consumer[i + 1] end
  if fields.pending == 0 and fields.idle >= tonumber(ARGV[2]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], fields.name)
    removed = removed + 1
  end
end
return removed`;

/** KEYS: the stream, its workers. ARGV: group, consumer. The consumer stays while it has pending entries. */
const LEAVE = `
redis.call('ZREM', KEYS[2], ARGV[2])
if redis.call('EXISTS', KEYS[1]) == 0 then return end
local pending = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2])
if #pending > 0 then return end
redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
if redis.call('XLEN', KEYS[1]) == 0 and redis.call('ZCARD', KEYS[2]) == 0 then redis.call('DEL', KEYS[1]) end`;

/** KEYS: the workers of a stream. ARGV: consumer, TTL of the key. */
const GREET = `
local now = redis.call('TIME')
redis.call('ZADD', KEYS[1], now[1] * 1000 + math.floor(now[2] / 1000), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/** KEYS: the workers of a stream. ARGV: maximum silence. */
const COUNT_ALIVE = `
local now = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now[1] * 1000 + math.floor(now[2] / 1000) - ARGV[1])
return redis.call('ZCARD', KEYS[1])`;

/** @param keys of the stream, and of its workers by their last sign of life */
export function createStreamConsumers(
  redis: RedisClient,
  keys: { stream: string; alive: string },
): StreamConsumers {
  const { stream, alive } = keys;
  return {
    async heartbeat(consumer) {
      await redis.eval(GREET, 1, alive, consumer, ALIVE_TTL_MS);
    },
    countConsumers: async (silentMs) => (await redis.eval(COUNT_ALIVE, 1, alive, silentMs)) as number,
    async removeIdleConsumers(idleMs) {
      const remove = async () => void (await redis.eval(REMOVE_IDLE, 1, stream, GROUP, idleMs));
      await inGroup(redis, stream, remove, undefined);
    },
    async removeConsumer(consumer) {
      try {
        await redis.eval(LEAVE, 2, stream, alive, GROUP, consumer);
      } catch (error) {
        if (!isMissingGroup(error)) throw error;
      }
    },
  };
}
