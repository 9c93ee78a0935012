import { parseArgs } from "node:util";

/** Default seed of the properties: the same wherever the code is tested. */
const SEED = 20_261_127;
/** fast-check takes a whole number of 32 bits. */
const SEED_MAX = 2 ** 31 - 1;

export interface TestOptions {
  /** Files or folders relative to the project's root; empty: all. */
  filters: string[];
  /** Seed of the property tests, 0 to 2,147,483,647. */
  seed: number;
}

/**
 * `[--seed N|random] [PATH...]`.
 *
 * @param random draws the seed of `--seed random`, in [0, 1).
 * @throws Error with a line for the user.
 */
export function parseTestOptions(args: string[], random = Math.random): TestOptions {
  const { values, positionals } = parseArgs({
    args,
    options: { seed: { type: "string" } },
    allowPositionals: true,
  });
  return { filters: positionals, seed: seedOf(values.seed, random) };
}

function seedOf(text: string | undefined, random: () => number): number {
  if (text === undefined) return SEED;
  if (text === "random") return Math.floor(random() * (SEED_MAX + 1));
  const seed = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(seed <= SEED_MAX)) throw new Error(`--seed takes "random" or a number from 0 to ${SEED_MAX}`);
  return seed;
}
