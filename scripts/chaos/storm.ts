import { setTimeout as wait } from "node:timers/promises";
import type { ChaosDeployment, Team } from "./deployment/deployment.ts";
import { type Resources, resourcesAtRest, watchResources } from "./deployment/resources.ts";
import type { Kind } from "./faults/faults.ts";
import { inflictAll } from "./faults/inflict.ts";
import { type PlannedFault, planFaults } from "./faults/schedule.ts";
import type { Failure, Outage } from "./faults/windows.ts";
import { startWitness } from "./faults/witness.ts";
import { bodyOf } from "./traffic/asking.ts";
import type { Hooks } from "./traffic/hooks.ts";
import { createRequestLog, type Door, type RequestLog } from "./traffic/request-log.ts";
import { type Asker, newAsker } from "./traffic/singles.ts";
import { startTraffic, type Traffic, type TrafficSetting } from "./traffic/traffic.ts";
import { addDecisions, type Decisions } from "./traffic/truth.ts";
import { anHourLater, type HourLater } from "./verdict/an-hour-later.ts";
import { ledgerOf, type TeamLedger } from "./verdict/auditing.ts";
import {
  describeLeftovers,
  findLeftovers,
  isClean,
  type Leftovers,
  SETTLED_WITHIN_MS,
} from "./verdict/leftovers.ts";
import { compareJobs, type RowTotals } from "./verdict/results.ts";

export interface StormSetting {
  deployment: ChaosDeployment;
  hooks: Hooks;
  doors: readonly Door[];
  seed: number;
  kinds: readonly Kind[];
  forMs: number;
  say(line: string): void;
}

/** A team's answers, and its ledger. */
export interface Account {
  asker: Asker;
  ledger: TeamLedger;
}

/** All that is known when a storm is over. */
export interface Storm {
  faults: readonly PlannedFault[];
  outages: readonly Outage[];
  /** Kinds that are impossible here; the run has printed why. */
  impossible: readonly Kind[];
  requests: { total: number; failures: readonly Failure[]; counts: ReadonlyMap<string, number> };
  /** Failures before the faults (without the warm-up), and after everything had settled. */
  calm: readonly Failure[];
  /** Answers in these times: to single requests, and to rows of lists submitted then. */
  calmSingles: Decisions;
  calmRows: Decisions;
  rows: RowTotals;
  /** Jobs that the team has. */
  jobsFound: number;
  refusedLists: readonly string[];
  wrongSingles: readonly string[];
  single: Account;
  /** Its quota ended within the run. */
  capped: Account & { limit: number };
  bulk: TeamLedger;
  /** Number of jobs whose end was not delivered to the webhook. */
  untold: number;
  badlySigned: number;
  deliveries: number;
  settledS: number | null;
  leftovers: Leftovers;
  hourLater: HourLater;
  crashes: string[];
  resources: { before: Map<string, Resources>; peaks: Map<string, Resources>; after: Map<string, Resources> };
  /** Descriptions of each process' descriptors at the end. */
  descriptors: ReadonlyMap<string, string>;
}

const CAPPED_QUOTA = 40;
/** The same traffic before the faults and after everything has settled, for comparison. */
const CALM_MS = 10_000;
/** New processes load modules, compile and fill caches: they are slow, but must not fail. */
const WARM_UP_MS = 4_000;
/**
 * Idle time after that traffic: unused connections are closed (LIMITS.smtp.idleSessionMs); then resources are compared.
 */
const REST_MS = 8_000;
const POLL_MS = 500;
const LONG_FROM_MS = 60_000;
const SAY_EVERY_MS = 10_000;
const ANSWER_WITHIN_MS = 20_000;

async function subscribe(hooks: Hooks, key: string, door: Door): Promise<void> {
  const body = JSON.stringify({ url: hooks.url, events: ["bulk.completed", "bulk.failed"] });
  const headers = { "content-type": "application/json" };
  const question = { path: "/v1/webhooks", key, body, headers, timeoutMs: ANSWER_WITHIN_MS };
  const reply = await door.client.ask({ method: "POST", ...question });
  const made = reply.status === 201 ? bodyOf(reply.text) : null;
  if (made === null) throw new Error(`the webhook could not be made: ${JSON.stringify(reply)}`);
  hooks.secret = String(made.secret);
}

/**
 * Waits until no work is left, and prints now and then what is left. `settledS` is the time that it took; null: work was
 * left when time was up.
 */
async function settle(
  { deployment, say }: Pick<StormSetting, "deployment" | "say">,
  isTold: () => boolean,
): Promise<{ settledS: number | null; leftovers: Leftovers }> {
  const startedMs = performance.now();
  let saidMs = 0;
  for (;;) {
    const leftovers = await findLeftovers(deployment);
    const afterMs = performance.now() - startedMs;
    if (isClean(leftovers) && isTold()) return { settledS: afterMs / 1_000, leftovers };
    if (afterMs > SETTLED_WITHIN_MS) return { settledS: null, leftovers };
    if (afterMs - saidMs > SAY_EVERY_MS) {
      saidMs = afterMs;
      say(`not settled yet: ${describeLeftovers(leftovers)}${isTold() ? "" : ", webhooks"}`);
    }
    await wait(POLL_MS);
  }
}

/** Traffic for a while without faults; resolves once it is over and its connections are at rest. */
async function calm(
  name: string,
  forMs: number,
  setting: TrafficSetting,
  storm: StormSetting,
): Promise<Traffic> {
  const traffic = startTraffic(name, setting);
  await wait(forMs);
  await traffic.stop();
  await settle(storm, () => true);
  await wait(REST_MS);
  return traffic;
}

