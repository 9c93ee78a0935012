import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseOptions as parseLoadOptions } from "../../../bench/load/options.ts";
import { readBenchOptions } from "../../../bench/setup/options.ts";
import { readOptions as readCapacityOptions } from "../../../scripts/capacity/options.ts";
import { chaosOptions } from "../../../scripts/chaos/options.ts";
import { readCompatOptions } from "../../../scripts/compat/options.ts";
import { readImageOptions } from "../../../scripts/image/options.ts";
import { readReleaseOptions } from "../../../scripts/release/options.ts";
import { readOptions as readRollingOptions } from "../../../scripts/rolling/options.ts";
import { parseTestOptions } from "../../../scripts/test/options.ts";
import type { Call } from "./shell.ts";

/** `npm start`, `npm test` and `npm run`, held to package.json and to each command's own parser of options. */

const ROOT = resolve(import.meta.dirname, "../../..");
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  scripts: Record<string, string>;
};

/** `npm run` calls that are done for real. */
export type Verbs = Readonly<Record<string, (call: Call) => Promise<void>>>;

function testPaths(args: string[]): void {
  for (const path of parseTestOptions(args).filters) assert.ok(existsSync(join(ROOT, path)), `no ${path}`);
}

const wordsOfText = (text: string) => text.split(" ").filter((word) => word !== "");

/** Its suite takes paths too, and its bench the bench's own options. */
function imageOptions(args: string[]): void {
  const { tests, only, benchArgs } = readImageOptions(args);
  testPaths(wordsOfText(tests));
  if (only === "bench") readBenchOptions(wordsOfText(benchArgs));
}

/**
 * Commands that take minutes, or a machine to themselves: their options are parsed, and they are not run. Each has tests of its own.
 * A parser throws at what it does not know.
 */
const PARSERS: Readonly<Record<string, (call: Call) => unknown>> = {
  bench: ({ args }) => readBenchOptions(args),
  capacity: ({ args, cwd }) => {
    const words = args.map((word, at) => (args[at - 1] === "--config" ? join(cwd, word) : word));
    assert.notEqual(readCapacityOptions(words).mode, "help");
  },
  chaos: ({ args }) => chaosOptions(args, () => 1),
  compat: ({ args }) => readCompatOptions(args),
  image: ({ args }) => imageOptions(args),
  load: ({ args, env }) => assert.equal(parseLoadOptions(args, env, 1).help, false),
  release: ({ args }) => readReleaseOptions(args),
  rolling: ({ args }) => readRollingOptions(args),
  test: ({ args }) => testPaths(args),
};

/** The script of `npm ...`, and what is behind `--`. */
export function scriptCall([verb = "", ...rest]: readonly string[]): { script: string; args: string[] } {
  const end = [...rest, "--"].indexOf("--");
  const own = rest.slice(0, end).filter((word) => verb !== "run" || word !== "--silent");
  const [script = "", ...more] = [...(verb === "run" ? [] : [verb]), ...own, ...rest.slice(end)];
  assert.ok(verb === "run" || ["start", "test"].includes(verb), `npm ${verb} is no command of this project`);
  assert.ok(Object.hasOwn(scripts, script), `package.json has no script ${script}`);
  assert.ok(more.length === 0 || more[0] === "--", `npm takes ${more[0]} for itself: -- has to be before it`);
  return { script, args: more.slice(1) };
}

export async function npm(call: Call, verbs: Verbs): Promise<void> {
  const { script, args } = scriptCall(call.args);
  const given = { ...call, args };
  const run = verbs[script];
  if (run !== undefined) return run(given);
  const parse = PARSERS[script];
  if (parse !== undefined) parse(given);
  else assert.deepEqual(args, [], `no test knows the options of ${script}`);
}
