import { Command, CommanderError } from "commander";
import { ConfigError } from "../config/config.ts";
import { type Terminal, UsageError } from "../operator/command.ts";
import { AppError } from "../platform/errors.ts";
import { EXIT } from "../platform/exit-codes.ts";
import { VERSION } from "../platform/version.ts";
import { check, checkCommand } from "./check.ts";

/** Whatever went wrong, in one line. @returns the exit code */
function report(error: unknown, { stderr }: Terminal): number {
  // It has said so itself.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.misconfigured;
  const code = error instanceof AppError ? ` (${error.code})` : "";
  const said = error instanceof Error ? error.message : String(error);
  stderr(`rcpt: ${said}${code}\n`);
  return error instanceof UsageError || error instanceof ConfigError ? EXIT.misconfigured : EXIT.failed;
}

/**
 * The command `rcpt`. Results go to standard output as they come.
 * @param argv without Node.js and the script
 * @returns the exit code: 0 done, 1 failed, 2 wrong arguments or settings, and what a command says of its own
 */
export async function runProgram(argv: readonly string[], terminal: Terminal): Promise<number> {
  let code: number = EXIT.done;
  const program = new Command("rcpt")
    .description("Verify email addresses.")
    .version(VERSION)
    .exitOverride()
    .showHelpAfterError("(rcpt --help says more)")
    .configureOutput({ writeOut: terminal.stdout, writeErr: terminal.stderr });
  const checking = checkCommand().copyInheritedSettings(program);
  checking.action(async (addresses: string[], options) => {
    code = await check(addresses, options);
  });
  program.addCommand(checking);
  try {
    await program.parseAsync(argv, { from: "user" });
    return code;
  } catch (error) {
    return report(error, terminal);
  }
}
