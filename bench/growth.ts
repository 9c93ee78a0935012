import { LIMITS } from "../src/core/limits.ts";
import { bootstrap } from "../src/services/teams/bootstrap.ts";
import { type BulkClient, completed, submitUpload, upload } from "./bulk-job.ts";
import { type BenchContext, bulkSettingsFor, withChildren } from "./context.ts";
import { inDatabase } from "./database.ts";
import { InvalidRun } from "./figures.ts";
import { BLOCKED_ABOVE, type GrowthList, growthFile } from "./growth-list.ts";
import { cpuMsOf } from "./process-cpu.ts";
import { type RoleProcess, startRole } from "./role.ts";
import type { Section } from "./table.ts";
import type { Target } from "./target.ts";

/** The largest marginal cost over the smallest, at most: flat within 10 %. */
const GROWTH_MAX = 1.1;
const TEAM_LIMITS = { dailyQuota: 1_000_000_000, bulkBytes: 100_000_000_000 };

interface Plan {
  warmUpRows: number;
  /** Lists of different lengths, ascending, of `domains` domains. The longest is measured once. */
  rows: readonly [number, number, number];
  domains: number;
  /** Two lists of these lengths for each number of domains. */
  perDomains: readonly [number, number];
  /** How often those of each number of domains are measured, by turns. */
  rounds: number;
  /** How often the two that are not the longest are measured before that, and how often after. */
  beside: readonly [number, number];
  /** More domains than are remembered at once, told and not judged: two lists that have each of them once and twice. */
  beyond: { domains: number; rows: readonly [number, number] } | null;
}

const FULL: Plan = {
  warmUpRows: 200_000,
  rows: [100_000, 1_000_000, 10_000_000],
  domains: 1_000,
  perDomains: [100_000, 300_000],
  rounds: 3,
  beside: [1, 1],
  beyond: { domains: 200_000, rows: [200_000, 400_000] },
};
/** A trend in the table, no figure: what the compiler does with code that has just begun is more than what is looked for. */
const QUICK: Plan = {
  warmUpRows: 20_000,
  rows: [20_000, 100_000, 200_000],
  domains: 1_000,
  perDomains: [40_000, 120_000],
  rounds: 1,
  beside: [1, 0],
  beyond: null,
};
const DOMAIN_COUNTS = [1_000, 100_000] as const;
/** Of the allowance, until which the longest list must be done by the pace of the one before, and all that is measured. */
const LONGEST_SHARE = 0.95;
const ALL_SHARE = 0.98;

interface GrowthRun extends GrowthList {
  /** Of the bulk process, all its threads. */
  cpuMs: number;
  /** From the submission to the results, and of the upload before. */
  wallMs: number;
  uploadMs: number;
}

interface World {
  client: BulkClient;
  bulk: RoleProcess;
  /** Lists that were made. */
  runs: number;
}

/** Nobody is asked: neither names nor mail servers. */
function settingsOf(context: BenchContext): Record<string, string> {
  return bulkSettingsFor(context, { dnsServer: "127.0.0.1:9", smtpPort: 25 });
}

async function makeTeam(context: BenchContext): Promise<string> {
  return inDatabase(context, async (sql) => {
    const made = await bootstrap(sql, { email: "growth@example.com", team: "growth", tier: "starter" });
    await sql`update teams set limits = ${sql.json(TEAM_LIMITS)} where id = ${made.teamId}`;
    await sql`insert into blocklist (team_id, domain, include_subdomains) values (${made.teamId}, ${BLOCKED_ABOVE}, true)`;
    return made.liveKey;
  });
}

/** From the submission until the results are there; the upload is no part of it. */
async function runList(world: World, length: Omit<GrowthList, "run">): Promise<GrowthRun> {
  const { client, bulk } = world;
  const list = { ...length, run: world.runs++ };
  const startedMs = performance.now();
  const uploadId = await upload(client, `growth-${list.run}.csv`, growthFile(list));
  const before = { atMs: performance.now(), cpuMs: cpuMsOf(bulk.pid) };
  const { id } = await submitUpload(client, uploadId);
  const job = await completed(client, id, () => undefined);
  const run = {
    ...list,
    cpuMs: cpuMsOf(bulk.pid) - before.cpuMs,
    wallMs: performance.now() - before.atMs,
    uploadMs: before.atMs - startedMs,
  };
  const wanted = { valid: 0, invalid: 0, risky: list.rows, unknown: 0 };
  for (const [verdict, count] of Object.entries(wanted))
    if (job.verdicts[verdict as keyof typeof wanted] !== count)
      throw new InvalidRun(`${list.rows} rows: ${JSON.stringify(job.verdicts)}`);
  return run;
}

