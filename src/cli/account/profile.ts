import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as v from "valibot";
import { loadUserFolders } from "../../config/config.ts";
import { UsageError } from "../../operator/command.ts";

const ProfileSchema = v.object({
  url: v.string(),
  /** An API key, or the session token of a member who may not create keys. */
  key: v.string(),
  /** Id of the key that `rcpt login` created; null: a key that existed before, or a session. */
  keyId: v.nullable(v.string()),
});

/** The file that `rcpt login` writes: a service and a credential for it. */
export type Profile = v.InferOutput<typeof ProfileSchema>;

export const profilePath = (): string => join(loadUserFolders().config, "profile.json");

/** Writes a file that no other user may read, whole or not at all. */
export function writePrivately(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  writeFileSync(draft, text, { mode: 0o600, flag: "wx" });
  renameSync(draft, path);
}

/** null: the file does not exist. @throws UsageError when it cannot be read */
export function readProfile(): Profile | null {
  const path = profilePath();
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new UsageError(`${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  try {
    return v.parse(ProfileSchema, JSON.parse(text));
  } catch (error) {
    throw new UsageError(`${path} is not a profile of rcpt: rcpt login writes a new one`, { cause: error });
  }
}

export const writeProfile = (profile: Profile): void =>
  writePrivately(profilePath(), `${JSON.stringify(profile, null, 2)}\n`);

export const removeProfile = (): void => rmSync(profilePath(), { force: true });
