import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { SETTING_NAMES } from "../../../src/config/config.ts";
import { RCPT_COMMAND } from "../rcpt-command.ts";
import type { TestDeployment } from "../service.ts";
import type { Call } from "./shell.ts";

/** `node dist/src/main.js` as the documents call it, run on a deployment of the test's. */

const { RCPT_TEST_SERVICE } = process.env;
const MAIN =
  RCPT_TEST_SERVICE === undefined
    ? ["--import", "tsx", resolve(import.meta.dirname, "../../../src/main.ts")]
    : [RCPT_TEST_SERVICE];
/** They examine what the machine of a test does not have (port 25, names, Stripe): 1 says so, and only 2 is the caller's mistake. */
const EXAMINERS = ["doctor", "preflight"];
const SERVES = '"msg":"serving"';

/** Runs a program, and ends it as soon as it says `until`. @returns its exit code and outputs */
function runUntil(
  [program, ...args]: readonly [string, ...string[]],
  env: Record<string, string>,
  until: string | null,
): Promise<{ code: number | null; output: string }> {
  const { PATH = "", RCPT_RUN = "" } = process.env;
  const child = spawn(program, args, { env: { PATH, RCPT_RUN, HOME: "/nonexistent", ...env } });
  let output = "";
  let isStopped = false;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      if (isStopped || until === null || !output.includes(until)) return;
      isStopped = true;
      child.kill("SIGTERM");
    });
  return new Promise((done, fail) => {
    child.once("error", fail);
    child.once("close", (code) => done({ code, output }));
  });
}

/** Settings that a document gives a command beside those of the deployment. */
const settingsOf = (env: Record<string, string>) =>
  Object.fromEntries(
    SETTING_NAMES.filter((name) => env[name] !== undefined).map((name) => [name, env[name] ?? ""]),
  );

export interface DocumentedMain {
  /** `main` with these arguments; without any it serves ROLE until it says that it does. Rejects with what it printed. */
  run(args: readonly string[], env: Record<string, string>): Promise<void>;
  /** `node ...` */
  node(call: Call): Promise<void>;
  /** `rcpt ...` of this checkout, which probes the mail world. */
  rcpt(call: Call): Promise<void>;
}

export function createDocumentedMain(deployment: TestDeployment): DocumentedMain {
  const { settings, sql } = deployment;
  let accounts = 0;

  /** Frees the address for `bootstrap`: several pages create the same email, and all run in one deployment. */
  async function freeEmail(email: string): Promise<void> {
    accounts += 1;
    await sql`update users set email = ${`before${accounts}@example.com`} where email = ${email}`;
  }

  async function run(args: readonly string[], env: Record<string, string>): Promise<void> {
    const [verb] = args;
    if (verb === "bootstrap") await freeEmail(args[args.indexOf("--email") + 1] ?? "");
    const own = { ...settings, LOG_LEVEL: "info", ...settingsOf(env) };
    const serving = verb === undefined ? SERVES : null;
    const { code, output } = await runUntil([process.execPath, ...MAIN, ...args], own, serving);
    const isFine = code === 0 || (code === 1 && EXAMINERS.includes(verb ?? ""));
    assert.ok(isFine, `main ${args.join(" ")} ends with ${code}: ${output}`);
    if (serving !== null) assert.ok(output.includes(serving), output);
  }

  return {
    run,
    async node({ args: [entry, ...args], env }) {
      assert.equal(entry, "dist/src/main.js", "not the entry of the image and of `npm run build`");
      await run(args, env);
    },
    async rcpt({ args }) {
      const { DNS_SERVERS = "", SMTP_PORT = "", SMTP_HELO_NAME = "" } = settings;
      const probing = { DNS_SERVERS, SMTP_PORT, SMTP_HELO_NAME, PROBE_PRIVATE_ADDRESSES: "true" };
      const { code, output } = await runUntil([...RCPT_COMMAND, ...args], probing, null);
      assert.equal(code, 0, output);
    },
  };
}