/** Microseconds of CPU that each row costs by which the second list is longer. */
function marginalUs(shorter: GrowthRun, longer: GrowthRun): number {
  return ((longer.cpuMs - shorter.cpuMs) * 1_000) / (longer.rows - shorter.rows);
}

/**
 * How many rows the longest list may have to be done in time: by the pace of one before and its upload, which took `uploadMs`.
 * At least twice that one's.
 */
function rowsInTime(wanted: number, { rows, wallMs, uploadMs }: GrowthRun, leftMs: number): number {
  const fit = Math.floor((leftMs / (wallMs + uploadMs)) * rows);
  return Math.min(wanted, Math.max(2 * rows, fit));
}

const thousands = (count: number) => count.toLocaleString("en");
const spreadOf = (costs: readonly number[]) => Math.max(...costs) / Math.min(...costs);

/** A cost that is not above zero says that the lists were too short to be told from noise. */
function growthTarget(id: string, what: string, costs: readonly number[], shortfall: string | null): Target {
  const reason = Math.min(...costs) <= 0 ? "the lists are too short to be told from noise" : shortfall;
  return {
    id,
    what,
    unit: "×",
    figure: reason === null ? spreadOf(costs) : null,
    ...(reason === null ? {} : { reason }),
    atMost: GROWTH_MAX,
  };
}

function rowOf({ rows, domains, cpuMs, wallMs }: GrowthRun, marginal: number | null): string[] {
  return [
    `${thousands(rows)} rows, ${thousands(domains)} domains`,
    thousands(Math.round((rows * 1_000) / wallMs)),
    ((cpuMs * 1_000) / rows).toFixed(2),
    marginal === null ? "" : marginal.toFixed(2),
  ];
}

/** Lists of one number of domains, the shorter and the longer one: means of their rounds. */
type Pair = [GrowthRun, GrowthRun];

interface Measured {
  byRows: GrowthRun[];
  byDomains: Pair[];
  /** null: not asked for, or there was no time. */
  beyond: Pair | null;
}

/**
 * What they took in the mean. All that are compared are spread over the same time: a core of a shared machine does a row for a
 * seventh less now than two minutes ago, and a median of runs that lie beside each other has all of that.
 */
function mean(runs: readonly GrowthRun[]): GrowthRun {
  const [first] = runs;
  if (first === undefined) throw new InvalidRun("a list is missing");
  const of = (field: "cpuMs" | "wallMs" | "uploadMs") =>
    runs.reduce((sum, run) => sum + run[field], 0) / runs.length;
  return { ...first, cpuMs: of("cpuMs"), wallMs: of("wallMs"), uploadMs: of("uploadMs") };
}

/** By turns, every other round the other way about, so that whatever else the machine does meets them alike. */
async function measureDomains(world: World, { perDomains, rounds, warmUpRows }: Plan): Promise<Pair[]> {
  const most = Math.max(...DOMAIN_COUNTS);
  // What is remembered of domains is as full in all rounds.
  await runList(world, { rows: Math.max(most, warmUpRows), domains: most });
  const all = DOMAIN_COUNTS.map((domains) =>
    perDomains.map((rows) => ({ rows, domains, runs: [] as GrowthRun[] })),
  );
  const inTurn = all.flat();
  for (let round = 0; round < rounds; round++) {
    for (const { rows, domains, runs } of inTurn) runs.push(await runList(world, { rows, domains }));
    inTurn.reverse();
  }
  return all.map(([shorter, longer]): Pair => [mean(shorter?.runs ?? []), mean(longer?.runs ?? [])]);
}

async function measureRows(world: World, plan: Plan, deadlineMs: number): Promise<GrowthRun[]> {
  const { domains } = plan;
  const [before, after] = plan.beside;
  const [first, second, wanted] = plan.rows;
  const shorts: GrowthRun[] = [];
  const seconds: GrowthRun[] = [];
  const oneOfEach = async () => {
    shorts.push(await runList(world, { rows: first, domains }));
    seconds.push(await runList(world, { rows: second, domains }));
  };
  for (let round = 0; round < before; round++) await oneOfEach();
  const pace = mean(seconds);
  const leftMs =
    deadlineMs - performance.now() - (1 + first / second) * after * (pace.wallMs + pace.uploadMs);
  const longest = await runList(world, { rows: rowsInTime(wanted, pace, leftMs), domains });
  for (let round = 0; round < after; round++) await oneOfEach();
  return [mean(shorts), mean(seconds), longest];
}

/** A row of so many domains takes no longer than so many times one of few. */
const BEYOND_SLOWER = 2;

