// npm start: runs everything on this machine. Starts PostgreSQL, Redis and object storage where the settings name none,
// starts the service on them, and prints how to use it. Data is kept in .rcpt/ between runs.
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { docsBuild } from "./build/docs.ts";
import type { KeptBuild } from "./build/kept-build.ts";
import { portalBuild } from "./build/portal.ts";
import type { Guard } from "./embedded/guard.ts";
import { runGuarded } from "./embedded/guarded.ts";
import { type Stack, startStack } from "./embedded/stack.ts";
import { startEntry } from "./start/entry.ts";
import { demoKeys } from "./start/keys.ts";
import { takeLock } from "./start/lock.ts";
import { checkPort25, explainPort25, port25Config } from "./start/port25.ts";
import { keptSecretsKey } from "./start/secrets-key.ts";
import { stackSettings, wantedServices, writeEnvFile } from "./start/settings.ts";
import { welcome } from "./start/welcome.ts";

const ROOT = resolve(import.meta.dirname, "..");
const HOME = join(ROOT, ".rcpt");
const ENTRY = ["--import", "tsx", "src/main.ts"];
const PORT25_WITHIN_MS = 1_500;

const say = (line: string) => console.log(`rcpt: ${line}`);

/** Identity of the database over restarts: the embedded one changes its port with every run, but never its password. */
function databaseIdentity(stack: Stack, env: NodeJS.ProcessEnv): string {
  if (stack.postgres) return `embedded ${new URL(stack.postgres.url).password}`;
  return env.DATABASE_URL ?? `file ${env.DATABASE_URL_FILE}`;
}

async function tellPort25(): Promise<void> {
  const config = port25Config(process.env);
  if (config === null) return;
  console.log(explainPort25(await checkPort25(config, PORT25_WITHIN_MS), config.smtp.heloNameGiven));
}

/** Builds what is missing. The API serves without it: a failed build is printed, and the start continues. */
function ensureBuilt(what: string, build: KeptBuild): void {
  try {
    if (build.isCurrent()) return;
    say(`building ${what}`);
    build.provide();
  } catch (error) {
    say(`${what} could not be built: ${error}`);
  }
}

/** Brings everything up. Resolves to how the first part that must not end has ended. */
async function run(guard: Guard): Promise<string> {
  mkdirSync(HOME, { recursive: true, mode: 0o711 });
  const lock = join(HOME, "lock");
  await takeLock(lock, guard.pid, say);
  guard.removeAtEnd(lock);
  const port25 = tellPort25();
  const wanted = wantedServices(process.env);
  if (wanted.length > 0) say(`starting ${wanted.join(", ")}`);
  const stack = await startStack({
    dir: join(HOME, "data"),
    cacheDir: join(HOME, "cache"),
    wanted,
    throwaway: false,
    guard,
    say,
  });
  const env: NodeJS.ProcessEnv = {
    HOST: "127.0.0.1",
    ...process.env,
    ...stackSettings(stack),
    ...keptSecretsKey(HOME, process.env),
    ROLE: "all",
  };
  const envFile = join(HOME, "env");
  guard.removeAtEnd(envFile);
  writeEnvFile(envFile, env);
  ensureBuilt("the portal", portalBuild);
  ensureBuilt("the documents", docsBuild);
  say("starting the service");
  const running = await startEntry({ root: ROOT, entry: ENTRY, env, guard });
  const database = databaseIdentity(stack, env);
  const keys = await demoKeys({ folder: HOME, database, root: ROOT, entry: ENTRY, env, url: running.url });
  await port25;
  console.log(welcome({ running, keys, home: HOME, postgresFolder: stack.postgres?.folder ?? null }));
  return Promise.race([stack.ended, running.exited.then((how) => `the service ended (${how})`)]);
}

/** Serves until a part that must not end has ended: that is a failure. */
async function start(guard: Guard, stopping: AbortSignal): Promise<number> {
  const ended = await run(guard);
  if (!stopping.aborted) say(ended);
  return 1;
}

runGuarded(start, { interruptedCode: 0, onInterrupt: () => console.log("\nrcpt: stopping") });
