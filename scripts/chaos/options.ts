import { parseArgs } from "node:util";
import { isKind, KINDS, type Kind } from "./faults/faults.ts";

export interface ChaosOptions {
  /** Milliseconds of faults; warm-up, settling and later phases come on top. */
  forMs: number;
  seed: number;
  kinds: readonly Kind[];
  overload: boolean;
  /** Hostile neighbours beside a victim. */
  neighbours: boolean;
  /** Rate of an overload, as a multiple of the API's capacity. */
  times: number;
  /** The closing table as one line of JSON on standard output. */
  json: boolean;
  /** Folder for the logs of all processes; null: they go with the run. */
  logsDir: string | null;
}

const MINUTES_DEFAULT = 3;
const MINUTES_MAX = 60;
const SEED_MAX = 2 ** 31 - 1;
const OVERLOAD = "overload";
const NEIGHBOURS = "neighbours";
const OTHERS: readonly string[] = [OVERLOAD, NEIGHBOURS];
const TIMES_DEFAULT = 10;
const TIMES_MAX = 20;

const OPTIONS = {
  minutes: { type: "string" },
  seed: { type: "string" },
  only: { type: "string" },
  times: { type: "string" },
  logs: { type: "string" },
  json: { type: "boolean", default: false },
} as const;

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {}

/** The command that draws the same faults again: they depend on the time and the kinds, too. */
export function commandOf({ seed, forMs, kinds, overload, neighbours, times }: ChaosOptions): string {
  const names = [...kinds, ...(overload ? [OVERLOAD] : []), ...(neighbours ? [NEIGHBOURS] : [])];
  const isAll = names.length === KINDS.length + OTHERS.length;
  const only = isAll ? "" : ` --only ${names.join()}`;
  return `npm run chaos -- --seed ${seed} --minutes ${forMs / 60_000}${only}${overload && times !== TIMES_DEFAULT ? ` --times ${times}` : ""}`;
}

function numberOf(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() === "" || !(value >= min && value <= max))
    throw new UsageError(`--${name} must be a number from ${min} to ${max}`);
  return value;
}

function chosenKinds(only: string): string[] {
  const names = only.split(",").map((name) => name.trim());
  const unknown = names.filter((name) => !isKind(name) && !OTHERS.includes(name));
  if (unknown.length > 0)
    throw new UsageError(
      `--only: there is no ${unknown.join(", no ")}; there are ${[...KINDS, ...OTHERS].join(", ")}`,
    );
  return names;
}

/**
 * @param newSeed draws a seed for a run without one
 * @throws UsageError that states the form of the option
 */
export function chaosOptions(argv: readonly string[], newSeed: () => number): ChaosOptions {
  let values: ReturnType<typeof parse>;
  try {
    values = parse(argv);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  const names = values.only === undefined ? [...KINDS, ...OTHERS] : chosenKinds(values.only);
  const seed = values.seed === undefined ? newSeed() : numberOf("seed", values.seed, 0, SEED_MAX);
  if (!Number.isInteger(seed)) throw new UsageError(`--seed must be a whole number from 0 to ${SEED_MAX}`);
  const minutes = numberOf("minutes", values.minutes ?? String(MINUTES_DEFAULT), 0.1, MINUTES_MAX);
  return {
    forMs: minutes * 60_000,
    seed,
    kinds: KINDS.filter((kind) => names.includes(kind)),
    overload: names.includes(OVERLOAD),
    neighbours: names.includes(NEIGHBOURS),
    times: numberOf("times", values.times ?? String(TIMES_DEFAULT), 2, TIMES_MAX),
    json: values.json,
    logsDir: values.logs ?? null,
  };
}

function parse(argv: readonly string[]) {
  return parseArgs({ args: [...argv], options: OPTIONS }).values;
}