/** Sends traffic during the faults; resolves once they are over and all started submissions have ended. */
async function rage(
  faults: readonly PlannedFault[],
  traffic: TrafficSetting,
  outages: Outage[],
  { deployment, hooks, forMs, say }: StormSetting,
): Promise<Traffic> {
  say(`${faults.length} faults in ${Math.round(forMs / 1_000)} s`);
  const storm = startTraffic("b", traffic);
  const startedMs = performance.now();
  await inflictAll(faults, { deployment, hooks, outages }, ({ kind }, atMs) =>
    say(`${(atMs / 1_000).toFixed(1).padStart(6)} s ${kind}`),
  );
  await wait(Math.max(0, startedMs + forMs - performance.now()));
  say("no more faults; waiting for all to settle");
  await storm.stop();
  return storm;
}

async function jobsOf({ sql }: ChaosDeployment, team: Team): Promise<number> {
  const [row] = await sql<[{ jobs: number }]>`
    select count(*)::int as jobs from jobs where team_id = ${team.id} and status <> 'submitting'`;
  return row.jobs;
}

/** Teams for single requests, for single requests with a small quota, and for lists. */
async function makeTeams(deployment: ChaosDeployment): Promise<[Team, Team, Team]> {
  return [
    await deployment.team("singles", "enterprise"),
    await deployment.team("capped", "enterprise", { dailyQuota: CAPPED_QUOTA }),
    await deployment.team("lists", "enterprise"),
  ];
}

function calmAnswers(phases: readonly Traffic[], { decisions }: RowTotals) {
  const ids = phases.flatMap((phase) => phase.jobs()).map(({ id }) => id);
  return {
    calmSingles: addDecisions(phases.map((phase) => phase.decisions())),
    calmRows: addDecisions(ids.flatMap((id) => decisions.get(id) ?? [])),
  };
}

/** A run: calm traffic, the faults of the seed, calm traffic again. Returns everything that was observed. */
export async function runStorm(setting: StormSetting): Promise<Storm> {
  const { deployment, hooks, doors, seed, kinds, forMs, say } = setting;
  const [singleTeam, cappedTeam, bulkTeam] = await makeTeams(deployment);
  const [firstDoor] = doors;
  if (firstDoor === undefined) throw new Error("there is no API to ask");
  await subscribe(hooks, bulkTeam.key, firstDoor);
  const log: RequestLog = createRequestLog();
  const asker = newAsker(singleTeam.key);
  const capped = newAsker(cappedTeam.key);
  const withLong = forMs >= LONG_FROM_MS;
  const traffic: TrafficSetting = { log, doors, asker, capped, bulkKey: bulkTeam.key, withLong };
  const watch = watchResources(deployment.members);
  const outages: Outage[] = [];
  const witness = startWitness(deployment.sql, outages);

  say("warming up, then traffic without faults");
  const warmUp = await calm("w", WARM_UP_MS, { ...traffic, withLong: false }, setting);
  const warmUpFailures = log.failures.length;
  const calmBefore = await calm("a", CALM_MS, traffic, setting);
  const before = watch.now();
  const failuresBefore = log.failures.length;

  const faults = planFaults(seed, kinds, forMs);
  const raging = await rage(faults, traffic, outages, setting);
  const isTold = () =>
    [warmUp, calmBefore, raging].every((phase) => phase.jobs().every(({ id }) => hooks.toldOf().has(id)));
  const { settledS, leftovers } = await settle(setting, isTold);
  say(
    settledS === null
      ? `not settled: ${describeLeftovers(leftovers)}`
      : `settled ${settledS.toFixed(1)} s later`,
  );

  const stormFailures = log.failures.length;
  const calmAfter = await calm("c", CALM_MS, traffic, setting);
  const phases = [warmUp, calmBefore, raging, calmAfter];
  const after = await resourcesAtRest(watch, before);
  const descriptors = watch.descriptors();
  watch.stop();
  await witness.stop();
  say("an hour goes by for the jobs");
  const hourLater = await anHourLater(deployment);
  const jobs = phases.flatMap((phase) => phase.jobs());
  const rows = await compareJobs(jobs, bulkTeam.key, firstDoor, log);
  return {
    faults,
    outages,
    impossible: deployment.noClock === null ? [] : ["clock"],
    ...calmAnswers([calmBefore, calmAfter], rows),
    requests: { total: log.total, failures: log.failures, counts: log.counts },
    calm: [...log.failures.slice(warmUpFailures, failuresBefore), ...log.failures.slice(stormFailures)],
    rows,
    jobsFound: await jobsOf(deployment, bulkTeam),
    refusedLists: phases.flatMap((phase) => phase.refusedLists()),
    wrongSingles: phases.flatMap((phase) => phase.wrongSingles()),
    single: { asker, ledger: await ledgerOf(deployment.sql, singleTeam.id) },
    capped: { asker: capped, ledger: await ledgerOf(deployment.sql, cappedTeam.id), limit: CAPPED_QUOTA },
    bulk: await ledgerOf(deployment.sql, bulkTeam.id),
    untold: jobs.filter(({ id }) => !hooks.toldOf().has(id)).length,
    ...hooks.counts(),
    settledS,
    leftovers: settledS === null ? leftovers : await findLeftovers(deployment),
    hourLater,
    crashes: deployment.members.flatMap(({ name, crashes }) => crashes.map((how) => `${name}: ${how}`)),
    resources: { before, peaks: new Map(watch.peaks()), after },
    descriptors,
  };
}
