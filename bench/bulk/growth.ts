import { LIMITS } from "../../src/config/limits/limits.ts";
import { cpuMsOf } from "../cpu/process-cpu.ts";
import { InvalidRun, median, medianRatio } from "../report/figures.ts";
import type { Section } from "../report/table.ts";
import type { Target } from "../report/target.ts";
import { type BenchContext, bulkSettingsFor, withChildren } from "../setup/context.ts";
import { makeTeam } from "../setup/teams.ts";
import { completed, requireVerdicts, submitUpload, upload } from "./bulk-job.ts";
import { BLOCKED_ABOVE, type GrowthList, growthFile } from "./growth-list.ts";
import { type JobsWorld, startJobsWorld } from "./jobs-world.ts";

/** The largest marginal cost over the smallest, at most: flat within 10 %. */
const GROWTH_MAX = 1.1;

interface Plan {
  warmUpRows: number;
  /** Lists of different lengths, ascending, of `domains` domains. */
  rows: readonly [number, number, number];
  domains: number;
  /** Two lists of these lengths for each number of domains. */
  perDomains: readonly [number, number];
  /** Number of measurements for each number of domains, in turn: at least, and at most where there is time. */
  rounds: readonly [number, number];
  /**
   * Number of measurements of the two shorter lists before the longest one, and after it. All of it twice where there
   * is time.
   */
  beside: readonly [number, number];
  /**
   * More domains than are remembered at once, shown but not judged: two lists that have each of them once and twice.
   */
  beyond: { domains: number; rows: readonly [number, number] } | null;
}

const FULL: Plan = {
  warmUpRows: 200_000,
  rows: [100_000, 1_000_000, 10_000_000],
  domains: 1_000,
  // The lengths differ so much because each measurement varies by a tenth: so the cost of a row varies by a sixth. With
  // 100,000 and 300,000 rows it was a quarter.
  perDomains: [20_000, 500_000],
  rounds: [3, 10],
  beside: [2, 2],
  beyond: { domains: 200_000, rows: [200_000, 400_000] },
};
/** Shows a trend in the table, without a figure: compiling new code takes more CPU than the effect measured. */
const QUICK: Plan = {
  warmUpRows: 20_000,
  rows: [20_000, 100_000, 200_000],
  domains: 1_000,
  perDomains: [40_000, 120_000],
  rounds: [1, 1],
  beside: [1, 0],
  beyond: null,
};
const DOMAIN_COUNTS = [1_000, 100_000] as const;
/**
 * Shares of the time budget: end of the rounds by domains; expected end of the longest list, by the pace of the one
 * before; end of all.
 */
const DOMAINS_SHARE = 0.36;
const LONGEST_SHARE = 0.95;
const ALL_SHARE = 0.98;

interface GrowthRun extends GrowthList {
  /** CPU of the bulk process, all its threads. */
  cpuMs: number;
  /** From the submission to the results, and of the upload before. */
  wallMs: number;
  uploadMs: number;
}

interface World extends JobsWorld {
  /** Lists that were made. */
  runs: number;
}

/** From the submission until the results are there; the upload is no part of it. */
async function runList(world: World, length: Omit<GrowthList, "run">): Promise<GrowthRun> {
  const { client, bulk, removeObjects } = world;
  const cpuMs = () => bulk.reduce((sum, { pid }) => sum + cpuMsOf(pid), 0);
  const list = { ...length, run: world.runs++ };
  const startedMs = performance.now();
  const uploadId = await upload(client, `growth-${list.run}.csv`, growthFile(list));
  const before = { atMs: performance.now(), cpuMs: cpuMs() };
  const { id } = await submitUpload(client, uploadId);
  const job = await completed(client, id);
  const run = {
    ...list,
    cpuMs: cpuMs() - before.cpuMs,
    wallMs: performance.now() - before.atMs,
    uploadMs: before.atMs - startedMs,
  };
  requireVerdicts(`${list.rows} rows`, job, { risky: list.rows });
  await removeObjects();
  return run;
}

