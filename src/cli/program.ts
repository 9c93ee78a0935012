import { Command, CommanderError } from "commander";
import { RcptError } from "../../packages/client/src/http/errors.ts";
import { ConfigError } from "../config/config.ts";
import { type Terminal, UsageError } from "../operator/command.ts";
import { AppError } from "../platform/errors.ts";
import { EXIT } from "../platform/exit-codes.ts";
import { VERSION } from "../platform/version.ts";
import { blocklistCommand } from "./account/blocklist.ts";
import { keysCommand } from "./account/keys.ts";
import { loginCommand, logoutCommand } from "./account/login.ts";
import { teamCommand } from "./account/team.ts";
import { webhooksCommand } from "./account/webhooks.ts";
import { bulkCommand, submitList } from "./bulk.ts";
import { check, checkCommand, EXIT_INTERRUPTED } from "./check.ts";
import { completionCommand } from "./completion.ts";
import { feedbackCommand, sendFeedback } from "./feedback.ts";
import { jobsCommand } from "./jobs.ts";
import { openCommand } from "./open.ts";
import { printable } from "./printable.ts";
import { showUsage, usageCommand } from "./usage.ts";
import { verify, verifyCommand } from "./verify.ts";

/** Advice for the person; "" when the message has it already. */
function adviceOf(error: unknown): string {
  if (!(error instanceof RcptError)) return "";
  if (error.code === "unauthorized") return " Is your key one of this service? rcpt login makes one.";
  if (error.code === "network_error") return " Is its URL right, and is it up?";
  return error.retryAfterS === null ? "" : ` Try again in ${error.retryAfterS} s.`;
}

/** Whatever went wrong, in one line. @returns the exit code */
function report(error: unknown, { stderr }: Terminal): number {
  // Commander has printed its message already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.misconfigured;
  // The person interrupted a prompt.
  if (error instanceof Error && error.name === "ExitPromptError") return EXIT_INTERRUPTED;
  const code = error instanceof AppError || error instanceof RcptError ? ` (${error.code})` : "";
  const said = error instanceof Error ? error.message : String(error);
  stderr(`rcpt: ${printable(said)}${code}${adviceOf(error)}\n`);
  return error instanceof UsageError || error instanceof ConfigError ? EXIT.misconfigured : EXIT.failed;
}

/** The tree of commands. @param end receives the exit code of a command that has one of its own */
export function createProgram(terminal: Terminal, end: (code: number) => void): Command {
  const program = new Command("rcpt")
    .description("Verify email addresses.")
    .version(VERSION)
    .exitOverride()
    .showHelpAfterError("(rcpt --help says more)")
    .configureOutput({ writeOut: terminal.stdout, writeErr: terminal.stderr });
  const commands = [
    checkCommand().action(async (addresses, options) => end(await check(addresses, options))),
    verifyCommand().action(async (addresses, options) => end(await verify(addresses, options))),
    bulkCommand().action(async (path, options) => end(await submitList(path, options))),
    jobsCommand(end),
    feedbackCommand().action(async (files, options) => end(await sendFeedback(files, options))),
    usageCommand().action(async (options) => end(await showUsage(options))),
    keysCommand(),
    teamCommand(),
    webhooksCommand(end),
    blocklistCommand(end),
    loginCommand(),
    logoutCommand(end),
    openCommand(),
    completionCommand(program, terminal.stdout),
  ];
  for (const command of commands) {
    for (const inner of [command, ...command.commands]) inner.copyInheritedSettings(program);
    program.addCommand(command);
  }
  return program;
}

/**
 * The command `rcpt`. Results go to standard output as they come.
 * @param argv without Node.js and the script
 * @returns the exit code: 0 done, 1 failed, 2 wrong arguments or settings, or a command's own code
 */
export async function runProgram(argv: readonly string[], terminal: Terminal): Promise<number> {
  let code: number = EXIT.done;
  const program = createProgram(terminal, (ended) => {
    code = ended;
  });
  try {
    await program.parseAsync(argv, { from: "user" });
    return code;
  } catch (error) {
    return report(error, terminal);
  }
}
