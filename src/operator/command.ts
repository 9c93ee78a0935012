import { type ParseArgsConfig, parseArgs } from "node:util";
import { TIERS, type Tier } from "../core/tiers.ts";

/** What was typed cannot be used. `message` is one line. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** Where a command writes. */
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
 * Runs a command and prints what it resolves to.
 * @returns the exit code: 0 done, 2 wrong arguments, of which one line on standard error tells. Other failures are the
 *   caller's to report.
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
