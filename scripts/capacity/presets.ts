import { MEASURED_COSTS, ROWS_AT_ONCE } from "./costs.ts";
import type { Target } from "./plan.ts";
import type { Scenario, SiteClass } from "./scenario.ts";

export interface Preset {
  scenario: Scenario;
  target: Target;
}

/**
 * Every figure of a mix is an assumption but those of `src/egress/shaping.json`: replace shares and times by your own.
 * Big providers do not publish how many recipients they accept from an address in an hour. A known address with clean
 * lists may hope for one recipient a second; a new one gets a tenth of it.
 */
const BORNE_PER_HOUR = 3_600;

const TLS_ROUND_TRIPS = 6;
const CLEAR_ROUND_TRIPS = 3;

const ORDINARY: SiteClass = {
  name: "",
  sites: 1,
  share: 0,
  connections: 10,
  depth: 10,
  transactionsPerSession: 100,
  rejectionsPerSession: 8,
  pipelining: true,
  roundTripMs: 80,
  answerMs: 20,
  setUpRoundTrips: TLS_ROUND_TRIPS,
  refused: 0.12,
  greylisted: 0,
  rowsPerDomain: 1,
  catchAll: 0.15,
  perHour: 0,
};

/** Shares of the rows for which a server is asked. Yahoo's are not among them: its servers accept every recipient. */
const MIX: SiteClass[] = [
  {
    ...ORDINARY,
    ...{
      name: "google",
      share: 0.38,
      connections: 5,
      transactionsPerSession: 50,
      roundTripMs: 30,
      answerMs: 60,
    },
    ...{ rowsPerDomain: 20, catchAll: 0.1, perHour: BORNE_PER_HOUR },
  },
  {
    ...ORDINARY,
    ...{
      name: "microsoft365",
      share: 0.22,
      connections: 5,
      transactionsPerSession: 50,
      depth: 5,
      answerMs: 80,
    },
    ...{ roundTripMs: 40, rowsPerDomain: 5, catchAll: 0.1, perHour: BORNE_PER_HOUR },
  },
  {
    ...ORDINARY,
    ...{ name: "outlook", share: 0.12, connections: 5, transactionsPerSession: 50, depth: 5, answerMs: 80 },
    ...{ roundTripMs: 40, rowsPerDomain: 1_000_000, catchAll: 0, perHour: BORNE_PER_HOUR },
  },
  {
    ...ORDINARY,
    ...{ name: "apple", share: 0.03, transactionsPerSession: 5, roundTripMs: 40, answerMs: 80 },
    ...{ rowsPerDomain: 1_000_000, catchAll: 0, perHour: BORNE_PER_HOUR },
  },
  {
    ...ORDINARY,
    ...{ name: "national providers", sites: 20, share: 0.08, connections: 3, transactionsPerSession: 50 },
    ...{ roundTripMs: 60, answerMs: 50, rowsPerDomain: 1_000_000, catchAll: 0, perHour: BORNE_PER_HOUR / 2 },
  },
  {
    ...ORDINARY,
    ...{ name: "hosters and filters", sites: 2_000, share: 0.12, greylisted: 0.03, rowsPerDomain: 4 },
    perHour: BORNE_PER_HOUR / 2,
  },
  {
    ...ORDINARY,
    ...{
      name: "small servers",
      sites: 200_000,
      share: 0.045,
      greylisted: 0.15,
      setUpRoundTrips: TLS_ROUND_TRIPS,
    },
    ...{ answerMs: 50, rowsPerDomain: 1.5 },
  },
  // No connection in the 5 s of LIMITS.smtp.connectTimeoutMs; the row is answered with that.
  {
    ...ORDINARY,
    ...{
      name: "silent servers",
      sites: 50_000,
      share: 0.005,
      setUpRoundTrips: 0,
      roundTripMs: 5_000,
      answerMs: 0,
    },
    ...{
      refused: 1,
      catchAll: 0,
      rejectionsPerSession: 1,
      pipelining: false,
      roundTripMs: 5_000 / CLEAR_ROUND_TRIPS,
    },
  },
];

const MIXED: Scenario = {
  rows: 200_000,
  // Yahoo and other catch-all providers, malformed, disposable and blocked: 13 in 100.
  listed: 0.13,
  cached: 0.4,
  sites: MIX,
  fleet: { processes: 1, cores: 2, sourceAddresses: 10, rowsAtOnce: ROWS_AT_ONCE },
  costs: MEASURED_COSTS,
};

const ofDay = (rowsPerDay: number, requestsPerS: number): Preset => ({
  scenario: MIXED,
  target: { rowsPerDay, peak: 1.5, requestsPerS, use: 0.7 },
});

export const PRESETS: Record<string, Preset> = {
  million: ofDay(1_000_000, 50),
  "hundred-million": ofDay(100_000_000, 1_000),
  billion: ofDay(1_000_000_000, 5_000),
};
