import type { RedisClient } from "../../../stores/redis.ts";

/** The one consumer group of each stream of tasks. */
export const GROUP = "workers";

export function isMissingGroup(error: unknown): boolean {
  return (
    error instanceof Error && (error.message.startsWith("NOGROUP") || error.message.includes("no such key"))
  );
}

async function createGroup(redis: RedisClient, key: string): Promise<void> {
  try {
    await redis.xgroup("CREATE", key, GROUP, "0", "MKSTREAM");
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith("BUSYGROUP"))) throw error;
  }
}

/**
 * `work`, or `otherwise` when the group is missing: Redis is new, or was emptied. Creates the group for the next time.
 * @param key of the stream
 */
export async function inGroup<T>(
  redis: RedisClient,
  key: string,
  work: () => Promise<T>,
  otherwise: T,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isMissingGroup(error)) throw error;
    await createGroup(redis, key);
    return otherwise;
  }
}
