import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { delimiter, join } from "node:path";
import { json, text } from "node:stream/consumers";

/** A program as a shell calls it. */
export interface Call {
  args: string[];
  cwd: string;
  env: Record<string, string>;
  /** What its standard input held. */
  input: string;
}

export interface CallOutcome {
  /** 0 unless given. */
  code?: number;
  stdout?: string;
}

/** What stands in for a program. What it throws is printed on standard error, and the program fails. */
export type StandIn = (call: Call) => CallOutcome | Promise<CallOutcome>;

/** A stand-in that prints nothing. */
export const silent =
  (work: (call: Call) => Promise<void>): StandIn =>
  async (call) => {
    await work(call);
    return {};
  };

export interface ReaderShell {
  /** Runs a script to its end, in `cwd`. @returns both outputs; code null: a signal ended it */
  run(
    script: string,
    cwd: string,
    env: Record<string, string>,
  ): Promise<{ code: number | null; output: string }>;
  close(): Promise<void>;
}

const FAILED = 70;

/** By itself curl ends with 0 whatever the status of the answer: a command with a wrong path would be taken for a right one. */
const CURL_OPTIONS = "fail\nshow-error\n";

/** The program that the shell finds: it asks the test for its outcome. CommonJS, as a file without an ending is. */
const PROGRAM = `
const { readFileSync } = require("node:fs");
const { request } = require("node:http");
const input = readFileSync(0, "utf8");
const call = { program: PROGRAM_NAME, args: process.argv.slice(2), cwd: process.cwd(), env: process.env, input };
const asked = request({ socketPath: SOCKET, method: "POST" }, async (response) => {
  let body = "";
  for await (const chunk of response.setEncoding("utf8")) body += chunk;
  const { code, stdout, stderr } = JSON.parse(body);
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  process.exitCode = code;
});
asked.end(JSON.stringify(call));
`;

/** Where a program of the machine is. */
function pathOf(program: string): string {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    try {
      if (readdirSync(folder).includes(program)) return join(folder, program);
    } catch {
      // On PATH, and not there.
    }
  }
  return assert.fail(`${program} is not installed`);
}

async function answer(standIn: StandIn | undefined, call: Call): Promise<object> {
  try {
    assert.ok(standIn);
    const { code = 0, stdout = "" } = await standIn(call);
    return { code, stdout, stderr: "" };
  } catch (error) {
    return { code: FAILED, stdout: "", stderr: `${(error as Error).message}\n` };
  }
}

/**
 * A shell that knows these programs and no others: a command of a document that is neither is not found, and fails. So does curl
 * when it is answered 400 or above.
 *
 * @param folder of its own, with a short path: a socket lies in it
 * @param programs of the machine, run as they are
 */
export async function createReaderShell(
  folder: string,
  standIns: Readonly<Record<string, StandIn>>,
  programs: readonly string[],
): Promise<ReaderShell> {
  const bin = join(folder, "bin");
  const socket = join(folder, "calls");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(folder, ".curlrc"), CURL_OPTIONS);
  for (const program of programs) symlinkSync(pathOf(program), join(bin, program));
  for (const name of Object.keys(standIns)) {
    const body = PROGRAM.replace("PROGRAM_NAME", JSON.stringify(name)).replace(
      "SOCKET",
      JSON.stringify(socket),
    );
    writeFileSync(join(bin, name), `#!${process.execPath}\n${body}`);
    chmodSync(join(bin, name), 0o755);
  }
  const server = createServer(async (request, response) => {
    const { program, ...call } = (await json(request)) as Call & { program: string };
    response.end(JSON.stringify(await answer(standIns[program], call)));
  });
  // A documented command may take its time: none of the server's own limits is meant for it.
  server.requestTimeout = 0;
  await new Promise<void>((listening) => server.listen(socket, listening));
  return {
    async run(script, cwd, env) {
      const bash = pathOf("bash");
      const child = spawn(bash, ["-euo", "pipefail", "-c", script], {
        cwd,
        env: { ...env, PATH: bin, CURL_HOME: folder, RCPT_RUN: process.env.RCPT_RUN ?? "" },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const ended = new Promise<number | null>((end) => child.once("close", end));
      const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
      return { code, output: out + err };
    },
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
