import { completed, submitUpload, upload } from "../../../bench/bulk-job.ts";
import { followStages } from "../../../bench/bulk-stages.ts";
import { startChild } from "../../../bench/child.ts";
import { type BenchContext, bulkSettingsFor, withChildren } from "../../../bench/context.ts";
import { InvalidRun } from "../../../bench/figures.ts";
import type { MailServers } from "../../../bench/processes/mail-servers.ts";
import { type RoleProcess, startRole } from "../../../bench/role.ts";
import {
  BLOCKED_DOMAIN,
  DISPOSABLE_DOMAINS,
  type ThroughputList,
  throughputList,
} from "../../../bench/throughput-list.ts";
import { createLog } from "../../../src/core/log.ts";
import { bootstrap } from "../../../src/services/teams/bootstrap.ts";
import { migrate } from "../../../src/store/migrate.ts";
import { createPostgres, type Database } from "../../../src/store/postgres.ts";
import { MEASURED_COSTS, ROWS_AT_ONCE } from "../costs.ts";
import type { Scenario } from "../scenario.ts";
import { simulate } from "../simulate.ts";
import { type MainThread, mainThreadOf, since } from "./main-thread.ts";
import type { Measured } from "./measured.ts";

const RUN = 6_000;
const ROWS = 25_000;
/** Of the mixed list, for each row that the cache answers. */
const LISTED_FOR_CACHED = 3;
const PREDICTED_WITHIN_S = 600;
/** Whose main thread waits for a core more than it runs waits for other things too that cannot be told: disk, other processes. */
const GRANTED_MIN = 0.4;
const WARM_UP_ROWS = 5_000;
const TEAM_LIMITS = { dailyQuota: 100_000_000, bulkBytes: 100_000_000_000 };

interface World {
  sql: Database;
  client: { url: string; key: string };
  bulk: RoleProcess;
}

async function makeTeam(sql: Database): Promise<string> {
  await migrate(sql, createLog("silent"));
  const made = await bootstrap(sql, { email: "cpu@example.com", team: "cpu", tier: "pro_plus" });
  await sql`update teams set limits = ${sql.json(TEAM_LIMITS)} where id = ${made.teamId}`;
  await sql`insert into blocklist (team_id, domain, include_subdomains) values (${made.teamId}, ${BLOCKED_DOMAIN}, false)`;
  return made.liveKey;
}

interface TimedRun {
  wallMs: number;
  main: MainThread;
}

async function runFile(
  { sql, client, bulk }: World,
  name: string,
  file: Iterable<Buffer>,
): Promise<TimedRun> {
  const uploadId = await upload(client, `${name}.csv`, file);
  const { id } = await submitUpload(client, uploadId);
  const before = mainThreadOf(bulk.pid);
  const run = await followStages(sql, id, bulk.pid);
  const main = since(before, mainThreadOf(bulk.pid));
  const { verdicts } = await completed(client, id, () => undefined);
  if (verdicts.unknown > 0) throw new InvalidRun(`${name}: ${verdicts.unknown} rows have no answer`);
  return { wallMs: run.all.wallMs, main };
}

const mailboxes: ThroughputList = { kind: "mailboxes", run: RUN, rows: ROWS };
const listed: ThroughputList = { kind: "lists", run: RUN, rows: ROWS };
const more: ThroughputList = { kind: "lists", run: RUN + 1, rows: LISTED_FOR_CACHED * ROWS };

function* recordsOf(list: ThroughputList): Generator<string> {
  let isHead = true;
  for (const piece of throughputList(list)) {
    if (!isHead) for (const record of piece.toString("latin1").split("\r\n")) if (record !== "") yield record;
    isHead = false;
  }
}

/** Rows of both kinds, one of the cache's behind so many of the lists'. */
function* mixedFile(): Generator<Buffer> {
  const others = recordsOf(more);
  yield Buffer.from("id,name,email,note\r\n");
  for (const record of recordsOf(mailboxes)) {
    let text = "";
    for (let other = 0; other < LISTED_FOR_CACHED; other++) text += `${others.next().value}\r\n`;
    yield Buffer.from(`${text}${record}\r\n`);
  }
}

const sum = (runs: readonly TimedRun[], of: (run: TimedRun) => number) =>
  runs.reduce((total, run) => total + of(run), 0);

const perRowUs = (runs: readonly TimedRun[]) =>
  (sum(runs, ({ main }) => main.ranMs) * 1_000) / (runs.length * ROWS);

