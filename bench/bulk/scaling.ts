import type { Client } from "../../packages/client/src/index.ts";
import { type CpuShares, lookAtCpu, sharesBetween, sharesText } from "../cpu/cpu-shares.ts";
import { cpuMsOf } from "../cpu/process-cpu.ts";
import type { MailServers } from "../processes/mail-servers.ts";
import { InvalidRun } from "../report/figures.ts";
import type { Section } from "../report/table.ts";
import type { Target } from "../report/target.ts";
import type { Child } from "../setup/child.ts";
import { type BenchContext, bulkSettingsFor, withChildren } from "../setup/context.ts";
import { makeTeam } from "../setup/teams.ts";
import { NO_DELAYS, startMail } from "../sinks/mail.ts";
import { completed, submitUpload, upload } from "./bulk-job.ts";
import { type JobsWorld, startJobsWorld } from "./jobs-world.ts";
import {
  PROCESSES,
  type ScalingList,
  SITES,
  SITES_PER_LIST,
  scalingFile,
  scalingInternet,
  scalingVerdicts,
} from "./scaling-plan.ts";
import { watchJobs } from "./watch-jobs.ts";

/**
 * Rows of a list, and the numbers of processes, with as many lists as processes. Warm-up lists are as long, so that the
 * same code joins their results. There are three for each process, since V8 goes on optimising. Without delay, a row of
 * the first list of each of eight processes took 235 µs of CPU, of the second 143, of the third 110. Of ten lists of
 * two processes, the third to the tenth took 110 to 130.
 */
const FULL = { rows: 20_000, processes: [1, PROCESSES], warmUpRows: 20_000, warmUps: 3 };
const QUICK = { rows: 5_000, processes: [1, 4], warmUpRows: 2_000, warmUps: 1 };
const LATENCY_MS = 20;
/**
 * Time for each recipient, which keeps a site slow. With the round trip alone, one connection asks about 500 addresses
 * a second in writes of ten, and the bound of eight processes would be two cores, not the sites. A list's sites handle
 * a third more than the 1,000 rows/s that a process must reach: the last sites idle while the first rows are read, and
 * end alone.
 */
const RECIPIENT_MS = 36;
/**
 * Connections that each site allows the egress, which is one for all processes. All else is as shipped, including ten
 * transactions a write. Rows that find their site's connection in use leave their chunk and become retries.
 */
const CONNECTIONS = 1;
/**
 * Most rows/s of a site: ten recipients, one after the other, and a round trip. With 4.5 recipients a write, the usual
 * number, a list gets 1,217.
 */
const DEPTH = 10;
const SITE_RATE = (DEPTH * 1_000) / (LATENCY_MS + DEPTH * RECIPIENT_MS);

const SCALING_MIN = 0.9;
/** Conditions without which the figure says nothing. */
const BUSY_MAX = 0.8;
const PER_PROCESS_MIN = 1_000;

/** As many lists as there are processes, all at once. */
interface ScaledRun {
  processes: number;
  rowsPerS: number;
  rows: number;
  /** Shares of the whole machine. */
  shares: CpuShares;
  /** CPU microseconds of the bulk processes for a row. */
  cpuUs: number;
  deferrals: number;
  account: Awaited<ReturnType<MailServers["account"]>>;
}

function settingsOf(context: BenchContext, mail: { dnsServer: string; smtpPort: number }) {
  const caps = { maxConnections: CONNECTIONS };
  return bulkSettingsFor(context, mail, { SHAPING: JSON.stringify({ default: caps }), CHECK_THREADS: "1" });
}

/** Number of rows by verdict and reason, to find the cause of a wrong count. */
async function reasonsOf(client: Client, id: string): Promise<string> {
  const counts = new Map<string, number>();
  for await (const { verdict, reason } of client.bulk.job(id).results()) {
    const answer = `${verdict} ${reason}`;
    counts.set(answer, (counts.get(answer) ?? 0) + 1);
  }
  return JSON.stringify(Object.fromEntries(counts));
}

async function requireAnswers({ client }: JobsWorld, id: string, list: ScalingList): Promise<void> {
  const { verdicts } = await completed(client, id);
  const wanted = { ...scalingVerdicts(list), risky: 0, unknown: 0 };
  const found = Object.entries(wanted).filter(([verdict, count]) => verdicts[verdict as never] !== count);
  if (found.length === 0) return;
  throw new InvalidRun(`list ${list.list}: ${JSON.stringify(verdicts)}; ${await reasonsOf(client, id)}`);
}

interface World extends JobsWorld {
  mail: Child<MailServers>;
}

async function runLists(world: World, run: number, processes: number, rows: number): Promise<ScaledRun> {
  const { client, sql, mail } = world;
  const lists = Array.from({ length: processes }, (_, list): ScalingList => ({ run, list, rows }));
  const uploads: string[] = [];
  for (const list of lists)
    uploads.push(await upload(client, `scaling-${run}-${list.list}.csv`, scalingFile(list)));
  await mail.call("reset");
  const before = lookAtCpu(world.roles);
  const cpuMs = () => world.bulk.reduce((sum, { pid }) => sum + cpuMsOf(pid), 0);
  const cpuBeforeMs = cpuMs();
  const jobs = await Promise.all(uploads.map((id) => submitUpload(client, id)));
  const ids = jobs.map(({ id }) => id);
  const { tookMs, putOff: deferrals } = await watchJobs(sql, ids);
  const shares = sharesBetween(before, lookAtCpu(world.roles));
  const all = processes * rows;
  const cpuUs = ((cpuMs() - cpuBeforeMs) * 1_000) / all;
  const account = await mail.call("account");
  for (const [at, list] of lists.entries()) await requireAnswers(world, ids[at] ?? "", list);
  return { processes, rows: all, rowsPerS: (all * 1_000) / tookMs, shares, cpuUs, deferrals, account };
}

