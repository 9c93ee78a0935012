import { Command, CommanderError } from "commander";
import { RcptError } from "../../packages/client/src/http/errors.ts";
import { ConfigError } from "../config/config.ts";
import { type Terminal, UsageError } from "../operator/command.ts";
import { AppError } from "../platform/errors.ts";
import { EXIT } from "../platform/exit-codes.ts";
import { VERSION } from "../platform/version.ts";
import { bulkCommand, submitList } from "./bulk.ts";
import { check, checkCommand } from "./check.ts";
import { feedbackCommand, sendFeedback } from "./feedback.ts";
import { jobsCommand } from "./jobs.ts";
import { showUsage, usageCommand } from "./usage.ts";
import { verify, verifyCommand } from "./verify.ts";

/** What to do about it, where the message does not say; "" where it does. */
function adviceOf(error: unknown): string {
  if (!(error instanceof RcptError)) return "";
  if (error.code === "unauthorized") return " Is RCPT_API_KEY a key of this service?";
  if (error.code === "network_error") return " Is RCPT_URL right, and the service up?";
  return error.retryAfterS === null ? "" : ` Try again in ${error.retryAfterS} s.`;
}

/** Whatever went wrong, in one line. @returns the exit code */
function report(error: unknown, { stderr }: Terminal): number {
  // It has said so itself.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.misconfigured;
  const code = error instanceof AppError || error instanceof RcptError ? ` (${error.code})` : "";
  const said = error instanceof Error ? error.message : String(error);
  stderr(`rcpt: ${said}${code}${adviceOf(error)}\n`);
  return error instanceof UsageError || error instanceof ConfigError ? EXIT.misconfigured : EXIT.failed;
}

/**
 * The command `rcpt`. Results go to standard output as they come.
 * @param argv without Node.js and the script
 * @returns the exit code: 0 done, 1 failed, 2 wrong arguments or settings, and what a command says of its own
 */
export async function runProgram(argv: readonly string[], terminal: Terminal): Promise<number> {
  let code: number = EXIT.done;
  const end = (ended: number) => {
    code = ended;
  };
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
  ];
  for (const command of commands) {
    for (const inner of [command, ...command.commands]) inner.copyInheritedSettings(program);
    program.addCommand(command);
  }
  try {
    await program.parseAsync(argv, { from: "user" });
    return code;
  } catch (error) {
    return report(error, terminal);
  }
}
