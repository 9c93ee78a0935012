import { parseCount, parseDuration, parseRate, UsageError, writeCount, writeDuration } from "./units.ts";

/**
 * Bounds of a load that only an explicit option lifts. A typing error then costs a message, not a day's quota or an
 * incident at a mail server. `ceiling` is the limit of the tool itself.
 */
interface Bound {
  /** Name of the bounded option, e.g. `rate`; the option `--max-rate` lifts the bound. */
  name: string;
  max: number;
  ceiling: number;
  parse(option: string, text: string): number;
  write(value: number): string;
}

const duration = {
  parse: (option: string, text: string) => parseDuration(option, text),
  write: writeDuration,
};
const count = { parse: (option: string, text: string) => parseCount(option, text), write: writeCount };
const rate = { parse: parseRate, write: (value: number) => `${writeCount(value)}/s` };

export const BOUNDS = {
  rate: { name: "rate", max: 2_000, ceiling: 50_000, ...rate },
  connections: { name: "connections", max: 1_000, ceiling: 10_000, ...count },
  durationMs: { name: "duration", max: 600_000, ceiling: 86_400_000, ...duration },
  requests: { name: "requests", max: 1_000_000, ceiling: 1_000_000_000, ...count },
  bulkRows: { name: "bulk-rows", max: 100_000, ceiling: 1_000_000, ...count },
  /** Addresses of a file, held in memory. */
  emails: { name: "emails", max: 1_000_000, ceiling: 10_000_000, ...count },
} satisfies Record<string, Bound>;

export type BoundName = keyof typeof BOUNDS;
/** Values of the bounds, each in its own unit: a rate by the second, a count, or milliseconds. */
export type Bounds = Record<BoundName, number>;

/** Bounds that no option lifts. */
export const LIMITS = {
  keyChars: 256,
  /** The most due requests that wait for a connection in an open loop. Any more are counted as not sent. */
  backlog: 10_000,
  backlogMax: 1_000_000,
  /** The most steps between two points of a load profile. */
  steps: 100,
  hotAddresses: 1_000,
  hotAddressesMax: 1_000_000,
  answerBytes: 1_048_576,
  timeoutMs: 30_000,
  timeoutMaxMs: 600_000,
  /** Grace for requests in flight at the end. */
  graceMs: 10_000,
  /** After Ctrl-C. */
  interruptGraceMs: 2_000,
  /** Bound on a `Retry-After` that is obeyed: a server may ask for a day, which is longer than a run. */
  retryAfterMaxMs: 60_000,
  /** Pause after a failed attempt to connect: a refusal takes no time, so without it the loop would spin. */
  reconnectMs: 100,
  /** Most rows that the API accepts in a request. */
  inlineRows: 10_000,
  bulkAtOnce: 2,
  bulkAtOnceMax: 20,
  bulkWaitMs: 600_000,
  bulkWaitMaxMs: 86_400_000,
  /** Timeout of a call with all its repeats, and the most attempts: then the job is given up. */
  bulkCallMs: 300_000,
  bulkCallAttempts: 20,
  /** After so long without an answer a submission is repeated. */
  bulkSilenceMs: 60_000,
  /** After Ctrl-C: timeout of each call that cancels a job, or repeats a submission without an answer. */
  bulkCancelMs: 5_000,
  thresholds: 20,
  /** Most distinct statuses, codes, verdicts and causes; further ones are counted as "other". */
  names: 64,
  emailsRecordBytes: 65_536,
} as const;

/**
 * The bounds of this run: the table's, or what `--max-…` lifted them to.
 * @param given values of the options by name, without dashes
 */
export function boundsFrom(given: Record<string, unknown>): Bounds {
  const entries = Object.entries(BOUNDS).map(([key, bound]) => {
    const option = `max-${bound.name}`;
    const text = given[option];
    if (typeof text !== "string") return [key, bound.max];
    const value = bound.parse(`--${option}`, text);
    if (value > bound.ceiling)
      throw new UsageError(`--${option} can be ${bound.write(bound.ceiling)} at most`);
    return [key, value];
  });
  return Object.fromEntries(entries) as Bounds;
}

/** @throws UsageError that says how the bound is lifted */
export function requireWithin(bounds: Bounds, name: BoundName, value: number, what: string): void {
  const bound = BOUNDS[name];
  if (value <= bounds[name]) return;
  const lift = value <= bound.ceiling ? `; --max-${bound.name} lifts that` : "";
  throw new UsageError(
    `${what} is ${bound.write(value)}, and ${bound.write(bounds[name])} is the most unless you say otherwise${lift}`,
  );
}