/** What is left of the time goes to it, if that is enough by the pace of the longest list. */
async function measureBeyond(
  world: World,
  { beyond }: Plan,
  pace: GrowthRun | undefined,
  leftMs: number,
): Promise<Pair | null> {
  if (beyond === null || pace === undefined) return null;
  const { domains } = beyond;
  const [shorter, longer] = beyond.rows;
  const msPerRow = (BEYOND_SLOWER * (pace.wallMs + pace.uploadMs)) / pace.rows;
  if ((domains + shorter + longer) * msPerRow > leftMs) return null;
  // So that a domain's first sight is part of none.
  await runList(world, { rows: domains, domains });
  return [await runList(world, { rows: shorter, domains }), await runList(world, { rows: longer, domains })];
}

async function measureAll(
  world: World,
  plan: Plan,
  startedMs: number,
  allowanceMs: number,
): Promise<Measured> {
  await runList(world, { rows: plan.warmUpRows, domains: plan.domains });
  const byDomains = await measureDomains(world, plan);
  const byRows = await measureRows(world, plan, startedMs + LONGEST_SHARE * allowanceMs);
  const leftMs = startedMs + ALL_SHARE * allowanceMs - performance.now();
  return { byDomains, byRows, beyond: await measureBeyond(world, plan, byRows.at(-1), leftMs) };
}

/** Whether a row costs more the more there are, or the more domains they are of: CPU of the bulk process, all threads. */
export async function benchGrowth(context: BenchContext): Promise<Section> {
  const plan = context.quick ? QUICK : FULL;
  const startedMs = performance.now();
  return withChildren(async (keep) => {
    const settings = settingsOf(context);
    const key = await makeTeam(context);
    const api = keep(await startRole(context, "api", settings));
    keep(await startRole(context, "relay", settings));
    const bulk = keep(await startRole(context, "bulk", settings));
    const world: World = { client: { url: `http://127.0.0.1:${api.port}`, key }, bulk, runs: 0 };
    return sectionOf(plan, await measureAll(world, plan, startedMs, context.allowanceMs));
  });
}

function pairRows([shorter, longer]: Pair): string[][] {
  return [rowOf(shorter, null), rowOf(longer, marginalUs(shorter, longer))];
}

/** What the figures are silent about: how many domains are remembered, and what more of them cost. */
function beyondNotes({ beyond: wanted }: Plan, beyond: Pair | null): string[] {
  if (wanted === null) return [];
  const domains = thousands(wanted.domains);
  return beyond === null
    ? [`no time was left for lists of ${domains} domains, more than are remembered at once`]
    : [`lists of ${domains} domains, more than are remembered at once, are told and not judged`];
}

function sectionOf(plan: Plan, { byRows, byDomains, beyond }: Measured): Section {
  const marginalByRows = byRows.slice(1).map((run, at) => marginalUs(byRows[at] ?? run, run));
  const marginalByDomains = byDomains.map(([shorter, longer]) => marginalUs(shorter, longer));
  const longest = byRows.at(-1)?.rows ?? 0;
  const wanted = plan.rows[2];
  const tooQuick = plan === QUICK ? "lists of a quick run are too short to be told from noise" : null;
  const tooShort =
    longest < wanted
      ? `${thousands(longest)} rows, not ${thousands(wanted)}, were all there was time for`
      : null;
  return {
    title: "Growth of the cost of a row",
    configuration: [
      `one bulk process; all rows answered from the team's blocklist, row by row to the next domain, no address twice; after a list of ${thousands(plan.warmUpRows)} rows that is not counted`,
      `nobody's MX is looked up: what a row costs whose domain the DNS' cache has to know is no part of this`,
      `by domains: means of ${plan.rounds} rounds by turns, after a list of all domains; all lists have the same ones, so that none is seen for the first time`,
      `by rows: the longest list once, the others ${plan.beside.join(" before it and ")} after, in the mean`,
      `names of domains are remembered: ${thousands(LIMITS.check.domainNames / 2)} for certain, at most ${thousands(LIMITS.check.domainNames)}`,
      "marginal: CPU by which a list costs more than the one above it, for each row by which it is longer",
    ],
    unit: "rows",
    lines: [],
    table: [
      ["", "rows/s", "CPU µs a row", "marginal"],
      ...[...byDomains, ...(beyond === null ? [] : [beyond])].flatMap(pairRows),
      ...byRows.map((run, at) => rowOf(run, at === 0 ? null : (marginalByRows[at - 1] ?? null))),
    ],
    notes: beyondNotes(plan, beyond),
    targets: [
      growthTarget(
        "growth.rows",
        `marginal CPU a row, ${thousands(plan.rows[0])} to ${thousands(longest)} rows, largest over smallest`,
        marginalByRows,
        tooQuick ?? tooShort,
      ),
      growthTarget(
        "growth.domains",
        `marginal CPU a row, ${DOMAIN_COUNTS.map(thousands).join(" and ")} domains, larger over smaller`,
        marginalByDomains,
        tooQuick,
      ),
    ],
  };
}
