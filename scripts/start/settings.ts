import { writeFileSync } from "node:fs";
import { localUrl } from "../../src/config/local-url.ts";
import type { ServiceName, Stack } from "../embedded/stack.ts";

type Env = NodeJS.ProcessEnv;

/** Settings that say where a service is: with any of them given, ours is not started. */
const PLACES: Record<ServiceName, readonly string[]> = {
  postgres: ["DATABASE_URL"],
  redis: ["REDIS_URL"],
  objects: ["S3_ENDPOINT", "S3_BUCKET"],
};

const SERVICE_SETTINGS = [
  "DATABASE_URL",
  "REDIS_URL",
  "S3_ENDPOINT",
  "S3_REGION",
  "S3_BUCKET",
  "S3_ACCESS_KEY_ID",
  "S3_SECRET_ACCESS_KEY",
].flatMap((name) => [name, `${name}_FILE`]);

/** True when the user has set NAME, or NAME_FILE. */
export function isSet(env: Env, name: string): boolean {
  return Boolean(env[name]) || Boolean(env[`${name}_FILE`]);
}

/** The services that the user has not got. */
export function wantedServices(env: Env): ServiceName[] {
  const names = Object.keys(PLACES) as ServiceName[];
  return names.filter((name) => !PLACES[name].some((setting) => isSet(env, setting)));
}

/** Settings that lead to the services we started. */
export function stackSettings({ postgres, redis, objects }: Stack): Record<string, string> {
  return {
    ...(postgres ? { DATABASE_URL: postgres.url } : {}),
    ...(redis ? { REDIS_URL: redis.url } : {}),
    ...(objects
      ? {
          S3_ENDPOINT: objects.endpoint,
          S3_REGION: objects.region,
          S3_BUCKET: objects.bucket,
          S3_ACCESS_KEY_ID: objects.accessKeyId,
          S3_SECRET_ACCESS_KEY: objects.secretAccessKey,
        }
      : {}),
  };
}

/**
 * Sets PUBLIC_URL where the user has not, so that answers contain URLs and not paths.
 * @param port "" or "0": not known before it listens
 */
export function publicUrlSetting(env: Env, port: string): Record<string, string> {
  if (isSet(env, "PUBLIC_URL") || !(Number(port) > 0)) return {};
  return { PUBLIC_URL: localUrl(env.HOST || "127.0.0.1", Number(port)) };
}

/**
 * Writes the settings of all services, ours and the user's, for commands in other terminals (`npm run bootstrap`).
 * @throws Error when a value holds every kind of quotation mark, or a line break.
 */
export function writeEnvFile(file: string, env: Env): void {
  const lines = SERVICE_SETTINGS.flatMap((name) => {
    const value = env[name];
    if (!value) return [];
    const quote = ["'", '"', "`"].find((mark) => !value.includes(mark));
    if (quote === undefined || value.includes("\n")) throw new Error(`${name}: cannot be written to ${file}`);
    return [`${name}=${quote}${value}${quote}\n`];
  });
  writeFileSync(file, lines.join(""), { mode: 0o600 });
}
