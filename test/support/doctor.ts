import assert from "node:assert/strict";
import { Redis } from "ioredis";
import { loadConfig } from "../../src/config/config.ts";
import { doctorCommand } from "../../src/operator/commands.ts";
import type { DoctorFinding } from "../../src/operator/doctor/finding.ts";
import type { GroupReport } from "../../src/operator/doctor.ts";
import { systemClock } from "../../src/platform/time/clock.ts";
import { createObjectStore } from "../../src/stores/objects/objects.ts";
import { createPostgres, type Database } from "../../src/stores/postgres/postgres.ts";
import { createTestDatabase } from "./embedded.ts";
import { listBelow } from "./uploads.ts";

export interface Outcome {
  code: number;
  ok: boolean;
  groups: GroupReport[];
  /** Failed findings, as `check: seen`. */
  failing: string[];
  find(group: string, check: string): DoctorFinding[];
  /** States of a check's findings. */
  states(group: string, check: string): DoctorFinding["state"][];
}

export interface Doctor {
  /** @param changed settings; an empty one is not set */
  run(changed: Record<string, string>, ...argv: string[]): Promise<Outcome>;
  /** Runs the command without `--json`; `words` is its output. */
  tell(...argv: string[]): Promise<{ code: number; words: string }>;
  /** Asserts that no run so far printed one of these secrets, or a secret of the settings. */
  assertDiscreet(...secrets: string[]): void;
}

/** The doctor as a command, on settings that are changed for each run. */
export function createDoctor(settings: Record<string, string>): Doctor {
  let printed = "";
  async function examine(env: Record<string, string>, argv: string[]) {
    let words = "";
    const stdout = (text: string) => {
      words += text;
    };
    const code = await doctorCommand({ argv, env, stdout, stderr: assert.fail });
    printed += words;
    return { code, words };
  }
  return {
    async run(changed, ...argv) {
      const { code, words } = await examine({ ...settings, ...changed }, ["--json", ...argv]);
      const { ok, groups } = JSON.parse(words) as { ok: boolean; groups: GroupReport[] };
      const find = (group: string, check: string) =>
        groups.find(({ name }) => name === group)?.findings.filter((finding) => finding.check === check) ??
        [];
      const all = groups.flatMap(({ findings }) => findings);
      return {
        code,
        ok,
        groups,
        failing: all.filter(({ state }) => state === "fail").map(({ check, seen }) => `${check}: ${seen}`),
        find,
        states: (group, check) => find(group, check).map(({ state }) => state),
      };
    },
    tell: (...argv) => examine(settings, argv),
    assertDiscreet(...others) {
      assert.notEqual(printed, "");
      const { DATABASE_URL = "", S3_SECRET_ACCESS_KEY = "", SECRETS_KEY = "" } = settings;
      const own = [new URL(DATABASE_URL).password, S3_SECRET_ACCESS_KEY, SECRETS_KEY];
      for (const [i, secret] of [...own, ...others].entries()) {
        assert.ok(secret.length > 6);
        assert.ok(!printed.includes(secret), `secret ${i} was printed`);
      }
    },
  };
}

/** Asserts that exactly the expected checks fail, in this order, and that the command exits with 1. */
export function fails({ code, ok, failing }: Outcome, ...expected: RegExp[]): void {
  assert.equal(failing.length, expected.length, failing.join("\n"));
  for (const [i, pattern] of expected.entries()) assert.match(failing[i] ?? "", pattern);
  assert.deepEqual([code, ok], [1, false]);
}

/**
 * Runs `work` on a database that no process of the service uses; drops it at the end.
 * @param schema first in every connection's search path; absent: `public`
 */
export async function withDatabase(
  work: (sql: Database, url: string) => Promise<void>,
  schema?: string,
): Promise<void> {
  const database = await createTestDatabase();
  const connect = () =>
    createPostgres({ url: database.url, maxConnections: 2, applicationName: "rcpt-scenario" });
  if (schema !== undefined) {
    const sql = connect();
    const name = new URL(database.url).pathname.slice(1);
    await sql.unsafe(`create schema "${schema}"; alter database ${name} set search_path = "${schema}"`);
    await sql.end();
  }
  const sql = connect();
  try {
    await work(sql, database.url);
  } finally {
    await sql.end({ timeout: 1 });
    await database.drop();
  }
}

/** Everything that the doctor left in the stores of a deployment: tables, keys, objects, multipart uploads. */
export async function leftBehind(settings: Record<string, string>): Promise<string[]> {
  const { database, redis: own, objects } = loadConfig(settings);
  assert.ok(objects !== null);
  const sql = createPostgres({ url: database.url, maxConnections: 1, applicationName: "rcpt-scenario" });
  const redis = new Redis(own.url);
  const store = createObjectStore(objects, systemClock);
  try {
    const tables = await sql<{ name: string }[]>`
      select relname as name from pg_class where relname like 'rcpt_doctor%'`;
    const keys = await redis.keys("rcpt:doctor:*");
    const { objects: whole, parts } = await listBelow(store, "teams/doctor-");
    return [...tables.map(({ name }) => name), ...keys, ...whole, ...parts];
  } finally {
    store.stop();
    redis.disconnect();
    await sql.end({ timeout: 1 });
  }
}
