// npm run image [-- --trixie] [--tests PATH,PATH | --all-tests]
// npm run image -- --test [PATH...]      only the suite, or some of it, on the image's Node.js
// npm run image -- --bench [ARG...]      only the bench there, with the bench's own arguments, as `single --quick`
//
// Carries out the Dockerfile without a container engine: its instructions, stage by stage, in a folder that is removed
// at the end. Then runs what the image would run, as it would run it, on services of this machine. With --trixie, as
// root on Debian, it does so in namespaces on the base image's own distribution and Node.js, and runs the `test` stage
// there too (default: test/unit). docs/image.md says what that proves. Exit code: 0 all as expected; 1 not; 2
// impossible here.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { SETTING_NAMES } from "../src/config/config.ts";
import { createMailWorld } from "../test/support/mail-world/world.ts";
import type { Guard } from "./embedded/guard.ts";
import { runGuarded } from "./embedded/guarded.ts";
import { whyNoPackages } from "./embedded/private-apt.ts";
import { runsAsRoot } from "./embedded/reachable.ts";
import { SERVICES, startStack } from "./embedded/stack.ts";
import { fillNpmCache, putBaseTogether } from "./image/base.ts";
import { createContainers, type Production } from "./image/containers.ts";
import { type Dockerfile, parseDockerfile } from "./image/dockerfile.ts";
import { type ImageOptions, readImageOptions } from "./image/options.ts";
import { createHostRoom, createNamespaceRoom, type Room } from "./image/room.ts";
import { endVerbs, lookAround, type Shown, serve } from "./image/shown.ts";
import { Build, StepFailed } from "./image/stages.ts";
import { sizeTable } from "./image/tree.ts";
import { whyNoSandbox } from "./mta/sandbox.ts";
import { keptSecretsKey } from "./start/secrets-key.ts";
import { stackSettings } from "./start/settings.ts";

const ROOT = resolve(import.meta.dirname, "..");
const CACHE = join(ROOT, ".rcpt/cache/image");
/** How many files, in which time, and how many tests passed. */
const TOTALS_LINES = 3;
const lastLines = (text: string, count: number) => text.split("\n").slice(-count).join("\n");
const say = (line: string) => console.log(`image: ${line}`);

/** One line that says why --trixie cannot be done here, or null. */
async function whyNotHere(): Promise<string | null> {
  if (!runsAsRoot()) return "needs root: it mounts file systems, in namespaces of its own";
  return whyNoPackages() ?? (await whyNoSandbox());
}

/** This machine's environment for the steps of a build: npm's settings are in there, ours are not to be. */
function hostEnvironment(guard: Guard): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env, ...guard.env };
  for (const name of SETTING_NAMES) delete env[name];
  return env;
}

async function openRoom(
  dockerfile: Dockerfile,
  { asked, work, guard, stop }: { asked: ImageOptions; work: string; guard: Guard; stop: AbortSignal },
): Promise<Room> {
  if (!asked.trixie) return createHostRoom(guard, { env: hostEnvironment(guard), asRoot: runsAsRoot() });
  const image = dockerfile.args.get("NODE_IMAGE") ?? "";
  mkdirSync(CACHE, { recursive: true });
  const base = await putBaseTogether(image, { cacheDir: CACHE, guard, stop, say });
  const mount = join(work, "root");
  mkdirSync(mount);
  say("having npm fetch what package-lock.json names");
  const npm = await fillNpmCache(ROOT, work);
  return createNamespaceRoom(guard, { base, mount, npm, description: `${image}, put together of its parts` });
}

/**
 * Makes the folder read-only for every user, as a read-only root file system. The mode of the scratch folder does not
 * change.
 */
function seal(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    chmodSync(path, entry.isDirectory() ? 0o555 : 0o444);
  }
  chmodSync(folder, 0o555);
}

