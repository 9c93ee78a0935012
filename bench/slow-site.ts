import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { parse } from "csv-parse";
import { createLog } from "../src/core/log.ts";
import { bootstrap } from "../src/services/teams/bootstrap.ts";
import { migrate } from "../src/store/migrate.ts";
import { createPostgres, type Database } from "../src/store/postgres.ts";
import { type BulkClient, completed, submitUpload, upload } from "./bulk-job.ts";
import { type Child, startChild } from "./child.ts";
import { type BenchContext, requireRight, settingsFor, withChildren } from "./context.ts";
import { InvalidRun, median } from "./figures.ts";
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
  slowRows,
} from "./slow-list.ts";
import { type Answered, watchRows } from "./slow-watch.ts";
import { alignColumns } from "./table.ts";

/** Of a mixed list against each of its parts alone. */
const RATE_MIN = 0.9;
const DONE_MAX = 1.1;
/** So that what binds is the cap there, and the rows that a worker has under way here, not the processor. */
const CAPPED_LATENCY_MS = 50;
const OTHERS_LATENCY_MS = 500;
const THREADS = 2;
const ROUNDS = 1;
const ROWS_PER_PIECE = 1_000;
const SAY_EVERY_MS = 5_000;
const KINDS: readonly SlowListKind[] = ["others", "mixed", "capped"];

interface World {
  context: BenchContext;
  settings: Record<string, string>;
  client: BulkClient;
  sql: Database;
  mail: Child<SlowServers>;
  rows: number;
}

/** One list, in a worker of its own. */
interface SlowRun extends Answered {
  kind: SlowListKind;
  rows: number;
  account: Awaited<ReturnType<SlowServers["account"]>>;
}

