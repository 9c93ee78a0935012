import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Redis } from "ioredis";
import { startGuard } from "../../scripts/embedded/guard.ts";
import { startPostgres } from "../../scripts/embedded/postgres.ts";
import { startRedis } from "../../scripts/embedded/redis.ts";

const CACHE_DIR = resolve(import.meta.dirname, "../../.rcpt/cache");

/** A Redis for one test file alone, whose data and script cache may be emptied. */
export interface OwnRedis {
  url: string;
  /** A client on it. */
  client: Redis;
  /** FLUSHALL and SCRIPT FLUSH. */
  flushAll(): Promise<void>;
  /** Ends it, as by a restart of its machine. */
  stop(): Promise<void>;
  /** Starts it again under the same URL, with its data or without. */
  start(data: "kept" | "lost"): Promise<void>;
  close(): Promise<void>;
}

export async function startOwnRedis(): Promise<OwnRedis> {
  const guard = startGuard();
  const folder = mkdtempSync(join(tmpdir(), "rcpt-own-redis-"));
  guard.removeAtEnd(folder);
  const options = { folder, cacheDir: CACHE_DIR, throwaway: true, guard, say: () => undefined };
  try {
    let running = await startRedis(options);
    const { url } = running;
    const client = new Redis(url);
    // The client reconnects by itself; commands wait meanwhile.
    client.on("error", () => undefined);
    return {
      url,
      client,
      async flushAll() {
        await client.flushall();
        await client.script("FLUSH");
      },
      async stop() {
        process.kill(running.service.pid, "SIGTERM");
        await running.service.exited;
      },
      async start(data) {
        if (data === "lost") rmSync(join(folder, "appendonlydir"), { recursive: true, force: true });
        running = await startRedis({ ...options, again: url });
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

/** A PostgreSQL for one test file alone, which may be restarted. */
export interface OwnPostgres {
  url: string;
  /** Stops it: `fast` ends its sessions first, `crash` is as a loss of power. */
  stop(how: "fast" | "crash"): Promise<void>;
  /** Starts it again under the same URL; `standby`: until `pg_promote()`. */
  start(as?: "primary" | "standby"): Promise<void>;
  close(): Promise<void>;
}

export async function startOwnPostgres(): Promise<OwnPostgres> {
  const guard = startGuard();
  const folder = mkdtempSync(join(tmpdir(), "rcpt-own-postgres-"));
  chmodSync(folder, 0o711);
  guard.removeAtEnd(folder);
  // Committed data must survive a crash.
  const options = { folder, throwaway: false, guard, say: () => undefined };
  try {
    let running = await startPostgres(options);
    guard.removeAtEnd(running.folder);
    const { url } = running;
    return {
      url,
      async stop(how) {
        process.kill(running.service.pid, how === "fast" ? "SIGINT" : "SIGQUIT");
        await running.service.exited;
      },
      async start(as = "primary") {
        if (as === "standby") writeFileSync(join(running.folder, "cluster/data/standby.signal"), "");
        running = await startPostgres({ ...options, again: url });
      },
      close: () => guard.end(),
    };
  } catch (error) {
    await guard.end();
    throw error;
  }
}
