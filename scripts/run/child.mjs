// Programs that run.mjs runs to their end. Plain JavaScript: it must work before anything is installed.
import { spawn } from "node:child_process";

const OUTPUT_MAX = 20_000;
const FAILURE_LINES = 25;

/**
 * Runs a child to its end, passing signals on. Resolves to its exit code, or to the signal that ended it.
 * @param options of `spawn`, and `onChild(child)`, called at once
 */
export function runToEnd(command, args, { onChild, ...options }) {
  return new Promise((resolve) => {
    const child = spawn(command, args, options);
    onChild?.(child);
    const signals = ["SIGINT", "SIGTERM"];
    const passOn = (signal) => child.kill(signal);
    for (const signal of signals) process.on(signal, passOn);
    const end = (how) => {
      for (const signal of signals) process.off(signal, passOn);
      resolve(how);
    };
    child.once("error", (error) => {
      process.stderr.write(`rcpt: cannot run ${command}: ${error.message}\n`);
      end(1);
    });
    child.once("close", (code, signal) => end(signal ?? code));
  });
}

/**
 * Runs `npm ci` in `folder`, by the npm that runs this and its own Node.js, else by the one on the PATH. Captures its
 * output.
 * @returns `outcome` as of runToEnd, and the first `lines` of its output, without the registry's name
 */
export async function npmCi(folder, args, onChild) {
  const npm = process.env.npm_execpath?.endsWith(".js")
    ? [process.execPath, process.env.npm_execpath]
    : [process.platform === "win32" ? "npm.cmd" : "npm"];
  let output = "";
  const keep = (chunk) => {
    output = (output + chunk).slice(0, OUTPUT_MAX);
  };
  const all = ["ci", ...args, "--no-audit", "--no-fund", "--loglevel=error"];
  const outcome = await runToEnd(npm[0], [...npm.slice(1), ...all], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    onChild(child) {
      onChild(child);
      child.stdout.on("data", keep);
      child.stderr.on("data", keep);
    },
  });
  // Which registry is used is this machine's affair.
  const lines = output.replaceAll(/https?:\/\/[^\s"']+/g, "<registry>").trim();
  return { outcome, lines: lines.split("\n").slice(0, FAILURE_LINES).join("\n") };
}
