import { loadConfig } from "../../src/config/config.ts";
import { type CpuShares, lookAtCpu, sharesBetween, sharesText } from "../cpu/cpu-shares.ts";
import { planInternet } from "../probing/plan-internet.ts";
import { median, type Summary, sampleOf, summarise } from "../report/figures.ts";
import type { Line, Section } from "../report/table.ts";
import type { Target } from "../report/target.ts";
import { type BenchContext, bulkSettingsFor, withChildren } from "../setup/context.ts";
import { makeTeam } from "../setup/teams.ts";
import { startMail } from "../sinks/mail.ts";
import { completed, requireVerdicts, submitUpload, upload } from "./bulk-job.ts";
import { followStages, STAGES, type StagedRun } from "./bulk-stages.ts";
import { type JobsWorld, startJobsWorld } from "./jobs-world.ts";
import {
  BLOCKED_DOMAIN,
  DISPOSABLE_DOMAINS,
  type ThroughputList,
  throughputList,
  verdictsOf,
} from "./throughput-list.ts";

const MIB = 1_048_576;
/** As `lookAtCpu` names it. */
const BULK_MAIN = "bulk, main thread";
/** Domains of other sections are other ones. */
const FIRST_RUN = 4_000;

/**
 * Rows of a list, and how often it is measured. A worker runs for days: V8's helper threads, which compile, took 10.5
 * µs a row for the first 300,000 probed rows, then 7.7, 6.6 and 4.5. A quick run shows the trend.
 */
const FULL = { rows: 400_000, rounds: 3, warmUpRows: 200_000 };
const QUICK = { rows: 100_000, rounds: 1, warmUpRows: 20_000 };

const KINDS = ["probed", "cached", "lists"] as const;
type Kind = (typeof KINDS)[number];

interface Run extends StagedRun {
  shares: CpuShares;
}

/** Uploads the list, which is not measured, then has it verified. */
async function runList(world: JobsWorld, list: ThroughputList): Promise<Run> {
  const { sql, client, bulk, roles } = world;
  const pid = bulk[0]?.pid ?? 0;
  const uploadId = await upload(client, `${list.kind}-${list.run}.csv`, throughputList(list));
  const before = lookAtCpu(roles);
  const { id } = await submitUpload(client, uploadId);
  const staged = await followStages(sql, id, pid);
  const shares = sharesBetween(before, lookAtCpu(roles));
  requireVerdicts(list.kind, await completed(client, id), verdictsOf(list));
  await world.removeObjects();
  return { ...staged, shares };
}

/** Each round has addresses of its own: probed the first time, then cached, beside a list that needs no server. */
async function measureRounds(
  world: JobsWorld,
  { rows, rounds, warmUpRows }: typeof FULL,
): Promise<Record<Kind, Run[]>> {
  const runs: Record<Kind, Run[]> = { probed: [], cached: [], lists: [] };
  for (const kind of ["mailboxes", "mailboxes", "lists"] as const)
    await runList(world, { kind, run: FIRST_RUN, rows: warmUpRows });
  for (let round = 1; round <= rounds; round++) {
    const run = FIRST_RUN + round;
    runs.probed.push(await runList(world, { kind: "mailboxes", run, rows }));
    runs.cached.push(await runList(world, { kind: "mailboxes", run, rows }));
    runs.lists.push(await runList(world, { kind: "lists", run, rows }));
  }
  return runs;
}

const NAMES: Record<Kind, string> = {
  probed: "probed at no delay, the sink beside it",
  cached: "answered from the cache",
  lists: "answered from lists",
};
const AT_LEAST: Record<Kind, number> = { probed: 25_000, cached: 100_000, lists: 100_000 };

function summaryOf(rows: number, runs: readonly StagedRun[]): Summary {
  return summarise(runs.map(({ all }) => sampleOf(rows, all.wallMs, all.cpuMs * 1_000)));
}

