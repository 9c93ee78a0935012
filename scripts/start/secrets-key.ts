import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isSet } from "./settings.ts";

/**
 * The setting SECRETS_KEY: the user's own, or one that is generated the first time and kept in `folder`, since data
 * encrypted with it (webhook secrets) cannot be read with another.
 * @returns the setting to add; empty where the user has set it
 */
export function keptSecretsKey(folder: string, env: NodeJS.ProcessEnv): { SECRETS_KEY?: string } {
  if (isSet(env, "SECRETS_KEY")) return {};
  const file = join(folder, "secrets-key");
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString("base64"), { mode: 0o600 });
  return { SECRETS_KEY: readFileSync(file, "utf8").trim() };
}
