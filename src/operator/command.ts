import { type ParseArgsConfig, parseArgs } from "node:util";
import { TIERS, type Tier } from "../config/tiers.ts";

/** Invalid command line. `message` is one line. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** The output streams of a command. */
export interface Terminal {
  stdout(text: string): void;
  stderr(text: string): void;
}

/** `parseArgs` of Node.js. @throws UsageError one line that ends with `usage` */
export function parseCommandLine<T extends ParseArgsConfig>(config: T, usage: string) {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new UsageError(`${(error as Error).message.split("\n")[0]} (${usage})`);
  }
}

/** @param name of the argument. @throws UsageError */
export function parseTier(name: string, text: string): Tier {
  const tier = TIERS.find((known) => known === text);
  if (tier === undefined) throw new UsageError(`${name} must be one of ${TIERS.join(", ")}`);
  return tier;
}

/**
 * Runs a command and prints its result.
 * @returns the exit code: 0 done, 2 wrong arguments, with one line on standard error. The caller reports other failures.
 */
export async function runCommand(
  name: string,
  terminal: Terminal,
  work: () => Promise<string>,
): Promise<number> {
  try {
    terminal.stdout(await work());
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    terminal.stderr(`${name}: ${error.message}\n`);
    return 2;
  }
}
