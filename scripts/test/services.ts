import { chmodSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "../../src/platform/log.ts";
import { createPostgres } from "../../src/stores/postgres/postgres.ts";
import { createRedis } from "../../src/stores/redis.ts";
import type { Guard } from "../embedded/guard.ts";
import { SERVICES, type ServiceName, startStack } from "../embedded/stack.ts";
import { makeTemplate } from "./template.ts";

/** The variable that gives tests the URL of each service. If the caller has set it, the service is not started. */
const FOUND_BY: Readonly<Record<ServiceName, string>> = {
  postgres: "RCPT_TEST_DATABASE_URL",
  redis: "RCPT_TEST_REDIS_URL",
  objects: "RCPT_TEST_S3_ENDPOINT",
};

/** Versions of the servers that the tests run on, as these report them. */
async function versions(): Promise<string> {
  const { RCPT_TEST_DATABASE_URL = "", RCPT_TEST_REDIS_URL = "" } = process.env;
  const name = "rcpt-test-versions";
  const sql = createPostgres({ url: RCPT_TEST_DATABASE_URL, maxConnections: 1, applicationName: name });
  const redis = createRedis({ url: RCPT_TEST_REDIS_URL, name, log: createLog("silent") });
  try {
    await redis.start();
    const [info, [row]] = await Promise.all([
      redis.commands.info("server"),
      sql<[{ server_version: string }]>`show server_version`,
    ]);
    const valkey = /^valkey_version:(\S+)/m.exec(info)?.[1];
    const other = /^redis_version:(\S+)/m.exec(info)?.[1];
    return `PostgreSQL ${row.server_version}, ${valkey === undefined ? `Redis ${other}` : `Valkey ${valkey}`}`;
  } finally {
    redis.stop();
    await sql.end();
  }
}

/**
 * The services, in a folder that goes when the run ends, announced to test files by RCPT_TEST_* variables.
 * @returns where they log
 */
export async function startServices(root: string, guard: Guard): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), "rcpt-test-"));
  guard.removeAtEnd(dir);
  chmodSync(dir, 0o711);
  const logs = join(dir, "logs");
  mkdirSync(logs);
  const { postgres, redis, objects } = await startStack({
    dir,
    cacheDir: join(root, ".rcpt/cache"),
    wanted: SERVICES.filter((name) => process.env[FOUND_BY[name]] === undefined),
    throwaway: true,
    guard,
    say: console.log,
  });
  Object.assign(
    process.env,
    { RCPT_TEST_LOGS: logs },
    postgres && {
      RCPT_TEST_DATABASE_URL: postgres.url,
      RCPT_TEST_TEMPLATE: await makeTemplate(postgres.url),
    },
    redis && { RCPT_TEST_REDIS_URL: redis.url },
    objects && {
      RCPT_TEST_S3_ENDPOINT: objects.endpoint,
      RCPT_TEST_S3_REGION: objects.region,
      RCPT_TEST_S3_ACCESS_KEY_ID: objects.accessKeyId,
      RCPT_TEST_S3_SECRET_ACCESS_KEY: objects.secretAccessKey,
    },
  );
  console.log(`services: ${await versions()}`);
  return logs;
}
