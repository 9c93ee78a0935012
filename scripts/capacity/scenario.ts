import * as v from "valibot";

/** The load of a deployment, and its resources. Rates are per second, costs in microseconds of one core. */

/** Sites with equal properties: servers of one kind, each with its own caps. */
export interface SiteClass {
  name: string;
  /** Number of such sites. */
  sites: number;
  /** Its share of the rows for which a server is asked, 0 to 1. All classes together: 1. */
  share: number;
  /**
   * Limits of one source address there: connections at once, and per session. From `src/egress/shaping.json` or
   * SHAPING.
   */
  connections: number;
  depth: number;
  transactionsPerSession: number;
  rejectionsPerSession: number;
  /** false: MAIL, RCPT and RSET take a round trip each. */
  pipelining: boolean;
  roundTripMs: number;
  /** The server's own time for each recipient, beside the round trip. */
  answerMs: number;
  /** Round trips until the first transaction: 3 in clear (TCP, greeting, EHLO), 6 with STARTTLS and TLS 1.3. */
  setUpRoundTrips: number;
  /** Shares of the addresses: refused ones, and ones deferred at the first attempt. */
  refused: number;
  greylisted: number;
  /** Mean number of probed addresses of a domain: the first accepted one costs a catch-all probe. */
  rowsPerDomain: number;
  /** Share of the domains that accept every recipient. */
  catchAll: number;
  /** Recipients an hour that such a site accepts from one source address before it blocks it; 0: no known limit. */
  perHour: number;
}

/** CPU microseconds. What main threads do not do is done by check threads beside them. */
export interface Costs {
  /** A row that the lists answer, or its syntax; and one that the cache answers. */
  listedUs: number;
  cachedUs: number;
  /** A row for which a server is asked: for itself, for its part of a write, and for its part of a session. */
  askedUs: number;
  writeUs: number;
  sessionUs: number;
  /** A row that finds its site's connections in use and comes back as a retry. */
  putOffUs: number;
  /** The main thread's share of the CPU of a probed row; a process has one main thread. */
  mainShare: number;
  /** A request to the API whose answer is cached. */
  requestUs: number;
}

export interface Fleet {
  /** Bulk processes, a pod each. */
  processes: number;
  /** Cores of one process. */
  cores: number;
  sourceAddresses: number;
  /** Rows that a process has in progress: `LIMITS.bulk.chunkRowsAtOnce` and `retryRowsAtOnce`. */
  rowsAtOnce: number;
}

export interface Scenario {
  /** Rows of a list that is submitted at once. */
  rows: number;
  /**
   * Shares of all rows that need no server, 0 to 1: answered by lists and syntax, and from the cache. The rest is
   * probed.
   */
  listed: number;
  cached: number;
  sites: SiteClass[];
  fleet: Fleet;
  costs: Costs;
}

/** Beyond these a figure means nothing. */
export const SCENARIO_LIMITS = {
  rows: 100_000_000_000,
  sites: 10_000_000,
  classes: 100,
  addresses: 1_000_000,
  processes: 100_000,
  perS: 10_000_000,
} as const;

const number = (min: number, max: number) => {
  const message = `must be a number from ${min} to ${max}`;
  return v.pipe(v.number(message), v.minValue(min, message), v.maxValue(max, message));
};
const whole = (min: number, max: number) => {
  const message = `must be a whole number from ${min} to ${max}`;
  return v.pipe(v.number(message), v.integer(message), v.minValue(min, message), v.maxValue(max, message));
};
const share = number(0, 1);

const SiteClassSchema = v.strictObject({
  name: v.pipe(
    v.string(),
    v.regex(/^[\w .,()/-]{1,60}$/, "must be 1 to 60 letters, digits, spaces or .,()/-"),
  ),
  sites: whole(1, SCENARIO_LIMITS.sites),
  share,
  connections: whole(1, 1_000),
  depth: whole(1, 10),
  transactionsPerSession: whole(1, 10_000),
  rejectionsPerSession: whole(1, 1_000),
  pipelining: v.boolean(),
  roundTripMs: number(0.01, 60_000),
  answerMs: number(0, 60_000),
  setUpRoundTrips: number(0, 20),
  refused: share,
  greylisted: share,
  rowsPerDomain: number(1, 1e12),
  catchAll: share,
  perHour: number(0, 1e9),
});

const CostsSchema = v.strictObject({
  listedUs: number(0, 1e6),
  cachedUs: number(0, 1e6),
  askedUs: number(0, 1e6),
  writeUs: number(0, 1e6),
  sessionUs: number(0, 1e6),
  putOffUs: number(0, 1e6),
  mainShare: share,
  requestUs: number(0, 1e6),
});

const FleetSchema = v.strictObject({
  processes: whole(1, SCENARIO_LIMITS.processes),
  cores: number(0.01, 1_024),
  sourceAddresses: whole(1, SCENARIO_LIMITS.addresses),
  rowsAtOnce: whole(1, 1_000_000),
});

const SUM_TOLERANCE = 0.001;
const isWhole = (sum: number) => Math.abs(sum - 1) <= SUM_TOLERANCE;

const ScenarioSchema = v.pipe(
  v.strictObject({
    rows: whole(1, SCENARIO_LIMITS.rows),
    listed: share,
    cached: share,
    sites: v.pipe(v.array(SiteClassSchema), v.maxLength(SCENARIO_LIMITS.classes)),
    fleet: FleetSchema,
    costs: CostsSchema,
  }),
  v.check(({ listed, cached }) => listed + cached <= 1, "listed and cached are more than 1 together"),
  v.check(
    ({ listed, cached, sites }) =>
      1 - listed - cached < 1e-9 || isWhole(sites.reduce((sum, { share: part }) => sum + part, 0)),
    "the shares of the sites are not 1 together",
  ),
);

/** @throws Error that names the field and says what it may be */
export function parseScenario(given: unknown): Scenario {
  const parsed = v.safeParse(ScenarioSchema, given);
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const path = v.getDotPath(issue);
  throw new Error(`the configuration${path === null ? "" : `: ${path}`}: ${issue.message}`);
}

/** Share of all rows for which servers are asked. */
export function askedShare({ listed, cached }: Pick<Scenario, "listed" | "cached">): number {
  return Math.max(0, 1 - listed - cached);
}
