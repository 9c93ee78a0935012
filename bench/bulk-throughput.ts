import { loadConfig } from "../src/core/config.ts";
import { createLog } from "../src/core/log.ts";
import type { BulkJob } from "../src/services/bulk/view.ts";
import { bootstrap } from "../src/services/teams/bootstrap.ts";
import { migrate } from "../src/store/migrate.ts";
import { createPostgres, type Database } from "../src/store/postgres.ts";
import { type BulkClient, completed, submitUpload, upload } from "./bulk-job.ts";
import { followStages, STAGES, type StagedRun } from "./bulk-stages.ts";
import { startChild } from "./child.ts";
import { type BenchContext, bulkSettingsFor, withChildren } from "./context.ts";
import { type CpuShares, lookAtCpu, sharesBetween, sharesText } from "./cpu-shares.ts";
import { InvalidRun, median, type Summary, sampleOf, summarise } from "./figures.ts";
import { type MeasuredObjects, openMeasuredObjects } from "./measured-objects.ts";
import type { MailServers } from "./processes/mail-servers.ts";
import { type RoleProcess, startRole } from "./role.ts";
import type { Line, Section } from "./table.ts";
import type { Target } from "./target.ts";
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
/** Lists are kept for each other: with a team for each the sizes of windows would be others. */
const TEAM_LIMITS = { dailyQuota: 100_000_000, bulkBytes: 100_000_000_000 };
/** Domains of other sections are other ones. */
const FIRST_RUN = 4_000;

/**
 * How many rows lists have, and how often each is measured. A worker lives for days: V8's helper threads, which compile, took 10.5 us a
 * row of the first 300,000 that were asked about, then 7.7, 6.6 and 4.5. A quick run tells the trend.
 */
const FULL = { rows: 400_000, rounds: 3, warmUpRows: 200_000 };
const QUICK = { rows: 100_000, rounds: 1, warmUpRows: 20_000 };

const KINDS = ["probed", "cached", "lists"] as const;
type Kind = (typeof KINDS)[number];

interface World {
  sql: Database;
  client: BulkClient;
  bulk: RoleProcess;
  teamId: string;
  objects: MeasuredObjects;
  /** Names of the processes of roles. */
  roles: ReadonlyMap<number, string>;
}

interface Run extends StagedRun {
  shares: CpuShares;
}

/** @param cacheEntries so many that the rows of a list have room: what is in memory is then answered from there */
function settingsOf(
  context: BenchContext,
  mail: { dnsServer: string; smtpPort: number },
  cacheEntries: number,
) {
  return bulkSettingsFor(context, mail, { CACHE_ENTRIES: String(cacheEntries) });
}

/** A team that probes and may have lists of any length. */
async function makeTeam(sql: Database): Promise<{ teamId: string; liveKey: string }> {
  await migrate(sql, createLog("silent"));
  const made = await bootstrap(sql, {
    email: "throughput@example.com",
    team: "throughput",
    tier: "pro_plus",
  });
  await sql`update teams set limits = ${sql.json(TEAM_LIMITS)} where id = ${made.teamId}`;
  await sql`insert into blocklist (team_id, domain, include_subdomains) values (${made.teamId}, ${BLOCKED_DOMAIN}, false)`;
  return made;
}

/** @throws InvalidRun when the job has not answered what it must */
function requireAnswers(list: ThroughputList, { verdicts }: BulkJob): void {
  const wanted = { ...verdictsOf(list), unknown: 0 };
  for (const [verdict, count] of Object.entries(wanted)) {
    const found = verdicts[verdict as keyof typeof verdicts];
    if (found !== count)
      throw new InvalidRun(`${list.kind}: ${found} × ${verdict}, not ${count}: ${JSON.stringify(verdicts)}`);
  }
}

/** Uploads the list, which is not measured, then has it verified. */
async function runList(world: World, list: ThroughputList): Promise<Run> {
  const { sql, client, bulk, roles } = world;
  const uploadId = await upload(client, `${list.kind}-${list.run}.csv`, throughputList(list));
  const before = lookAtCpu(roles);
  const { id } = await submitUpload(client, uploadId);
  const staged = await followStages(sql, id, bulk.pid);
  const shares = sharesBetween(before, lookAtCpu(roles));
  requireAnswers(list, await completed(client, id, () => undefined));
  await world.objects.removeAll(world.teamId);
  return { ...staged, shares };
}

/** Each round has addresses of its own: asked about for the first time, then again, beside a list that asks nobody. */
async function measureRounds(
  world: World,
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

/** Of each stage, medians: how long it took, and its CPU for each row of the list. */
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
 * Lists from object storage to result files, by one bulk process, as production runs it: from the moment a job is
 * submitted until it is completed, with all that it waits for. Services, sinks and the other roles share the machine.
 */
export async function benchBulkThroughput(context: BenchContext): Promise<Section> {
  const usual = context.quick ? QUICK : FULL;
  const { rounds } = usual;
  const rows = context.rows?.[0] ?? usual.rows;
  return withChildren(async (keep) => {
    const mail = keep(await startChild<MailServers>("mail-servers", context));
    const runs = Array.from({ length: rounds + 1 }, (_, round) => FIRST_RUN + round);
    const world = await mail.call("start", { latencyMs: 0, runs, others: [...DISPOSABLE_DOMAINS] });
    const sql = createPostgres({
      url: context.databaseUrl,
      maxConnections: 2,
      applicationName: "rcpt-bench",
    });
    keep({ end: () => sql.end({ timeout: 1 }) });
    const { teamId, liveKey } = await makeTeam(sql);
    // Twice, for the rows that are asked about without a probe.
    const settings = settingsOf(context, world, 2 * rows);
    const api = keep(await startRole(context, "api", settings));
    const relay = keep(await startRole(context, "relay", settings));
    const bulk = keep(await startRole(context, "bulk", settings));
    const objects = keep(openMeasuredObjects(settings));
    const client = { url: `http://127.0.0.1:${api.port}`, key: liveKey };
    const roles = new Map([bulk, api, relay].map(({ pid }, i) => [pid, ["bulk", "api", "relay"][i] ?? ""]));
    const { threads } = loadConfig({ ...settings, ROLE: "bulk" }).verify;
    const measured = await measureRounds({ sql, client, bulk, teamId, objects, roles }, { ...usual, rows });
    return {
      title: "Bulk, from object storage to result files",
      configuration: [
        `one bulk process, check threads: ${threads}; api, relay, Postgres, Redis, object storage and mail servers (${world.sinksRunOn}) beside it`,
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