const whole = (value: number) => Math.round(value).toLocaleString("en");

function rowOf(
  { processes, rowsPerS, shares, cpuUs, deferrals, account }: ScaledRun,
  alone: number,
): string[] {
  return [
    `${processes} bulk ${processes === 1 ? "process" : "processes"}`,
    whole(rowsPerS),
    whole(rowsPerS / processes),
    `${(rowsPerS / (processes * alone)).toFixed(2)} ×`,
    `${Math.round(shares.busy * 100)} %`,
    whole(cpuUs),
    whole(deferrals),
    whole(account.connections),
  ];
}

/** Why the figure says nothing; null: it says something. */
function voidReason(alone: ScaledRun, together: ScaledRun): string | null {
  const { account } = together;
  const { busy } = together.shares;
  if (alone.rowsPerS < PER_PROCESS_MIN) return `${whole(alone.rowsPerS)} rows/s of one process are too few`;
  if (busy >= BUSY_MAX) {
    const cpuUs = `${whole(together.cpuUs)} µs of the bulk processes a row`;
    return `the machine was ${Math.round(busy * 100)} % busy (${cpuUs}): its processors were the bound`;
  }
  // Processes that do not reach Redis for a second go on alone: the machine was too busy even for that.
  if (account.maxOpenPerSite > CONNECTIONS)
    return `${account.maxOpenPerSite} connections to one site: Redis was not reached in time`;
  return null;
}

function ofProcesses(runs: readonly ScaledRun[], wanted: number): ScaledRun | undefined {
  return runs.find(({ processes }) => processes === wanted);
}

function targetsOf(runs: readonly ScaledRun[]): Target[] {
  const alone = ofProcesses(runs, 1);
  const together = ofProcesses(runs, PROCESSES);
  const isWhole = alone !== undefined && together !== undefined;
  const reason = isWhole ? voidReason(alone, together) : `a quick run has no ${PROCESSES} processes`;
  return [
    {
      id: "bulk.scaling",
      what: `latency-bound rows/s of ${PROCESSES} processes over ${PROCESSES} × one`,
      unit: "×",
      figure: isWhole && reason === null ? together.rowsPerS / (PROCESSES * alone.rowsPerS) : null,
      ...(reason === null ? {} : { reason }),
      atLeast: SCALING_MIN,
    },
    {
      id: "bulk.scaling.cpu",
      what: "latency-bound rows, one process, CPU of the process",
      unit: "µs a row",
      figure: alone?.cpuUs ?? null,
    },
  ];
}

/**
 * Whether eight bulk processes of one egress are eight times as fast at work that waits for mail servers. They share
 * the streams of tasks, the tables, object storage, and the sites' caps by leases in Redis.
 */
export async function benchScaling(context: BenchContext): Promise<Section> {
  const { rows, processes, warmUpRows, warmUps } = context.quick ? QUICK : FULL;
  return withChildren(async (keep) => {
    const { mail, ...servers } = await startMail(context, keep, scalingInternet());
    const settings = settingsOf(context, servers);
    const team = await makeTeam(context, "scaling");
    const world = { ...(await startJobsWorld(context, keep, settings, team)), mail };
    const done: ScaledRun[] = [];
    let run = 0;
    for (const wanted of processes) {
      while (world.bulk.length < wanted) await world.startBulk();
      // Code that has not run yet costs several times as much, and processes of jobs live for weeks.
      await mail.call("delay", NO_DELAYS);
      for (let i = 0; i < warmUps; i++) await runLists(world, run++, wanted, warmUpRows);
      await mail.call("delay", { latencyMs: LATENCY_MS, recipientMs: RECIPIENT_MS });
      done.push(await runLists(world, run++, wanted, rows));
    }
    const alone = ofProcesses(done, 1)?.rowsPerS ?? Number.NaN;
    return {
      title: "Scaling over bulk processes",
      configuration: [
        `${SITES_PER_LIST} sites a list, ${SITES} in all, ${CONNECTIONS} connection each (SHAPING), ${LATENCY_MS} ms a round trip and ${RECIPIENT_MS} ms for each recipient, one after the other; a domain a site`,
        `${whole(rows)} rows a list, sorted by domain, as many lists as processes; one EGRESS_ID, hence one address and one cap for all processes; one check thread each; mail servers: one process of ${servers.sinksRunOn}`,
        `a list's sites bear ${whole(SITES_PER_LIST * SITE_RATE)} rows/s at most, with ${DEPTH} recipients a write; as shipped a write has no more than a session may still be refused, 8 at first, so about 4.5: their latency is the bound, and no bound of a process`,
        `before each run ${warmUps === 1 ? "" : `${warmUps} times `}as many lists of ${whole(warmUpRows)} rows at no delay, so that what runs is compiled`,
        "from the first chunk to the last shard; the processor's share is of the whole machine, sinks and services included",
      ],
      unit: "rows",
      lines: [],
      table: [
        ["", "rows/s", "a process", "of linear", "busy", "CPU µs a row", "put off", "connections"],
        ...done.map((one) => rowOf(one, alone)),
      ],
      notes: done.map((one) => `CPU µs a row, ${one.processes} at once: ${sharesText(one.rows, [one])}`),
      targets: targetsOf(done),
    };
  });
}
