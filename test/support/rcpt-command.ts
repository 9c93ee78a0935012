import { spawn } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { startInTerminal, type TerminalOptions, type TerminalSession } from "./terminal.ts";

const { RCPT_TEST_SERVICE } = process.env;
/** Runs `rcpt` from whatever folder: as it was built beside the service, which starts in a fraction of the time, or from its source. */
export const RCPT_COMMAND: readonly [string, ...string[]] =
  RCPT_TEST_SERVICE === undefined
    ? [
        ...([process.execPath, "--import", import.meta.resolve("tsx")] as const),
        resolve(import.meta.dirname, "../../src/cli/main.ts"),
      ]
    : [process.execPath, join(dirname(RCPT_TEST_SERVICE), "cli/main.js")];

export interface CommandOutcome {
  /** null: a signal ended it. */
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface CommandOptions {
  /** Beside what Node.js needs; nothing else of this process' environment. */
  env: Record<string, string>;
  /** On standard input, which then ends unless more may come (`isOpen`). */
  input?: string;
  isOpen?: boolean;
  /** Told at once how to interrupt it, as Ctrl-C does. */
  onStart?(interrupt: () => void): void;
  /** Told what standard output has held so far. */
  onOutput?(stdout: string, interrupt: () => void): void;
}

/** `rcpt` in a pseudo-terminal of its own. */
export function startRcptInTerminal(
  args: readonly string[],
  { env, ...rest }: TerminalOptions,
): TerminalSession {
  const { PATH = "", HOME = "", RCPT_RUN = "" } = process.env;
  const all = { PATH, HOME, RCPT_RUN, ...env };
  const [file, ...words] = RCPT_COMMAND;
  return startInTerminal(file, [...words, ...args], { ...rest, env: all });
}

/** Runs `rcpt` in a process of its own, to its end. */
export function runRcpt(
  args: readonly string[],
  { env, input = "", isOpen = false, onStart, onOutput }: CommandOptions,
): Promise<CommandOutcome> {
  const { PATH = "", HOME = "", RCPT_RUN = "" } = process.env;
  const [file, ...words] = RCPT_COMMAND;
  const child = spawn(file, [...words, ...args], {
    env: { PATH, HOME, RCPT_RUN, ...env },
  });
  const printed = { stdout: "", stderr: "" };
  const interrupt = () => void child.kill("SIGINT");
  child.stdout.on("data", (chunk) => {
    printed.stdout += chunk;
    onOutput?.(printed.stdout, interrupt);
  });
  child.stderr.on("data", (chunk) => {
    printed.stderr += chunk;
  });
  if (isOpen) child.stdin.write(input);
  else child.stdin.end(input);
  onStart?.(interrupt);
  return new Promise((done) => child.once("close", (code) => done({ code, ...printed })));
}