/** The embedded services and the mail world, as settings. */
async function startWorld(work: string, guard: Guard): Promise<Record<string, string>> {
  const dir = join(work, "services");
  const cacheDir = join(ROOT, ".rcpt/cache");
  const [stack, world] = await Promise.all([
    startStack({ dir, cacheDir, wanted: SERVICES, throwaway: true, guard, say }),
    createMailWorld(),
  ]);
  return {
    HOST: "127.0.0.1",
    LOG_LEVEL: "warn",
    CHECK_THREADS: "1",
    DNS_SERVERS: world.dnsServer,
    SMTP_PORT: String(world.smtpPort),
    SMTP_HELO_NAME: "probe.rcpt.test",
    PROBE_PRIVATE_ADDRESSES: "true",
    VERIFY_DEADLINE_MS: "30000",
    ...stackSettings(stack),
    ...keptSecretsKey(work, {}),
  };
}

/** Runs containers of the built image. Resolves to the results of the checks. */
async function show(production: Production, isOwnProcess1: boolean): Promise<Shown[]> {
  const containers = createContainers(production);
  const imageUid = Number(production.settings.user.split(":")[0]);
  const uid = runsAsRoot() ? imageUid : (process.getuid?.() ?? imageUid);
  return [
    ...(await lookAround(containers, { uid, ...(isOwnProcess1 ? { pid: 1 } : {}) })),
    ...(await serve(containers)),
    ...(await endVerbs(containers)),
  ];
}

/**
 * Runs `run` and stores all of its output in a file; prints the figures at its end. Resolves to whether it succeeded.
 */
async function keepLog(name: string, run: () => Promise<string>): Promise<boolean> {
  const file = join(ROOT, ".rcpt", `image-${name}.log`);
  try {
    const log = await run();
    writeFileSync(file, `${log}\n`);
    console.log(`\n${name === "bench" ? log : lastLines(log, TOTALS_LINES)}`);
    return true;
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    writeFileSync(file, `${error.log}\n`);
    console.log(`\n${error.message}`);
    return false;
  } finally {
    say(`all it said is in ${file}`);
  }
}

/** Builds the test stage, whose last step is the suite. */
const test = (build: Build) => keepLog("test", async () => (await build.stage("test")).logs.at(-1) ?? "");

const bench = (build: Build, args: string) =>
  keepLog("bench", () => build.run("build", `npm run --silent bench -- ${args}`));

function report(shown: readonly Shown[]): void {
  for (const { what, found, ok } of shown)
    console.log(`${ok ? "ok    " : "NOT OK"}  ${what.padEnd(28)} ${found}`);
}

async function main(guard: Guard, stop: AbortSignal): Promise<number> {
  const asked = readImageOptions(process.argv.slice(2));
  const why = asked.trixie ? await whyNotHere() : null;
  if (why !== null) {
    console.log(`image: the image's own system ${why}; nothing was done`);
    return 2;
  }
  const work = mkdtempSync(join(tmpdir(), "rcpt-image-"));
  guard.removeAtEnd(work);
  chmodSync(work, 0o711);
  const dockerfile = parseDockerfile(readFileSync(join(ROOT, "Dockerfile"), "utf8"));
  const room = await openRoom(dockerfile, { asked, work, guard, stop });
  say(`no engine is used: the Dockerfile's steps run on ${room.description}`);
  const buildArgs = new Map([["TESTS", asked.tests]]);
  const build = new Build({ dockerfile, context: ROOT, work, room, buildArgs, say });
  if (asked.only !== null)
    return (await (asked.only === "test" ? test(build) : bench(build, asked.benchArgs))) ? 0 : 1;
  const { layers } = await build.stage("production");
  const [layer = ""] = layers;
  const settings = build.settings("production");
  console.log(["", ...sizeTable(join(layer, settings.workdir)), ""].join("\n"));
  if (!asked.trixie) seal(join(layer, settings.workdir));
  const env = await startWorld(work, guard);
  const shown = await show({ room, layers, settings, env, work }, asked.trixie);
  report(shown);
  const testsPass = !asked.trixie || (await test(build));
  return testsPass && shown.every(({ ok }) => ok) ? 0 : 1;
}

runGuarded(main, { interruptedCode: 1 });
