import { Readable } from "node:stream";
import { parse } from "csv-parse";
import { createLog } from "../src/core/log.ts";
import { bootstrap } from "../src/services/teams/bootstrap.ts";
import { migrate } from "../src/store/migrate.ts";
import { createPostgres, type Database } from "../src/store/postgres.ts";
import { type BulkClient, completed, submitUpload, upload } from "./bulk-job.ts";
import { type Child, startChild } from "./child.ts";
import { type BenchContext, bulkSettingsFor, requireRight, withChildren } from "./context.ts";
import { InvalidRun, median } from "./figures.ts";
import type { SlowClient } from "./processes/slow-client.ts";
import type { SlowServers } from "./processes/slow-servers.ts";
import { startRole } from "./role.ts";
import {
  CAPPED_CONNECTIONS,
  CAPPED_DEPTH,
  CAPPED_SITE,
  CAPPED_TRANSACTIONS,
  cappedOf,
  DOMAINS,
  SITES,
  type SlowListKind,
  type SlowRow,
  slowRows,
} from "./slow-list.ts";
import { type Answered, watchRows } from "./slow-watch.ts";
import type { Section } from "./table.ts";
import type { Target } from "./target.ts";

/** Of a mixed list: capped rows a second over what the caps allow, and the time of the others over that alone. */
const RATE_MIN = 0.9;
const DONE_MAX = 1.1;
/** So that what binds is the cap there, and the rows that a worker has under way here, not the processor. */
const CAPPED_LATENCY_MS = 100;
const OTHERS_LATENCY_MS = 1_000;
const THREADS = 2;
/** Of the mixed list, unless the command line says. */
const ROWS = 60_000;
const QUICK_ROWS = 20_000;
const ROWS_PER_PIECE = 1_000;
const SAY_EVERY_MS = 5_000;
/** The others alone before and after, so that what else the machine does falls on both. */
const LISTS: readonly SlowListKind[] = ["others", "mixed", "others"];
const CEILING_RUN = LISTS.length;
const WARM_UP_RUN = CEILING_RUN + 1;
const CEILING_ROWS = 10_000;
const WARM_UP_ROWS = 5_000;

interface World {
  client: BulkClient;
  sql: Database;
  mail: Child<SlowServers>;
}

/** One list. */
interface SlowRun extends Answered {
  kind: SlowListKind;
  /** Rows at the provider, and elsewhere. */
  capped: number;
  others: number;
  account: Awaited<ReturnType<SlowServers["account"]>>;
}

function settingsOf(context: BenchContext, mail: { dnsServer: string; smtpPort: number }) {
  return bulkSettingsFor(context, mail, { CHECK_THREADS: String(THREADS) });
}

/** The list as a file, some rows at a time. */
function* fileOf(run: number, kind: SlowListKind, rows: number): Generator<Buffer> {
  let text = "email\r\n";
  let held = 0;
  for (const { email } of slowRows(run, kind, rows)) {
    text += `${email}\r\n`;
    if (++held % ROWS_PER_PIECE !== 0) continue;
    yield Buffer.from(text);
    text = "";
  }
  yield Buffer.from(text);
}

/** Compares the results with the list, row by row. @returns how often each unexpected answer came */
async function wrongAnswers({ client }: World, jobId: string, planned: Generator<SlowRow>) {
  const response = await fetch(`${client.url}/v1/bulk-jobs/${jobId}/results?format=csv`, {
    headers: { Authorization: `Bearer ${client.key}` },
  });
  if (!response.ok || response.body === null) throw new InvalidRun(`results: HTTP ${response.status}`);
  const records = Readable.fromWeb(response.body as never).pipe(parse({ from_line: 2 }));
  const wrong: Record<string, number> = {};
  const note = (what: string) => {
    wrong[what] = (wrong[what] ?? 0) + 1;
  };
  for await (const [email, verdict, reason] of records as AsyncIterable<string[]>) {
    const { value } = planned.next();
    if (!value) note("row too many");
    else if (email !== value.email) note("row in another's place");
    else if (verdict !== value.verdict || reason !== value.reason) note(`${verdict} ${reason}`);
  }
  if (!planned.next().done) note("rows missing");
  return wrong;
}

/** @param rows of the mixed list */
async function runList(world: World, run: number, kind: SlowListKind, rows: number): Promise<SlowRun> {
  const { client, sql, mail } = world;
  const uploadId = await upload(client, `slow-${run}.csv`, fileOf(run, kind, rows));
  await mail.call("reset");
  const { id } = await submitUpload(client, uploadId);
  let saidMs = 0;
  const answered = await watchRows(sql, id, (elapsedMs, progress) => {
    if (elapsedMs - saidMs < SAY_EVERY_MS) return;
    saidMs = elapsedMs;
    console.error(`${kind} ${Math.round(elapsedMs / 1_000)} s: ${JSON.stringify(progress)}`);
  });
  const account = await mail.call("account");
  const job = await completed(client, id, () => undefined);
  requireRight(`${kind}, ${run}`, await wrongAnswers(world, id, slowRows(run, kind, rows)));
  if (account.capped.maxOpen > CAPPED_CONNECTIONS)
    throw new InvalidRun(`${account.capped.maxOpen} connections to the capped provider`);
  if (kind !== "others" && answered.deferrals === 0) throw new InvalidRun("no row was deferred");
  const capped = kind === "others" ? 0 : cappedOf(rows);
  return { kind, capped, others: job.rows.total - capped, account, ...answered };
}

