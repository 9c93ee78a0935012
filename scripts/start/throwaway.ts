import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Guard } from "../embedded/guard.ts";
import { SERVICES, startStack } from "../embedded/stack.ts";
import { startEntry } from "./entry.ts";
import { type DemoKeys, demoKeys } from "./keys.ts";
import { keptSecretsKey } from "./secrets-key.ts";
import { stackSettings } from "./settings.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const ENTRY = ["--import", "tsx", "src/main.ts"];

export interface ThrowawayService extends DemoKeys {
  url: string;
}

/**
 * The whole service on services of its own, in a folder that goes when the guard ends, with an enterprise team.
 * Nothing of the caller's settings is taken over but PATH: it is the same everywhere.
 *
 * @param settings on top of the usual ones, e.g. DNS_SERVERS and SMTP_PORT of a mail world
 * @throws Error when a part does not start; what the service had to say is on the terminal.
 */
export async function startThrowaway(
  settings: Record<string, string>,
  guard: Guard,
  say: (line: string) => void,
): Promise<ThrowawayService> {
  const dir = mkdtempSync(join(tmpdir(), "rcpt-"));
  guard.removeAtEnd(dir);
  chmodSync(dir, 0o711);
  const cacheDir = join(ROOT, ".rcpt/cache");
  const stack = await startStack({ dir, cacheDir, wanted: SERVICES, throwaway: true, guard, say });
  const env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
    HOST: "127.0.0.1",
    LOG_LEVEL: "warn",
    ...stackSettings(stack),
    ...keptSecretsKey(dir, {}),
    ...settings,
  };
  const { url } = await startEntry({ root: ROOT, entry: ENTRY, env, guard });
  const keys = await demoKeys({ folder: dir, database: dir, root: ROOT, entry: ENTRY, env, url });
  return { url, ...keys };
}
