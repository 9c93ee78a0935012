import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isSet } from "./settings.ts";

/**
 * The setting SECRETS_KEY: the user's own, or one that is made the first time and kept in `folder`, since what it
 * encrypted (webhook secrets) can be read with no other.
 * @returns the setting to add; nothing where the user has set it
 */
export function keptSecretsKey(folder: string, env: NodeJS.ProcessEnv): { SECRETS_KEY?: string } {
  if (isSet(env, "SECRETS_KEY")) return {};
  const file = join(folder, "secrets-key");
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString("base64"), { mode: 0o600 });
  return { SECRETS_KEY: readFileSync(file, "utf8").trim() };
}