/** Microseconds of CPU that each row costs by which the second list is longer. */
function marginalUs(shorter: GrowthRun, longer: GrowthRun): number {
  return ((longer.cpuMs - shorter.cpuMs) * 1_000) / (longer.rows - shorter.rows);
}

/**
 * Rows that the longest list can have to be done in time, by the pace of the one before and its upload (`uploadMs`). At
 * least twice that one's.
 */
function rowsInTime(wanted: number, { rows, wallMs, uploadMs }: GrowthRun, leftMs: number): number {
  const fit = Math.floor((leftMs / (wallMs + uploadMs)) * rows);
  return Math.min(wanted, Math.max(2 * rows, fit));
}

const thousands = (count: number) => count.toLocaleString("en");

/**
 * @param ratio of one cost to another, whichever is larger; NaN: a cost is not above zero, so the lists were too short
 * to be told from noise
 */
function growthTarget(id: string, what: string, ratio: number, shortfall: string | null): Target {
  const reason = ratio > 0 ? shortfall : "the lists are too short to be told from noise";
  return {
    id,
    what,
    unit: "×",
    figure: reason === null ? Math.max(ratio, 1 / ratio) : null,
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

/** The shorter and the longer one of two lists that were measured one behind the other. */
type Pair = [GrowthRun, GrowthRun];

/** A list that was measured several times, with the medians. */
function typical(runs: readonly GrowthRun[]): GrowthRun {
  const [first] = runs;
  if (first === undefined) throw new InvalidRun("a list is missing");
  const of = (field: "cpuMs" | "wallMs" | "uploadMs") => median(runs.map((run) => run[field]));
  return { ...first, cpuMs: of("cpuMs"), wallMs: of("wallMs"), uploadMs: of("uploadMs") };
}

/** Pairs of the same lists: the medians of both, and the marginal cost of a row by each pair. */
interface Pairs {
  shorter: GrowthRun;
  longer: GrowthRun;
  marginalsUs: number[];
}

function pairsOf(pairs: readonly Pair[]): Pairs {
  return {
    shorter: typical(pairs.map(([shorter]) => shorter)),
    longer: typical(pairs.map(([, longer]) => longer)),
    marginalsUs: pairs.map(([shorter, longer]) => marginalUs(shorter, longer)),
  };
}

interface ByDomains {
  /** By number of domains, ascending. */
  pairs: Pairs[];
  /**
   * For each round, the marginal cost of a row with the most domains, and with the fewest; those four lists are
   * measured one after the other.
   */
  rounds: [number, number][];
}

/** The longest list, and those that were measured before and after it. */
interface RowsRound {
  pairs: Pair[];
  longest: GrowthRun;
}

interface Measured {
  byRows: RowsRound[];
  byDomains: ByDomains;
  /** null: not asked for, or there was no time. */
  beyond: Pair | null;
}

async function measurePair(world: World, [shorter, longer]: readonly [number, number], domains: number) {
  const first = await runList(world, { rows: shorter, domains });
  return [first, await runList(world, { rows: longer, domains })] satisfies Pair;
}

/**
 * Measures in turn, every other round in reverse order. Costs are compared within a round: a core of a shared machine
 * does a row in a seventh less time than a minute ago, which a median over rounds does not correct.
 */
async function measureDomains(
  world: World,
  { perDomains, rounds: [least, most], warmUpRows }: Plan,
  deadlineMs: number,
): Promise<ByDomains> {
  const domainsMost = Math.max(...DOMAIN_COUNTS);
  // Fills the memory of domains equally for all rounds.
  await runList(world, { rows: Math.max(domainsMost, warmUpRows), domains: domainsMost });
  const all = DOMAIN_COUNTS.map((domains) => ({ domains, pairs: [] as Pair[] }));
  const inTurn = [...all];
  let roundMs = 0;
  for (let round = 0; round < most; round++) {
    const nowMs = performance.now();
    if (round >= least && nowMs + roundMs > deadlineMs) break;
    for (const { domains, pairs } of inTurn) pairs.push(await measurePair(world, perDomains, domains));
    inTurn.reverse();
    roundMs = performance.now() - nowMs;
  }
  const pairs = all.map((one) => pairsOf(one.pairs));
  const [few = [], many = []] = pairs.map(({ marginalsUs }) => marginalsUs);
  return { pairs, rounds: many.map((us, round) => [us, few[round] ?? Number.NaN]) };
}

/** Once, and again where there is time for all of it. */
async function measureRows(world: World, plan: Plan, deadlineMs: number): Promise<RowsRound[]> {
  const startedMs = performance.now();
  const first = await measureRowsOnce(world, plan, deadlineMs);
  const endedMs = performance.now();
  if (2 * endedMs - startedMs > deadlineMs) return [first];
  const second = await measureRowsOnce(world, plan, deadlineMs);
  // A shorter second list, for lack of time, is not comparable.
  return second.longest.rows < first.longest.rows ? [first] : [first, second];
}

/** The lists that are compared are measured one after the other, as by domains. */
async function measureRowsOnce(world: World, plan: Plan, deadlineMs: number): Promise<RowsRound> {
  const { domains } = plan;
  const [before, after] = plan.beside;
  const [first, second, wanted] = plan.rows;
  const pairs: Pair[] = [];
  const somePairs = async (count: number) => {
    for (let i = 0; i < count; i++) pairs.push(await measurePair(world, [first, second], domains));
  };
  await somePairs(before);
  const pace = typical(pairs.map(([, longer]) => longer));
  const pairMs = (1 + first / second) * (pace.wallMs + pace.uploadMs);
  const leftMs = deadlineMs - performance.now() - after * pairMs;
  const longest = await runList(world, { rows: rowsInTime(wanted, pace, leftMs), domains });
  await somePairs(after);
  return { pairs, longest };
}

/** Microseconds that a row costs by which the longest list is longer than the second. */
function longestUs({ pairs, longest }: RowsRound): number {
  return marginalUs(pairsOf(pairs).longer, longest);
}

/**
 * The marginal cost of a row in the longest list, over that in the second list, or the inverse, whichever is larger.
 * The median over the pairs.
 */
function rowsRatio(round: RowsRound): number {
  const us = longestUs(round);
  const ratio = medianRatio(pairsOf(round.pairs).marginalsUs.map((shortUs) => [us, shortUs]));
  return Math.max(ratio, 1 / ratio);
}

/** A row of so many domains takes no longer than so many times one of few. */
const BEYOND_SLOWER = 2;

/** Uses the remaining time for it, if that suffices by the pace of the longest list. */
async function measureBeyond(
  world: World,
  { beyond }: Plan,
  pace: GrowthRun,
  leftMs: number,
): Promise<Pair | null> {
  if (beyond === null) return null;
  const { domains } = beyond;
  const [shorter, longer] = beyond.rows;
  const msPerRow = (BEYOND_SLOWER * (pace.wallMs + pace.uploadMs)) / pace.rows;
  if ((domains + shorter + longer) * msPerRow > leftMs) return null;
  // So that no measured list is the first with a domain.
  await runList(world, { rows: domains, domains });
  return measurePair(world, [shorter, longer], domains);
}

async function measureAll(
  world: World,
  plan: Plan,
  startedMs: number,
  allowanceMs: number,
): Promise<Measured> {
  await runList(world, { rows: plan.warmUpRows, domains: plan.domains });
  const byDomains = await measureDomains(world, plan, startedMs + DOMAINS_SHARE * allowanceMs);
  const byRows = await measureRows(world, plan, startedMs + LONGEST_SHARE * allowanceMs);
  const leftMs = startedMs + ALL_SHARE * allowanceMs - performance.now();
  const pace = typical(byRows.map(({ longest }) => longest));
  return { byDomains, byRows, beyond: await measureBeyond(world, plan, pace, leftMs) };
}

/** Whether a row costs more in longer lists, or in lists with more domains: CPU of the bulk process, all threads. */
export async function benchGrowth(context: BenchContext): Promise<Section> {
  const plan = context.quick ? QUICK : FULL;
  const startedMs = performance.now();
  return withChildren(async (keep) => {
    // No server is asked: neither DNS nor mail servers.
    const settings = bulkSettingsFor(context, { dnsServer: "127.0.0.1:9", smtpPort: 25 });
    const blocked = { domain: BLOCKED_ABOVE, subdomains: true };
    const team = await makeTeam(context, "growth", { tier: "starter", anyLists: true, blocked });
    const world = await startJobsWorld(context, keep, settings, team);
    await world.startBulk();
    return sectionOf(plan, await measureAll({ ...world, runs: 0 }, plan, startedMs, context.allowanceMs));
  });
}

function pairRows({ shorter, longer, marginalsUs }: Pairs): string[][] {
  return [rowOf(shorter, null), rowOf(longer, median(marginalsUs))];
}

/** Notes beside the figures: how many domains are remembered, and what more of them cost. */
function beyondNotes({ beyond: wanted }: Plan, beyond: Pair | null): string[] {
  if (wanted === null) return [];
  const domains = thousands(wanted.domains);
  return beyond === null
    ? [`no time was left for lists of ${domains} domains, more than are remembered at once`]
    : [`lists of ${domains} domains, more than are remembered at once, are told and not judged`];
}

function sectionOf(plan: Plan, { byRows, byDomains, beyond }: Measured): Section {
  const short = pairsOf(byRows.flatMap(({ pairs }) => pairs));
  const longest = Math.min(...byRows.map(({ longest: { rows } }) => rows));
  const rowsRatios = byRows.map(rowsRatio);
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
      `by domains: ${byDomains.rounds.length} rounds by turns, after a list of all domains; all lists have the same ones, so that none is seen for the first time; judged is the median of what each round says by itself`,
      `by rows: ${byRows.length === 1 ? "once" : "twice"} the longest list, the others ${plan.beside[0]} times before it and ${plan.beside[1]} after${byRows.length === 1 ? "" : "; judged is the mean of what each says by itself"}`,
      `at most ${thousands(LIMITS.check.domainNames)} names of domains are remembered`,
      "marginal: CPU by which a list costs more than the one above it, for each row by which it is longer",
    ],
    unit: "rows",
    lines: [],
    table: [
      ["", "rows/s", "CPU µs a row", "marginal"],
      ...[...byDomains.pairs, ...(beyond === null ? [] : [pairsOf([beyond])]), short].flatMap(pairRows),
      rowOf(typical(byRows.map((round) => round.longest)), median(byRows.map(longestUs))),
    ],
    notes: [
      `by domains, round by round: ${byDomains.rounds.map((round) => medianRatio([round]).toFixed(2)).join(", ")} ×`,
      `by rows, longest list by longest list: ${rowsRatios.map((found) => found.toFixed(2)).join(", ")} ×`,
      ...beyondNotes(plan, beyond),
    ],
    targets: [
      growthTarget(
        "growth.rows",
        `marginal CPU a row, ${thousands(plan.rows[0])} to ${thousands(longest)} rows, largest over smallest`,
        median(rowsRatios),
        tooQuick ?? tooShort,
      ),
      growthTarget(
        "growth.domains",
        `marginal CPU a row, ${DOMAIN_COUNTS.map(thousands).join(" and ")} domains, larger over smaller`,
        medianRatio(byDomains.rounds),
        tooQuick,
      ),
    ],
  };
}
