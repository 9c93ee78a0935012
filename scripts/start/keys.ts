import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

export interface DemoKeys {
  live_key: string;
  test_key: string;
}

export interface DemoKeysOptions {
  /** Folder that keeps the keys. */
  folder: string;
  /** What tells this database from others; hashed into the file's name. */
  database: string;
  /** Root of the project, and the command line after `node` that runs the service's entry. */
  root: string;
  entry: string[];
  env: NodeJS.ProcessEnv;
}

const BOOTSTRAP_TIMEOUT_MS = 60_000;
const TEAM = ["--team", "demo", "--tier", "enterprise", "--json"];

/** Of its own each time: the database may be in use already, and a known address somebody's account by now. */
const newOwner = () => `owner-${randomBytes(6).toString("hex")}@rcpt.local`;

function isKeys(value: unknown): value is DemoKeys {
  const keys = value as Partial<DemoKeys> | null;
  return typeof keys?.live_key === "string" && typeof keys.test_key === "string";
}

/** The live and the test key of the demo team of this database: made the first time, then always the same. */
export async function demoKeys({ folder, database, root, entry, env }: DemoKeysOptions): Promise<DemoKeys> {
  const name = createHash("sha256").update(database).digest("hex").slice(0, 16);
  const file = join(folder, `keys-${name}.json`);
  if (!existsSync(file)) {
    const args = [...entry, "bootstrap", "--email", newOwner(), ...TEAM];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd: root,
      env,
      timeout: BOOTSTRAP_TIMEOUT_MS,
    });
    const made: unknown = JSON.parse(stdout);
    if (!isKeys(made)) throw new Error("bootstrap printed no keys");
    const { live_key, test_key } = made;
    writeFileSync(`${file}.new`, JSON.stringify({ live_key, test_key }), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
  const kept: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (!isKeys(kept)) throw new Error(`${file} holds no keys; remove it`);
  return kept;
}
