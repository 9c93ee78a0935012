import { type JobTraffic, type SentJob, startJobs } from "./jobs.ts";
import type { Door, RequestLog } from "./request-log.ts";
import { type Asker, type SingleTraffic, startSingles } from "./singles.ts";
import type { Decisions } from "./truth.ts";

/** Clients and entry points of the traffic, and the log that records it. */
export interface TrafficSetting {
  log: RequestLog;
  doors: readonly Door[];
  asker: Asker;
  capped: Asker;
  /** Key of the team of the lists. */
  bulkKey: string;
  /** Whether to submit long lists too: a short run would be over before they are. */
  withLong: boolean;
}

export interface Traffic {
  wrongSingles(): string[];
  /** Decisions of the single requests. */
  decisions(): Decisions;
  jobs(): SentJob[];
  /** Why lists could not be handed in. */
  refusedLists(): string[];
  /** Stops the traffic; resolves once everything in progress is answered, or given up. */
  stop(): Promise<void>;
}

/** Single requests a second, all doors together. */
const PER_S = 12;
const JOB_EVERY_MS = 7_000;
const LONG_EVERY_MS = 90_000;
/** Rows of the lists, by turns: of a hundred, of one chunk, of several. */
const SIZES = [500, 1_200, 120, 2_000] as const;
/** Sizes of the long lists, whose results are joined in a thread. */
const LONG_SIZES = [20_500] as const;

/** Mixed traffic: single requests at a steady rate, and lists. @param phase name from which the addresses are made */
export function startTraffic(phase: string, setting: TrafficSetting): Traffic {
  const { log, doors, asker, capped, bulkKey, withLong } = setting;
  const singles: SingleTraffic = startSingles({ name: `${phase}s`, log, doors, asker, capped, perS: PER_S });
  const lists = { log, doors, key: bulkKey };
  const jobs: JobTraffic[] = [
    startJobs({ ...lists, name: `${phase}l`, sizes: SIZES, everyMs: JOB_EVERY_MS }),
  ];
  if (withLong)
    jobs.push(startJobs({ ...lists, name: `${phase}x`, sizes: LONG_SIZES, everyMs: LONG_EVERY_MS }));
  return {
    wrongSingles: () => [...singles.wrong],
    decisions: () => ({ ...singles.decisions }),
    jobs: () => jobs.flatMap((traffic) => [...traffic.jobs]),
    refusedLists: () => jobs.flatMap((traffic) => [...traffic.refused]),
    async stop() {
      await Promise.all([singles.stop(), ...jobs.map((traffic) => traffic.stop())]);
    },
  };
}