function settingsOf(context: BenchContext, mail: { dnsServer: string; smtpPort: number }) {
  const scratch = mkdtempSync(join(tmpdir(), "rcpt-bench-scratch-"));
  context.guard.removeAtEnd(scratch);
  return {
    ...settingsFor(context, mail),
    ...context.objectSettings,
    SCRATCH_DIR: scratch,
    CHECK_THREADS: String(THREADS),
    SECRETS_KEY: Buffer.alloc(32, 7).toString("base64"),
    LOG_LEVEL: "warn",
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
  };
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
async function wrongAnswers({ client, rows }: World, jobId: string, run: number, kind: SlowListKind) {
  const response = await fetch(`${client.url}/v1/bulk-jobs/${jobId}/results?format=csv`, {
    headers: { Authorization: `Bearer ${client.key}` },
  });
  if (!response.ok || response.body === null) throw new InvalidRun(`results: HTTP ${response.status}`);
  const records = Readable.fromWeb(response.body as never).pipe(parse({ from_line: 2 }));
  const planned = slowRows(run, kind, rows);
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

async function runList(world: World, run: number, kind: SlowListKind): Promise<SlowRun> {
  const { context, settings, client, sql, mail, rows } = world;
  const uploadId = await upload(client, `slow-${run}.csv`, fileOf(run, kind, rows));
  const bulk = await startRole(context, "bulk", settings);
  try {
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
    requireRight(`${kind}, ${run}`, await wrongAnswers(world, id, run, kind));
    if (account.capped.maxOpen > CAPPED_CONNECTIONS)
      throw new InvalidRun(`${account.capped.maxOpen} connections to the capped provider`);
    if (kind !== "others" && answered.deferrals === 0) throw new InvalidRun("no row was deferred");
    return { kind, rows: job.rows.total, account, ...answered };
  } finally {
    await bulk.end();
  }
}

/** What the caps allow at best: a greeting, EHLO and QUIT a session, a round trip each, beside its batches. */
function allowedPerS(): number {
  const roundTrips = CAPPED_TRANSACTIONS / CAPPED_DEPTH + 3;
  return (CAPPED_CONNECTIONS * CAPPED_TRANSACTIONS * 1_000) / (roundTrips * CAPPED_LATENCY_MS);
}

interface Ratios {
  /** Capped rows a second in the mixed list over those alone. */
  rate: number;
  /** Time until the others are answered in the mixed list over that alone. */
  done: number;
}

function ratiosOf(runs: readonly SlowRun[]): Ratios {
  const of = (kind: SlowListKind, time: (run: SlowRun) => number) =>
    median(runs.filter((run) => run.kind === kind).map(time));
  return {
    rate: of("capped", ({ allMs }) => allMs) / of("mixed", ({ allMs }) => allMs),
    done: of("mixed", ({ othersMs }) => othersMs) / of("others", ({ othersMs }) => othersMs),
  };
}

const whole = (value: number) => Math.round(value).toLocaleString("en");
const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

function cellsOf({ kind, rows, othersMs, allMs, deferrals, account }: SlowRun, mixedRows: number): string[] {
  const capped = kind === "others" ? 0 : cappedOf(mixedRows);
  const others = rows - capped;
  return [
    kind,
    whole(capped),
    capped === 0 ? "" : whole((capped * 1_000) / allMs),
    capped === 0 ? "" : account.capped.meanOpen.toFixed(2),
    whole(others),
    others === 0 ? "" : whole((others * 1_000) / othersMs),
    others === 0 ? "" : seconds(othersMs),
    seconds(allMs),
    whole(deferrals),
  ];
}

function render(runs: readonly SlowRun[], rows: number, { rate, done }: Ratios): string {
  const head = ["list", "capped", "rows/s", "open", "others", "rows/s", "others done", "all done", "put off"];
  const allowed = allowedPerS();
  return [
    "A slow site among others",
    `  ${cappedOf(rows)} rows at one provider (${CAPPED_SITE}: ${CAPPED_CONNECTIONS} connections, ${CAPPED_DEPTH} addresses a write, ${CAPPED_TRANSACTIONS} a connection), ${CAPPED_LATENCY_MS} ms a round trip`,
    `  ${rows - cappedOf(rows)} rows at ${DOMAINS} domains of ${SITES} sites, ${OTHERS_LATENCY_MS} ms a round trip`,
    `  one worker of ${THREADS} check threads for each list; times from the end of the analysis to the last shard`,
    "",
    ...alignColumns([head, ...runs.map((run) => cellsOf(run, rows))]),
    `  capped rows/s in the mixed list: ${rate.toFixed(2)} × alone, at least ${RATE_MIN} is wanted; the caps allow ${whole(allowed)} at best`,
    `  the others are done in the mixed list after ${done.toFixed(2)} × the time alone, at most ${DONE_MAX} is wanted`,
    "",
  ].join("\n");
}

function missed({ rate, done }: Ratios): string | null {
  if (rate < RATE_MIN) return `the capped rows have ${rate.toFixed(2)} of their rate alone`;
  if (done > DONE_MAX) return `the others take ${done.toFixed(2)} of their time alone`;
  return null;
}

export interface SlowSiteReport {
  text: string;
  /** What the capped provider's rows cost the others, or these them; null: nothing that counts. */
  missed: string | null;
}

/** A team that may probe. */
async function makeTeam(sql: Database): Promise<string> {
  await migrate(sql, createLog("silent"));
  const { liveKey } = await bootstrap(sql, { email: "slow@example.com", team: "slow", tier: "enterprise" });
  return liveKey;
}

/**
 * Whether a provider with few connections holds up only its own rows: a list of which 40 % are its, against lists of its
 * rows alone and of the others alone.
 *
 * @param rows of the mixed list
 * @throws InvalidRun when a result is wrong, or more connections were open than the provider allows
 */
export async function benchSlowSite(context: BenchContext, rows: number): Promise<SlowSiteReport> {
  const sql = createPostgres({
    url: context.databaseUrl,
    maxConnections: 2,
    applicationName: "rcpt-bench",
  });
  return withChildren(async (keep) => {
    keep({ end: () => sql.end({ timeout: 1 }) });
    const mail = keep(await startChild<SlowServers>("slow-servers", context));
    const runs = Array.from({ length: ROUNDS * KINDS.length }, (_, run) => run);
    const latencies = { cappedLatencyMs: CAPPED_LATENCY_MS, othersLatencyMs: OTHERS_LATENCY_MS };
    const settings = settingsOf(context, await mail.call("start", { runs, ...latencies }));
    const key = await makeTeam(sql);
    const api = keep(await startRole(context, "api", settings));
    keep(await startRole(context, "relay", settings));
    const client = { url: `http://127.0.0.1:${api.port}`, key };
    const world: World = { context, settings, client, sql, mail, rows };
    const done: SlowRun[] = [];
    for (const run of runs) done.push(await runList(world, run, KINDS[run % KINDS.length] ?? "mixed"));
    const ratios = ratiosOf(done);
    return { text: render(done, rows, ratios), missed: missed(ratios) };
  });
}
