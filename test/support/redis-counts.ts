import type { Redis } from "ioredis";

/** Commands that Redis has run since its start. */
export interface RedisCounts {
  /** Calls of scripts. */
  scripts: number;
  /** Look-ups of keys by clients or scripts. */
  reads: number;
  /** Entries that were set, most of them by scripts. */
  entries: number;
}

const GROUPS = {
  scripts: ["eval", "evalsha", "fcall"],
  reads: ["get", "mget"],
  entries: ["set", "setex", "psetex", "mset"],
} satisfies Record<keyof RedisCounts, string[]>;

export async function redisCounts(client: Redis): Promise<RedisCounts> {
  const info = await client.info("commandstats");
  const calls = new Map(
    [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name = "", count]) => [name, Number(count)]),
  );
  const sum = (names: readonly string[]) => names.reduce((total, name) => total + (calls.get(name) ?? 0), 0);
  return { scripts: sum(GROUPS.scripts), reads: sum(GROUPS.reads), entries: sum(GROUPS.entries) };
}
