import type { Client, JobSnapshot } from "../../packages/client/src/index.ts";
import { loadConfig } from "../../src/config/config.ts";
import { residentOf } from "../cpu/resident.ts";
import { planInternet } from "../probing/plan-internet.ts";
import { InvalidRun } from "../report/figures.ts";
import type { Section } from "../report/table.ts";
import type { Target } from "../report/target.ts";
import { type BenchContext, bulkSettingsFor, withChildren } from "../setup/context.ts";
import { startRole } from "../setup/role.ts";
import { ANY_LISTS, makeTeam } from "../setup/teams.ts";
import { startMail } from "../sinks/mail.ts";
import { completed, submitUpload, upload } from "./bulk-job.ts";
import { startJobsWorld } from "./jobs-world.ts";
import { bulkMemoryTerms, type MemoryTerm, totalOf } from "./memory-bound.ts";
import { countsOf, MEMORY_RUN, memoryList } from "./memory-list.ts";

/** Rows of each list, unless the command line says. */
const LENGTHS = [1_000_000, 10_000_000];
const QUICK_LENGTHS = [100_000, 1_000_000];
/** The peak of the longest list over that of the shortest, at most. */
const GROWTH_MAX = 1.15;
const THREADS = 2;
const SAMPLE_MS = 500;

/** Measurement of one list, in a new worker. */
interface MemoryRun {
  rows: number;
  rowsPerS: number;
  peakBytes: number;
  /** By state of the job: the peak, in bytes, when the job was last seen in that state. */
  peaks: Map<string, number>;
  terms: MemoryTerm[];
}

/** @throws InvalidRun if the job's counts differ from the list's */
function requireCounts(job: JobSnapshot, rows: number): void {
  const { total, duplicates, malformed } = countsOf(rows);
  const wanted = {
    ...{ total, duplicates, malformed, processed: total },
    ...{ valid: 0, invalid: malformed, risky: 0, unknown: total - malformed },
  };
  const found: Record<string, number> = { ...job.rows, ...job.verdicts };
  for (const [name, count] of Object.entries(wanted))
    if (found[name] !== count) throw new InvalidRun(`${rows} rows: ${found[name]} × ${name}, not ${count}`);
}

async function runList(
  context: BenchContext,
  settings: Record<string, string>,
  client: Client,
  rows: number,
): Promise<MemoryRun> {
  const bulk = await startRole(context, "bulk", settings);
  try {
    const readyBytes = residentOf(bulk.pid).now;
    const uploadId = await upload(client, `list-${rows}.csv`, memoryList(rows));
    const startedMs = performance.now();
    const { id } = await submitUpload(client, uploadId);
    const peaks = new Map<string, number>();
    let status = "queued";
    const sampling = setInterval(() => peaks.set(status, residentOf(bulk.pid).peak), SAMPLE_MS);
    const job = await completed(client, id, (now) => {
      status = now.status;
    }).finally(() => clearInterval(sampling));
    const tookMs = performance.now() - startedMs;
    requireCounts(job, rows);
    const { cacheEntries } = loadConfig(settings).verify;
    const rowsMax = ANY_LISTS.dailyQuota;
    return {
      rows,
      rowsPerS: (rows * 1_000) / tookMs,
      peakBytes: residentOf(bulk.pid).peak,
      peaks,
      terms: await bulkMemoryTerms({ readyBytes, threads: THREADS, cacheEntries, rows, rowsMax }),
    };
  } finally {
    await bulk.end();
  }
}

const mib = (bytes: number) => `${(bytes / 1_048_576).toFixed(0)} MiB`;

function tableOf(runs: readonly MemoryRun[]): string[][] {
  const lines = runs.map(({ rows, rowsPerS, peakBytes, terms, peaks }) => [
    rows.toLocaleString("en"),
    Math.round(rowsPerS).toLocaleString("en"),
    mib(peakBytes),
    mib(totalOf(terms)),
    [...peaks].map(([status, bytes]) => `${status} ${mib(bytes)}`).join(", "),
  ]);
  return [["rows", "rows/s", "peak", "bound", "by state"], ...lines];
}

function targetsOf(runs: readonly MemoryRun[]): Target[] {
  const growth = (runs.at(-1)?.peakBytes ?? 0) / (runs[0]?.peakBytes ?? 1);
  const shares = runs.map(({ peakBytes, terms }) => peakBytes / totalOf(terms));
  return [
    {
      id: "bulk-memory.growth",
      what: "bulk process, peak of the longest list over that of the shortest",
      unit: "×",
      figure: growth,
      atMost: GROWTH_MAX,
    },
    {
      id: "bulk-memory.bound",
      what: "bulk process, peak over what the configuration allows",
      unit: "×",
      figure: Math.max(...shares),
      atMost: 1,
    },
  ];
}

/**
 * Measures the peak resident set of a worker that takes a list from its analysis to its results, for lists of several
 * lengths. It must not grow with them, and must be below the sum that the configuration allows.
 *
 * @throws InvalidRun when a job's counts differ from its list
 */
export async function benchBulkMemory(context: BenchContext): Promise<Section> {
  const lengths = context.rows ?? (context.quick ? QUICK_LENGTHS : LENGTHS);
  return withChildren(async (keep) => {
    // The tier has no probing, so no mail server is asked. Such answers are not cached, so the cache is empty here; the
    // bound includes a full one.
    const { dnsServer } = await startMail(context, keep, planInternet({ worlds: [[MEMORY_RUN]] }));
    const settings = bulkSettingsFor(
      context,
      { dnsServer, smtpPort: 25 },
      { CHECK_THREADS: String(THREADS) },
    );
    const team = await makeTeam(context, "memory", { tier: "starter", anyLists: true });
    const { api, relay, client } = await startJobsWorld(context, keep, settings, team);
    const runs: MemoryRun[] = [];
    for (const rows of lengths) runs.push(await runList(context, settings, client, rows));
    const [ofApi, ofRelay] = [residentOf(api.pid).peak, residentOf(relay.pid).peak];
    return {
      title: "Memory of the role bulk",
      configuration: [
        `one worker of ${THREADS} check threads for each list, one team of a tier without probing; nothing else to do`,
      ],
      unit: "rows",
      lines: [],
      table: tableOf(runs),
      notes: [
        "the bound of the longest:",
        ...(runs.at(-1)?.terms ?? []).map(({ what, bytes }) => `  ${mib(bytes).padStart(9)}  ${what}`),
        `at most resident, all lists over: api ${mib(ofApi)}, relay ${mib(ofRelay)}`,
      ],
      targets: targetsOf(runs),
    };
  });
}