/** Medians of each stage: its duration, and its CPU for each row of the list. */
function stagesText(rows: number, runs: readonly StagedRun[]): string {
  return STAGES.map((stage) => {
    const wallMs = median(runs.map(({ stages }) => stages[stage].wallMs));
    const cpuMs = median(runs.map(({ stages }) => stages[stage].cpuMs));
    return `${stage} ${(wallMs / 1_000).toFixed(2)} s, ${((cpuMs * 1_000) / rows).toFixed(1)} µs`;
  }).join("; ");
}

function linesOf(rows: number, runs: Record<Kind, Run[]>): Line[] {
  return KINDS.map((kind) => ({
    name: NAMES[kind],
    figures: summaryOf(rows, runs[kind]),
    ratios: [stagesText(rows, runs[kind])],
  }));
}

function targetsOf(rows: number, runs: Record<Kind, Run[]>): Target[] {
  const peakBytes = Math.max(...KINDS.flatMap((kind) => runs[kind].map((run) => run.peakBytes)));
  return [
    ...KINDS.flatMap((kind): Target[] => {
      const { perS, cpuUs } = summaryOf(rows, runs[kind]);
      return [
        {
          id: `bulk.${kind}`,
          what: `bulk, ${NAMES[kind]}, object storage to result files`,
          unit: "rows/s",
          figure: perS,
          atLeast: AT_LEAST[kind],
        },
        {
          id: `bulk.${kind}.cpu`,
          what: `bulk, ${NAMES[kind]}, CPU of the process`,
          unit: "µs a row",
          figure: cpuUs,
        },
      ];
    }),
    {
      id: "bulk.probed.main",
      what: `bulk, ${NAMES.probed}, CPU of the process' main thread`,
      unit: "µs a row",
      figure:
        (median(runs.probed.map(({ shares }) => shares.of.get(BULK_MAIN) ?? Number.NaN)) * 1_000) / rows,
    },
    {
      id: "bulk.throughput.memory",
      what: "bulk, the process' largest resident set",
      unit: "MiB",
      figure: peakBytes / MIB,
    },
  ];
}

/**
 * Lists from object storage to result files, by one bulk process, as in production: from the submission of a job until
 * it is completed, including all waits. Services, sinks and the other roles share the machine.
 */
export async function benchBulkThroughput(context: BenchContext): Promise<Section> {
  const usual = context.quick ? QUICK : FULL;
  const { rounds } = usual;
  const rows = context.rows?.[0] ?? usual.rows;
  return withChildren(async (keep) => {
    const runs = Array.from({ length: rounds + 1 }, (_, round) => FIRST_RUN + round);
    const internet = planInternet({ worlds: [runs], others: DISPOSABLE_DOMAINS });
    const mail = await startMail(context, keep, internet);
    const blocked = { domain: BLOCKED_DOMAIN, subdomains: false };
    const team = await makeTeam(context, "throughput", { tier: "pro_plus", anyLists: true, blocked });
    // Cached answers come from memory. Twice the rows, for those that are checked without a probe.
    const settings = bulkSettingsFor(context, mail, { CACHE_ENTRIES: String(2 * rows) });
    const world = await startJobsWorld(context, keep, settings, team);
    await world.startBulk();
    const { threads } = loadConfig({ ...settings, ROLE: "bulk" }).verify;
    const measured = await measureRounds(world, { ...usual, rows });
    return {
      title: "Bulk, from object storage to result files",
      configuration: [
        `one bulk process, check threads: ${threads}; api, relay, Postgres, Redis, object storage and mail servers (${mail.sinksRunOn}) beside it`,
        `${rows} rows of 4 columns a list, one in 20 with quotes, all addresses different; ${rounds} rounds, medians`,
        "cached: the addresses that were just probed, in the process' memory; lists: a third each malformed, blocked, disposable",
        "CPU of the bulk process alone, all threads",
      ],
      unit: "rows",
      lines: linesOf(rows, measured),
      notes: KINDS.map((kind) => `CPU µs a row, ${NAMES[kind]}: ${sharesText(rows, measured[kind])}`),
      targets: targetsOf(rows, measured),
    };
  });
}
