import { spawn } from "node:child_process";

const OUTPUT_MAX = 8_000_000;

/** Runs a program to its end. Standard output and error as one text, or standard output alone. Rejects when it cannot be run. */
export function run(
  command: string,
  args: readonly string[],
  options: { cwd: string; timeoutMs: number; stdoutOnly?: boolean; env?: NodeJS.ProcessEnv },
): Promise<{ code: number | null; output: string; errors: string }> {
  return new Promise((resolve, reject) => {
    const { cwd, timeoutMs, stdoutOnly = false, env = process.env } = options;
    const child = spawn(command, args, {
      cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    // Not spawn's own: that one goes on, and keeps us here, where there was no such program.
    const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
    let output = "";
    let errors = "";
    child.stdout.on("data", (chunk) => {
      if (output.length < OUTPUT_MAX) output += chunk;
    });
    child.stderr.on("data", (chunk) => {
      if (errors.length < OUTPUT_MAX) errors += chunk;
    });
    child.once("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve({ code, output: stdoutOnly ? output : output + errors, errors });
    });
  });
}
