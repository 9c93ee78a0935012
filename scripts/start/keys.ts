import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

export interface DemoKeys {
  live_key: string;
  test_key: string;
  /** Sign-in of the team's owner for the portal. Absent: the keys are older than the portal. */
  sign_in?: { email: string; password: string };
}

export interface DemoKeysOptions {
  /** Folder that the keys are stored in. */
  folder: string;
  /** Identity of this database; hashed into the file's name. */
  database: string;
  /** Root of the project, and the command line after `node` that runs the service's entry. */
  root: string;
  entry: string[];
  env: NodeJS.ProcessEnv;
  /** URL of the service. */
  url: string;
}

const BOOTSTRAP_TIMEOUT_MS = 60_000;
const TEAM = ["--team", "demo", "--tier", "enterprise", "--operator", "--json"];

/** A new address each time: the database may be in use already, and a fixed address may belong to an account there. */
const newOwner = () => `owner-${randomBytes(6).toString("hex")}@rcpt.local`;

function isKeys(value: unknown): value is DemoKeys {
  const keys = value as Partial<DemoKeys> | null;
  return typeof keys?.live_key === "string" && typeof keys.test_key === "string";
}

const hasSession = (made: object): made is { session_token: string } =>
  "session_token" in made && typeof made.session_token === "string";

/** Sets the owner's first password. */
async function setPassword(url: string, session: string, password: string): Promise<void> {
  const answer = await fetch(`${url}/v1/auth/password`, {
    method: "POST",
    headers: { Authorization: `Bearer ${session}`, "Content-Type": "application/json" },
    body: JSON.stringify({ new_password: password }),
  });
  if (!answer.ok) throw new Error(`the demo owner's password was refused: ${await answer.text()}`);
}

/** The live and the test key of the demo team of this database: made the first time, then always the same. */
export async function demoKeys({
  folder,
  database,
  root,
  entry,
  env,
  url,
}: DemoKeysOptions): Promise<DemoKeys> {
  const name = createHash("sha256").update(database).digest("hex").slice(0, 16);
  const file = join(folder, `keys-${name}.json`);
  if (!existsSync(file)) {
    const email = newOwner();
    const args = [...entry, "bootstrap", "--email", email, ...TEAM];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd: root,
      env,
      timeout: BOOTSTRAP_TIMEOUT_MS,
    });
    const made: unknown = JSON.parse(stdout);
    if (!isKeys(made) || !hasSession(made)) throw new Error("bootstrap printed no keys");
    const { live_key, test_key, session_token } = made;
    const password = randomBytes(12).toString("base64url");
    await setPassword(url, session_token, password);
    const keys: DemoKeys = { live_key, test_key, sign_in: { email, password } };
    writeFileSync(`${file}.new`, JSON.stringify(keys), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
  const kept: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (!isKeys(kept)) throw new Error(`${file} holds no keys; remove it`);
  return kept;
}