/** Of the time, that in which the main thread had work: running, or in line for a core that others had. */
const wantedShare = (runs: readonly TimedRun[]) =>
  sum(runs, ({ main }) => main.ranMs + main.waitedMs) / sum(runs, ({ wallMs }) => wallMs);

/** Of the time in which it had work, that in which it had a core: 1 on a machine that does nothing else. */
const grantedShare = ({ main }: TimedRun) => main.ranMs / (main.ranMs + main.waitedMs);

function scenarioOf(lists: readonly TimedRun[], cached: readonly TimedRun[], granted: number): Scenario {
  const share = 1 / (1 + LISTED_FOR_CACHED);
  return {
    rows: ROWS * (1 + LISTED_FOR_CACHED),
    arrivalPerS: null,
    listed: 1 - share,
    cached: share,
    sites: [],
    fleet: {
      processes: 1,
      cores: wantedShare([...lists, ...cached]) * granted,
      sourceAddresses: 1,
      rowsAtOnce: ROWS_AT_ONCE,
    },
    costs: { ...MEASURED_COSTS, listedUs: perRowUs(lists), cachedUs: perRowUs(cached) },
    seed: 1,
  };
}

/**
 * One bulk process and rows that nobody is asked about: what binds is its main thread. What a row of either kind costs it, and how
 * much of the time it has work, is found with lists of one kind, before and after; what is predicted is a longer list of both.
 * Of the run itself the prediction knows what others left to it of a core, as the system tells, not how fast it was.
 */
export async function measureCpuBound(context: BenchContext): Promise<Measured> {
  return withChildren(async (keep) => {
    const mail = keep(await startChild<MailServers>("mail-servers", context));
    const world = await mail.call("start", { latencyMs: 0, runs: [RUN], others: [...DISPOSABLE_DOMAINS] });
    const sql = createPostgres({
      url: context.databaseUrl,
      maxConnections: 2,
      applicationName: "rcpt-bench",
    });
    keep({ end: () => sql.end({ timeout: 1 }) });
    const key = await makeTeam(sql);
    const settings = bulkSettingsFor(context, world, { CACHE_ENTRIES: String(4 * ROWS) });
    const api = keep(await startRole(context, "api", settings));
    keep(await startRole(context, "relay", settings));
    const bulk = keep(await startRole(context, "bulk", settings));
    const own: World = { sql, client: { url: `http://127.0.0.1:${api.port}`, key }, bulk };
    // From now on its mailboxes are in the cache.
    await runFile(own, "asked", throughputList(mailboxes));
    await runFile(own, "warm-up", throughputList({ kind: "lists", run: RUN + 2, rows: WARM_UP_ROWS }));
    await runFile(own, "cached-0", throughputList(mailboxes));
    const cached: TimedRun[] = [];
    const lists: TimedRun[] = [];
    lists.push(await runFile(own, "listed-1", throughputList(listed)));
    cached.push(await runFile(own, "cached-1", throughputList(mailboxes)));
    const mixed = await runFile(own, "mixed", mixedFile());
    lists.push(await runFile(own, "listed-2", throughputList(listed)));
    cached.push(await runFile(own, "cached-2", throughputList(mailboxes)));
    const granted = grantedShare(mixed);
    if (granted < GRANTED_MIN)
      throw new InvalidRun(
        `the machine was too busy to tell: the process had ${Math.round(granted * 100)} % of a core`,
      );
    const scenario = scenarioOf(lists, cached, granted);
    const predicted = simulate(scenario, { forS: PREDICTED_WITHIN_S });
    const { listed: share, costs } = scenario;
    const cpuUs = share * costs.listedUs + (1 - share) * costs.cachedUs;
    return {
      name: "one process, no server asked: three rows in four from lists, one from the cache",
      scenario,
      predictedPerS: predicted.rowsPerS,
      predictedBound: predicted.bound,
      measuredPerS: (scenario.rows * 1_000) / mixed.wallMs,
      told: {
        "main thread, µs a row, predicted": cpuUs,
        "main thread, µs a row, measured": (mixed.main.ranMs * 1_000) / scenario.rows,
        "main thread, share of the time with work, calibration": wantedShare([...lists, ...cached]),
        "main thread, share of the time with work, run": wantedShare([mixed]),
        "main thread, share of that with a core, run": grantedShare(mixed),
      },
    };
  });
}
