import { readdirSync } from "node:fs";
import { Redis } from "ioredis";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { ChaosDeployment } from "../deployment/deployment.ts";

/** Counts, by name, that must be 0 when everything has settled. */
export type Leftovers = Record<string, number>;

/** The longest wait: a submission whose API process was killed is given up after LIMITS.bulk.submissionMs. */
export const SETTLED_WITHIN_MS = LIMITS.bulk.submissionMs + 20_000;

const STREAMS = "rcpt:{bulk}:";
const SCAN_COUNT = 1_000;

/** Entries of the work streams: pointers to unfinished tasks, and dead letters. */
async function streamEntries(redis: Redis): Promise<Leftovers> {
  const found: Leftovers = { "stream entries": 0, "dead letters": 0 };
  let cursor = "0";
  do {
    const [next, keys] = await redis.scan(
      cursor,
      "MATCH",
      `${STREAMS}*`,
      "COUNT",
      SCAN_COUNT,
      "TYPE",
      "stream",
    );
    for (const key of keys) {
      const name = key === `${STREAMS}dead` ? "dead letters" : "stream entries";
      found[name] = (found[name] ?? 0) + (await redis.xlen(key));
    }
    cursor = next;
  } while (cursor !== "0");
  return found;
}

function scratchFiles({ members }: ChaosDeployment): number {
  return members
    .filter(({ pid }) => pid !== null)
    .reduce((sum, { scratchSeen }) => sum + readdirSync(scratchSeen).length, 0);
}

/** Counts leftovers of ended work. @throws Error when a store does not answer */
export async function findLeftovers(deployment: ChaosDeployment): Promise<Leftovers> {
  const redis = new Redis(deployment.stores.redis().url, { lazyConnect: true });
  try {
    await redis.connect();
    const [row] = await deployment.sql<[Leftovers]>`
      select (select count(*)::int from jobs where completed_at is null and removed_at is null) as "unfinished jobs",
             (select count(*)::int from jobs where status in ('failed', 'cancelled')) as "failed jobs",
             (select count(*)::int from quota_holds) as "quota holds",
             (select count(*)::int from quota_leases) as "quota leases"`;
    return {
      ...row,
      ...(await streamEntries(redis)),
      "scratch files": scratchFiles(deployment),
    };
  } finally {
    redis.disconnect();
  }
}

export function describeLeftovers(leftovers: Leftovers): string {
  const left = Object.entries(leftovers).filter(([, count]) => count > 0);
  return left.map(([name, count]) => `${count} ${name}`).join(", ") || "nothing left over";
}

export function isClean(leftovers: Leftovers): boolean {
  return Object.values(leftovers).every((count) => count === 0);
}
