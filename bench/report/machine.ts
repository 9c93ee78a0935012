import { execFile } from "node:child_process";
import { availableParallelism, cpus, type as osType, release, totalmem } from "node:os";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { createPostgres } from "../../src/stores/postgres/postgres.ts";
import type { Services } from "../setup/state.ts";

/** Machine and date of a run: figures mean little without it. */
export interface Machine {
  processor: string;
  cores: number;
  memoryGib: number;
  system: string;
  node: string;
  postgres: string;
  redis: string;
  /** Commit of the source, with `+` where files differ from it; `unknown` outside of a repository. */
  commit: string;
  /** Beginning of the run, UTC. */
  date: string;
}

export async function describeMachine(root: string, services: Services, startedAt: Date): Promise<Machine> {
  const [postgres, redis, commit] = await Promise.all([
    postgresVersion(services.databaseUrl),
    redisVersion(services.redisUrl),
    commitOf(root),
  ]);
  return {
    processor: cpus()[0]?.model.trim() ?? "unknown processor",
    cores: availableParallelism(),
    memoryGib: Math.round(totalmem() / 2 ** 30),
    system: `${osType()} ${release()}`,
    node: process.versions.node,
    postgres,
    redis,
    commit,
    date: startedAt.toISOString().replace(/\.\d+Z$/, "Z"),
  };
}

async function postgresVersion(url: string): Promise<string> {
  const sql = createPostgres({ url, maxConnections: 1, applicationName: "rcpt-bench" });
  try {
    const [found] = await sql<[{ server_version: string }]>`show server_version`;
    return found.server_version;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function redisVersion(url: string): Promise<string> {
  const redis = new Redis(url);
  try {
    return /redis_version:(\S+)/.exec(await redis.info("server"))?.[1] ?? "unknown";
  } finally {
    redis.disconnect();
  }
}

async function commitOf(root: string): Promise<string> {
  const git = async (...args: string[]) =>
    (await promisify(execFile)("git", ["-C", root, ...args])).stdout.trim();
  try {
    const commit = await git("rev-parse", "--short=12", "HEAD");
    // Files that a run writes are no difference of the source.
    const changed = await git(
      "status",
      "--porcelain",
      "--",
      ".",
      ":(exclude)bench/RESULTS.md",
      ":(exclude)bench/results.*",
    );
    return changed === "" ? commit : `${commit}+`;
  } catch {
    return "unknown";
  }
}
