import { completed, requireVerdicts, submitUpload, upload } from "../../../bench/bulk/bulk-job.ts";
import { type JobsWorld, startJobsWorld } from "../../../bench/bulk/jobs-world.ts";
import { watchJobs } from "../../../bench/bulk/watch-jobs.ts";
import { cpuMsOf } from "../../../bench/cpu/process-cpu.ts";
import { InvalidRun } from "../../../bench/report/figures.ts";
import { type BenchContext, bulkSettingsFor, withChildren } from "../../../bench/setup/context.ts";
import { makeTeam } from "../../../bench/setup/teams.ts";
import { startMail } from "../../../bench/sinks/mail.ts";
import { fleetFormula } from "../formula.ts";
import type { Scenario, SiteClass } from "../scenario.ts";
import type { Configuration } from "./configurations.ts";
import type { Measured } from "./measured.ts";
import { countQuestions, middlePerS } from "./middle.ts";
import { measureRoundTrips } from "./round-trip.ts";
import { countsOf, type SiteList, siteAddress, siteFile, siteInternet } from "./site-list.ts";

const WARM_UP_SHARE = 8;
/** Highest ratio of measured to configured delay. Above it answers wait for CPU, which then bounds sinks and service. */
const LATE_MAX = 1.15;

const busyText = (latencyMs: number, roundTripMs: number) =>
  `the machine was too busy to tell: answers that take ${latencyMs} ms took ${Math.round(roundTripMs)} ms`;

function listsOf({ sites, rows, run }: Configuration): { warmUp: SiteList; list: SiteList } {
  const list = {
    run,
    rows,
    site: sites,
    catchAllEvery: sites.catchAllEvery,
    missingEvery: sites.missingEvery,
  };
  return { warmUp: { ...list, run: run + 1, rows: Math.floor(rows / WARM_UP_SHARE) }, list };
}

/** The formula's input: the settings of the service, the list, and the round trip just measured. */
function scenarioOf(configuration: Configuration, list: SiteList, roundTripMs: number): Scenario {
  const { sites, rows, fleet, costs } = configuration;
  const { catchAllEvery: _, missingEvery: __, latencyMs: ___, ...policy } = sites;
  const { refused, catchAll } = countsOf(list);
  const site: SiteClass = {
    ...policy,
    name: "the sinks",
    share: 1,
    pipelining: true,
    roundTripMs,
    answerMs: 0,
    // Connecting takes no time on loopback: greeting and EHLO are left.
    setUpRoundTrips: 2,
    refused,
    greylisted: 0,
    catchAll,
    perHour: 0,
  };
  return { rows, listed: 0, cached: 0, sites: [site], fleet, costs };
}

function shapingOf({ sites }: Configuration): string {
  const { connections, depth, transactionsPerSession, rejectionsPerSession } = sites;
  const caps = {
    maxConnections: connections,
    pipelineDepthMax: depth,
    transactionsPerSession,
    rejectionsPerSession,
  };
  return JSON.stringify({ default: caps });
}

/** @throws InvalidRun when a verdict is another than the list has it */
async function runList({ sql, client }: JobsWorld, list: SiteList) {
  const uploadId = await upload(client, `capacity-${list.run}.csv`, siteFile(list));
  const { id } = await submitUpload(client, uploadId);
  const watched = await watchJobs(sql, [id]);
  requireVerdicts(`run ${list.run}`, await completed(client, id), countsOf(list).verdicts);
  return watched;
}

/**
 * Runs bulk processes, each with source-address caps of its own (EGRESS_ID), on sites with a long round trip, so that
 * the sites' caps are the bottleneck. The prediction uses only facts known without the rate: the settings, the list,
 * and the round trip that another client measured meanwhile.
 */
export async function measureSiteBound(
  context: BenchContext,
  configuration: Configuration,
): Promise<Measured> {
  const { warmUp, list } = listsOf(configuration);
  return withChildren(async (keep) => {
    const { latencyMs } = configuration.sites;
    const internet = siteInternet([warmUp, list]);
    const { mail, ...at } = await startMail(context, keep, internet, { latencyMs, recipientMs: 0 });
    const own = { SHAPING: shapingOf(configuration), CHECK_THREADS: String(configuration.threads) };
    const team = await makeTeam(context, "capacity");
    const world = await startJobsWorld(context, keep, bulkSettingsFor(context, at, own), team);
    for (let process = 0; process < configuration.fleet.processes; process++)
      await world.startBulk({ EGRESS_ID: `capacity-${process}` });
    await runList(world, warmUp);
    const cpuMs = () => world.bulk.reduce((sum, { pid }) => sum + cpuMsOf(pid), 0);
    await mail.call("reset");
    const cpuBeforeMs = cpuMs();
    const roundTrips = measureRoundTrips(siteAddress(0), at.smtpPort);
    const counting = countQuestions(async () => (await mail.call("account")).recipients);
    const { tookMs, putOff } = await runList(world, list);
    const asked = await counting.end();
    const roundTripMs = await roundTrips.end();
    if (roundTripMs > LATE_MAX * latencyMs) throw new InvalidRun(busyText(latencyMs, roundTripMs));
    const scenario = scenarioOf(configuration, list, roundTripMs);
    const predicted = fleetFormula(scenario);
    const cpuUs = ((cpuMs() - cpuBeforeMs) * 1_000) / list.rows;
    const account = await mail.call("account");
    return {
      name: configuration.name,
      scenario,
      predictedPerS: predicted.perS,
      predictedBound: predicted.bound,
      measuredPerS: (middlePerS(asked) * list.rows) / account.recipients,
      also: {
        "CPU µs a row": cpuUs,
        "rows/s of the whole list, measured": (list.rows * 1_000) / tookMs,
        "round trip, ms": scenario.sites[0]?.roundTripMs ?? 0,
        "rows put off": putOff,
        "connections, measured": account.connections,
        "questions, measured": account.recipients,
      },
    };
  });
}
