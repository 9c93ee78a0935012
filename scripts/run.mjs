// node scripts/run.mjs start|test|demo|mta|bench|... [args]
//
// Entry of every command. Plain JavaScript without dependencies: it runs before anything is installed. It fetches a
// Node.js that can load the server where this one cannot, installs what is missing, then runs the command in the same
// terminal. It passes signals on, ends with the command's exit code, and stops the command when the npm that started it
// has ended.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { commandOf, parentOf, startOf } from "./processes.mjs";
import { npmCi, runToEnd } from "./run/child.mjs";
import { withLockFile } from "./run/lock-file.mjs";
import { chooseNode, thisSystem } from "./run/node-choice.mjs";
import { fetchNode } from "./run/node-release.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Commands of src/main.ts on a deployment that is there: also in an image, which has no tsx. */
const OPERATOR_VERBS = ["bootstrap", "team", "overrides", "reclassify", "preflight", "doctor"];
/** Those that need no service: they run also where there is no deployment. */
const LONE_VERBS = ["preflight"];
/** Those that tell themselves what is missing. */
const TELLING_VERBS = ["doctor"];
/** The command `rcpt`, for people and scripts, which may be called from any folder. */
const COMMAND = "rcpt";
const VERBS = [
  COMMAND,
  ...["start", "test", "demo", "mta", "bench", "load", "accuracy", "suggestions", "lists"],
  ...["image", "manifests", "monitoring", "rolling", "chaos", "capacity", "generators", "compat"],
  "release",
  ...OPERATOR_VERBS,
];
const NODE_MIN = [20, 19];
const PARENT_POLL_MS = 500;
const STOP_WITHIN_MS = 75_000;

// Not on standard output: that belongs to the command (`bootstrap --json`).
const say = (line) => process.stderr.write(`${line}\n`);

function fail(line) {
  say(`rcpt: ${line}`);
  process.exit(1);
}

function checkNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1]))
    fail(`Node.js ${NODE_MIN.join(".")} or newer is needed, this is ${process.versions.node}`);
}

/** True when everything in package-lock.json is in node_modules, in the same version, by npm's own record. */
function isInstalled() {
  const record = join(ROOT, "node_modules/.package-lock.json");
  if (!existsSync(record)) return false;
  const wanted = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")).packages;
  const found = JSON.parse(readFileSync(record, "utf8")).packages;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === "") return true;
    // Optional packages are those of other platforms.
    if (found[path] === undefined) return entry.optional === true || entry.devOptional === true;
    return found[path].integrity === entry.integrity && existsSync(join(ROOT, path, "package.json"));
  });
}

/** Watches the parent processes: npm, and the shell that may be between. */
function watchParents(stop) {
  const watched = [process.ppid];
  if (/^(\S*\/)?(sh|ash|bash|dash|zsh) -c /.test(commandOf(process.ppid)))
    watched.push(parentOf(process.ppid));
  const starts = watched.map((pid) => (pid === null ? null : startOf(pid)));
  const timer = setInterval(() => {
    const alive = watched.every((pid, i) => starts[i] === null || startOf(pid) === starts[i]);
    if (alive && process.ppid === watched[0]) return;
    clearInterval(timer);
    stop();
  }, PARENT_POLL_MS);
  timer.unref();
}

let current = null;
watchParents(() => {
  if (current === null) process.exit(1);
  current.kill("SIGTERM");
  setTimeout(() => {
    current?.kill("SIGKILL");
    process.exit(1);
  }, STOP_WITHIN_MS).unref();
});

const watch = (child) => {
  current = child;
};

async function installNow() {
  if (isInstalled()) return;
  say("rcpt: installing the packages of package-lock.json (npm ci)");
  const { outcome, lines } = await npmCi(ROOT, ["--include=dev", "--include=optional"], watch);
  if (outcome === 0) return;
  say(lines);
  finish(outcome, "npm ci failed");
}

/** One run at a time: `npm ci` first removes what another one has just written. */
function install() {
  const onWait = (pid) => say(`rcpt: waiting for the packages that process ${pid} installs`);
  return withLockFile(join(ROOT, ".rcpt/install.lock"), onWait, installNow);
}

/** The path of a Node.js that can load the server here: this one, or one that is fetched. */
async function nodeForServer() {
  const choice = chooseNode(thisSystem());
  if (choice.use === "this") return process.execPath;
  if (choice.use === "none") fail(`cannot run here: ${choice.why}. ${choice.remedy}`);
  const { version } = choice.release;
  say(`rcpt: ${choice.why}; going on with Node.js ${version}`);
  if (version.startsWith("20."))
    say(
      "rcpt: Node.js 20 is out of support and its server is of 2024: try rcpt with it, run the image in production",
    );
  try {
    return await fetchNode(choice.release, { cacheDir: join(ROOT, ".rcpt/cache"), say, onChild: watch });
  } catch (error) {
    return finish(error.outcome ?? 1, error.message);
  }
}

function finish(outcome, why) {
  if (typeof outcome === "string") return process.kill(process.pid, outcome);
  if (outcome !== 0 && why) say(`rcpt: ${why}`);
  process.exit(outcome);
}

/** Loads the settings of a running `npm start`'s services, for a command without settings of its own. */
function useRunningServices(verb) {
  if (process.env.DATABASE_URL || process.env.DATABASE_URL_FILE) return;
  const file = join(ROOT, ".rcpt/env");
  if (existsSync(file)) return process.loadEnvFile(file);
  if (!TELLING_VERBS.includes(verb)) fail("DATABASE_URL is not set, and no `npm start` is running here");
}

async function main() {
  const [verb, ...args] = process.argv.slice(2);
  if (!VERBS.includes(verb)) fail(`usage: node scripts/run.mjs ${VERBS.join("|")} [args]`);
  checkNode();
  // The SDK warns on every start that it will want a newer Node.js next year; that is for us to know, not for the user.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= "true";
  const node = await nodeForServer();
  const compiled = join(ROOT, "dist/src/main.js");
  const isOperator = OPERATOR_VERBS.includes(verb);
  const isCommand = verb === COMMAND;
  const isImage = isOperator && existsSync(compiled) && !existsSync(join(ROOT, "node_modules/tsx"));
  if (!isImage && !isInstalled()) await install();
  if (isOperator && !LONE_VERBS.includes(verb)) useRunningServices(verb);
  const leash = new URL("./run/leash.mjs", import.meta.url).href;
  const entry = isCommand ? ["src/cli/main.ts"] : isOperator ? ["src/main.ts", verb] : [`scripts/${verb}.ts`];
  const program = isImage ? [compiled, verb] : ["--import", "tsx", ...entry];
  const outcome = await runToEnd(node, ["--import", leash, ...program, ...args], {
    cwd: ROOT,
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    onChild: watch,
  });
  finish(outcome);
}

await main();
