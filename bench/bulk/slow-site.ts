import { Dialogue } from "../probing/smtp-dialogue.ts";
import type { MailServers } from "../processes/mail-servers.ts";
import { InvalidRun, median } from "../report/figures.ts";
import type { Section } from "../report/table.ts";
import type { Target } from "../report/target.ts";
import type { Child } from "../setup/child.ts";
import { type BenchContext, bulkSettingsFor, requireRight, withChildren } from "../setup/context.ts";
import { makeTeam } from "../setup/teams.ts";
import { startMail } from "../sinks/mail.ts";
import { completed, submitUpload, upload } from "./bulk-job.ts";
import { type JobsWorld, startJobsWorld } from "./jobs-world.ts";
import {
  CAPPED_CONNECTIONS,
  CAPPED_DEPTH,
  CAPPED_SITE,
  CAPPED_TRANSACTIONS,
  cappedAddress,
  cappedOf,
  DOMAINS,
  SITES,
  type SlowListKind,
  type SlowRow,
  slowInternet,
  slowRows,
} from "./slow-list.ts";
import { type Watched, watchJobs } from "./watch-jobs.ts";

/**
 * Bounds for a mixed list: capped rows a second over what the caps allow, and the time of the others over their time
 * alone.
 */
const RATE_MIN = 0.9;
const DONE_MAX = 1.1;
/**
 * Delays that make the cap the bottleneck at the provider, and a worker's rows in progress the bottleneck elsewhere;
 * never the processor.
 */
const CAPPED_LATENCY_MS = 100;
const OTHERS_LATENCY_MS = 1_000;
const THREADS = 2;
/** Rows of the mixed list, unless the command line sets them. */
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

/** The provider among the addresses of `slowInternet`. */
const CAPPED = { from: 0, count: 1 };

interface World extends JobsWorld {
  mail: Child<MailServers>;
}

/** One list. */
interface SlowRun extends Watched {
  kind: SlowListKind;
  /** Rows at the provider, and elsewhere. */
  capped: number;
  others: number;
  /** Counts of the provider's server. */
  account: Awaited<ReturnType<MailServers["account"]>>;
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
  const wrong: Record<string, number> = {};
  const note = (what: string) => {
    wrong[what] = (wrong[what] ?? 0) + 1;
  };
  for await (const { input, verdict, reason } of client.bulk.job(jobId).results()) {
    const { value } = planned.next();
    if (!value) note("row too many");
    else if (input !== value.email) note("row in another's place");
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
  const onLook = (elapsedMs: number, look: unknown) => {
    if (elapsedMs - saidMs < SAY_EVERY_MS) return;
    saidMs = elapsedMs;
    console.error(`${kind} ${Math.round(elapsedMs / 1_000)} s: ${JSON.stringify(look)}`);
  };
  const answered = await watchJobs(sql, [id], { apart: CAPPED_SITE, onLook });
  const account = await mail.call("account", CAPPED);
  const job = await completed(client, id);
  requireRight(`${kind}, ${run}`, await wrongAnswers(world, id, slowRows(run, kind, rows)));
  if (account.maxOpenPerSite > CAPPED_CONNECTIONS)
    throw new InvalidRun(`${account.maxOpenPerSite} connections to the capped provider`);
  if (kind !== "others" && answered.putOff === 0) throw new InvalidRun("no row was deferred");
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

const cappedPerS = ({ capped, tookMs }: SlowRun) => (capped * 1_000) / tookMs;

function cellsOf(run: SlowRun): string[] {
  const { kind, capped, others, othersMs, tookMs, putOff, account } = run;
  const { connections, recipients } = account;
  const ofCapped =
    capped === 0 ? ["", "", ""] : [whole(capped), whole(cappedPerS(run)), whole(recipients / connections)];
  return [
    kind === "others" ? "others alone" : kind,
    ...ofCapped,
    whole(others),
    whole((others * 1_000) / othersMs),
    seconds(othersMs),
    seconds(tookMs),
    whole(putOff),
  ];
}

const HEAD = ["list", "capped", "rows/s", "each", "others", "rows/s", "done", "all done", "put off"];

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

/**
 * One connection of a bare client, which asks as many recipients as allowed. @returns their number; 0: none were left
 */
async function askOver(port: number, left: Iterator<SlowRow>): Promise<number> {
  const dialogue = await Dialogue.open(cappedAddress, port);
  await dialogue.ask("EHLO bench.test\r\n", 1);
  let asked = 0;
  while (asked < CAPPED_TRANSACTIONS) {
    const rows: SlowRow[] = [];
    while (rows.length < Math.min(CAPPED_DEPTH, CAPPED_TRANSACTIONS - asked)) {
      const next = left.next();
      if (next.done) break;
      rows.push(next.value);
    }
    if (rows.length === 0) break;
    const commands = rows.map(({ email }) => `MAIL FROM:<>\r\nRCPT TO:<${email}>\r\nRSET\r\n`);
    const codes = await dialogue.ask(commands.join(""), 3 * rows.length);
    for (const [at, { verdict }] of rows.entries())
      requireRight("bare client", codes[3 * at + 1] === (verdict === "valid" ? "250" : "550") ? 0 : 1);
    asked += rows.length;
  }
  await dialogue.quit();
  return asked;
}

/** Rows a second that the provider's caps allow: all its connections at once, each full, one after the other without a pause. */
async function measureCaps(port: number): Promise<number> {
  const left = slowRows(CEILING_RUN, "capped", CEILING_ROWS);
  let asked = 0;
  const startedMs = performance.now();
  async function connectOn(): Promise<void> {
    for (let more = await askOver(port, left); more > 0; more = await askOver(port, left)) asked += more;
  }
  await Promise.all(Array.from({ length: CAPPED_CONNECTIONS }, connectOn));
  return (asked * 1_000) / (performance.now() - startedMs);
}

/**
 * Whether a provider with few connections delays only its own rows. A list with 40 % of them is compared with a list of
 * the others alone, and with a client that only uses the provider's connections.
 *
 * @throws InvalidRun when a result is wrong, or more connections were open than the provider allows
 */
export async function benchSlowSite(context: BenchContext): Promise<Section> {
  const rows = context.rows?.at(-1) ?? (context.quick ? QUICK_ROWS : ROWS);
  return withChildren(async (keep) => {
    const runs = [...LISTS.keys(), CEILING_RUN, WARM_UP_RUN];
    const delays = { latencyMs: OTHERS_LATENCY_MS, recipientMs: 0 };
    const { mail, ...at } = await startMail(context, keep, slowInternet(runs), delays);
    await mail.call("delay", { latencyMs: CAPPED_LATENCY_MS, recipientMs: 0 }, CAPPED);
    const settings = bulkSettingsFor(context, at, { CHECK_THREADS: String(THREADS) });
    const team = await makeTeam(context, "slow");
    const world = { ...(await startJobsWorld(context, keep, settings, team)), mail };
    await world.startBulk();
    await runList(world, WARM_UP_RUN, "mixed", WARM_UP_ROWS);
    const done: SlowRun[] = [];
    for (const [run, kind] of LISTS.entries()) done.push(await runList(world, run, kind, rows));
    const ratios = ratiosOf(done, await measureCaps(at.smtpPort));
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
