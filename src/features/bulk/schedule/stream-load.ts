import type { RedisClient } from "../../../stores/redis.ts";
import { GROUP, isMissingGroup } from "./consumer-group.ts";

/** Entries of a stream. */
export interface StreamLoad {
  /**
   * Entries that no worker has taken, as Redis counts them. Sometimes Redis has no count (before Redis 7, or after entries
   * were deleted out of order). Then it is the stream's length without pending entries, which is the same: a finished entry
   * is deleted.
   */
  lag: number;
  /** Entries that workers have taken and not acknowledged. */
  pending: number;
}

/** The result of a command of a transaction. @throws its error; a missing stream gives `otherwise` instead */
function valueOrDefault(
  answer: [error: Error | null, value: unknown] | undefined,
  otherwise: unknown,
): unknown {
  const [error = null, value = otherwise] = answer ?? [];
  if (error === null) return value;
  if (isMissingGroup(error)) return otherwise;
  throw error;
}

type Field = string | number | null;

function loadOf(length: number, groups: readonly Field[][]): StreamLoad {
  for (const group of groups) {
    const fields = new Map<Field, Field>();
    for (let i = 0; i + 1 < group.length; i += 2) fields.set(group[i] ?? null, group[i + 1] ?? null);
    if (fields.get("name") !== GROUP) continue;
    const pending = Number(fields.get("pending") ?? 0);
    const lag = fields.get("lag");
    return { lag: typeof lag === "number" ? lag : Math.max(0, length - pending), pending };
  }
  // No consumer has read it yet.
  return { lag: length, pending: 0 };
}

/** @param key of the stream */
export async function loadOfStream(redis: RedisClient, key: string): Promise<StreamLoad> {
  const [length, groups] = (await redis.multi().xlen(key).xinfo("GROUPS", key).exec()) ?? [];
  return loadOf(valueOrDefault(length, 0) as number, valueOrDefault(groups, []) as Field[][]);
}
