import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Redis } from "ioredis";
import { startGuard } from "../../scripts/embedded/guard.ts";
import { startRedis } from "../../scripts/embedded/redis.ts";

const CACHE_DIR = resolve(import.meta.dirname, "../../.rcpt/cache");

/** A Redis of one test file alone, which may be emptied, script cache and all, and loses nobody's data. */
export interface OwnRedis {
  url: string;
  /** A client on it. */
  client: Redis;
  /** FLUSHALL and SCRIPT FLUSH. */
  flushAll(): Promise<void>;
  close(): Promise<void>;
}

export async function startOwnRedis(): Promise<OwnRedis> {
  const guard = startGuard();
  const folder = mkdtempSync(join(tmpdir(), "rcpt-own-redis-"));
  guard.removeAtEnd(folder);
  try {
    const { url } = await startRedis({
      folder,
      cacheDir: CACHE_DIR,
      throwaway: true,
      guard,
      say: () => undefined,
    });
    const client = new Redis(url);
    // It connects again by itself; whoever asks meanwhile waits.
    client.on("error", () => undefined);
    return {
      url,
      client,
      async flushAll() {
        await client.flushall();
        await client.script("FLUSH");
      },
      async close() {
        client.disconnect();
        await guard.end();
      },
    };
  } catch (error) {
    await guard.end();
    throw error;
  }
}