interface Ratios {
  /** Rows a second that the caps allow, as a bare client has them. */
  allowedPerS: number;
  /** Capped rows a second in the mixed list over these. */
  rate: number;
  /** Time until the others are answered in the mixed list over that alone. */
  done: number;
}

function ratiosOf(runs: readonly SlowRun[], allowedPerS: number): Ratios {
  const of = (kind: SlowListKind, value: (run: SlowRun) => number) =>
    median(runs.filter((run) => run.kind === kind).map(value));
  return {
    allowedPerS,
    rate: of("mixed", cappedPerS) / allowedPerS,
    done: of("mixed", ({ othersMs }) => othersMs) / of("others", ({ othersMs }) => othersMs),
  };
}

const whole = (value: number) => Math.round(value).toLocaleString("en");
const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

const cappedPerS = ({ capped, allMs }: SlowRun) => (capped * 1_000) / allMs;

function cellsOf(run: SlowRun): string[] {
  const { kind, capped, others, othersMs, allMs, deferrals, account } = run;
  const { connections, recipients, meanOpen } = account.capped;
  const ofCapped =
    capped === 0
      ? ["", "", "", ""]
      : [whole(capped), whole(cappedPerS(run)), meanOpen.toFixed(2), whole(recipients / connections)];
  return [
    kind === "others" ? "others alone" : kind,
    ...ofCapped,
    whole(others),
    whole((others * 1_000) / othersMs),
    seconds(othersMs),
    seconds(allMs),
    whole(deferrals),
  ];
}

const HEAD = ["list", "capped", "rows/s", "open", "each", "others", "rows/s", "done", "all done", "put off"];

function configurationOf(rows: number): string[] {
  const capped = cappedOf(rows);
  const caps = `${CAPPED_CONNECTIONS} connections, ${CAPPED_DEPTH} addresses a write, ${CAPPED_TRANSACTIONS} a connection`;
  return [
    `${capped} rows at one provider (${CAPPED_SITE}: ${caps}), ${CAPPED_LATENCY_MS} ms a round trip`,
    `${rows - capped} rows at ${DOMAINS} domains of ${SITES} sites, ${OTHERS_LATENCY_MS} ms a round trip`,
    `one worker of ${THREADS} check threads, warm; times from the end of the analysis to the last shard`,
  ];
}

function targetsOf({ rate, done }: Ratios): Target[] {
  return [
    {
      id: "slow-site.rate",
      what: "capped rows of the mixed list, rows/s over what the caps allow",
      unit: "×",
      figure: rate,
      atLeast: RATE_MIN,
    },
    {
      id: "slow-site.others",
      what: "the others of the mixed list, time over that alone",
      unit: "×",
      figure: done,
      atMost: DONE_MAX,
    },
  ];
}

/** A team that may probe. */
async function makeTeam(sql: Database): Promise<string> {
  await migrate(sql, createLog("silent"));
  const { liveKey } = await bootstrap(sql, { email: "slow@example.com", team: "slow", tier: "enterprise" });
  return liveKey;
}

/** Rows a second that the provider's caps allow. */
async function measureCaps(context: BenchContext, port: number): Promise<number> {
  return withChildren(async (keep) => {
    const bare = keep(await startChild<SlowClient>("slow-client", context));
    const { perS, wrong } = await bare.call("ask", { run: CEILING_RUN, rows: CEILING_ROWS, port });
    requireRight("bare client", wrong);
    return perS;
  });
}

/**
 * Whether a provider with few connections holds up only its own rows: a list of which 40 % are its, against a list
 * of the others alone, and against a client that does nothing but fill the provider's connections.
 *
 * @throws InvalidRun when a result is wrong, or more connections were open than the provider allows
 */
export async function benchSlowSite(context: BenchContext): Promise<Section> {
  const rows = context.rows?.at(-1) ?? (context.quick ? QUICK_ROWS : ROWS);
  const sql = createPostgres({
    url: context.databaseUrl,
    maxConnections: 2,
    applicationName: "rcpt-bench",
  });
  return withChildren(async (keep) => {
    keep({ end: () => sql.end({ timeout: 1 }) });
    const mail = keep(await startChild<SlowServers>("slow-servers", context));
    const runs = [...LISTS.keys(), CEILING_RUN, WARM_UP_RUN];
    const latencies = { cappedLatencyMs: CAPPED_LATENCY_MS, othersLatencyMs: OTHERS_LATENCY_MS };
    const internet = await mail.call("start", { runs, ...latencies });
    const settings = settingsOf(context, internet);
    const key = await makeTeam(sql);
    const api = keep(await startRole(context, "api", settings));
    keep(await startRole(context, "relay", settings));
    keep(await startRole(context, "bulk", settings));
    const client = { url: `http://127.0.0.1:${api.port}`, key };
    const world: World = { client, sql, mail };
    await runList(world, WARM_UP_RUN, "mixed", WARM_UP_ROWS);
    const done: SlowRun[] = [];
    for (const [run, kind] of LISTS.entries()) done.push(await runList(world, run, kind, rows));
    const ratios = ratiosOf(done, await measureCaps(context, internet.smtpPort));
    return {
      title: "A slow site among others",
      configuration: configurationOf(rows),
      unit: "rows",
      lines: [],
      table: [HEAD, ...done.map(cellsOf)],
      notes: [`a bare client within the same caps: ${whole(ratios.allowedPerS)} rows/s`],
      targets: targetsOf(ratios),
    };
  });
}
