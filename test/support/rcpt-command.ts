import { spawn } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { startInTerminal, type TerminalOptions, type TerminalSession } from "./terminal.ts";

const { RCPT_TEST_SERVICE } = process.env;
/**
 * Command that runs `rcpt` in any folder: as built beside the service, which starts in a fraction of the time, else
 * from its source.
 */
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
  /** Environment beside what Node.js needs; nothing else is inherited. */
  env: Record<string, string>;
  /** Written to standard input, which is closed then unless `isOpen`. */
  input?: string;
  isOpen?: boolean;
  /** Called at once; `interrupt` does what Ctrl-C does. */
  onStart?(interrupt: () => void): void;
  /** Called with the whole standard output so far. */
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
