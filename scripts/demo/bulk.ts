import { Readable } from "node:stream";
import { parse } from "csv-parse";
import { createClient, type Job, type JobSnapshot } from "../../packages/client/src/index.ts";
import type { MailWorld } from "../../test/support/mail-world/world.ts";
import {
  type CustomerList,
  createCustomerList,
  csvRecord,
  isOnList,
  LIST_SITES,
  publishDomains,
} from "./list.ts";
import { createSink, type Sink } from "./sink.ts";

/** Address and key of the running service. */
export interface DemoService {
  url: string;
  live_key: string;
}

export interface BulkStory {
  /** Rows that are not what the world knows, or not where they should be. */
  surprises: number;
}

const LOG_EVERY_MS = 10_000;
const BAR_CHARS = 30;
const SURPRISES_SHOWN = 10;
const ROWS_PER_WRITE = 500;
const OUR_COLUMNS = ["rcpt_verdict", "rcpt_reason"];

const say = (line: string) => console.log(`rcpt: ${line}`);

/** The list's own mail servers, on the port of the world's. */
async function startSinks(world: MailWorld): Promise<Sink[]> {
  const sinks: Sink[] = [];
  for (let site = 0; site < LIST_SITES; site++)
    sinks.push(await createSink({ address: `127.0.3.${site + 1}`, port: world.smtpPort, accepts: isOnList }));
  return sinks;
}

async function* csvOf(list: CustomerList): AsyncGenerator<Buffer> {
  yield Buffer.from(csvRecord(list.header));
  for (let first = 0; first < list.rows; first += ROWS_PER_WRITE) {
    let text = "";
    for (let i = first; i < Math.min(list.rows, first + ROWS_PER_WRITE); i++)
      text += csvRecord(list.row(i).values);
    yield Buffer.from(text);
  }
}

function bar({ status, progress, rows, rows_per_second, eta_seconds, verdicts }: JobSnapshot): string {
  const full = Math.round(progress * BAR_CHARS);
  const share = `${(progress * 100).toFixed(1)} %`.padStart(7);
  const pace = rows_per_second === null ? "" : `  ${Math.round(rows_per_second)} rows/s`;
  const eta = eta_seconds === null ? "" : `  ${eta_seconds} s to go`;
  const counts = Object.entries(verdicts)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(", ");
  const deferred = rows.deferred === 0 ? "" : `, ${rows.deferred} deferred`;
  return `[${"#".repeat(full).padEnd(BAR_CHARS, ".")}] ${share} ${status}${pace}${eta}  ${counts}${deferred}`;
}

/** Watches the job to its end: one line that is drawn anew on a terminal, a line now and then elsewhere. */
async function watch(job: Job): Promise<JobSnapshot> {
  let loggedMs = Number.NEGATIVE_INFINITY;
  for await (const state of job.progress()) {
    if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${bar(state)}`);
    else if (performance.now() - loggedMs >= LOG_EVERY_MS) {
      loggedMs = performance.now();
      console.log(bar(state));
    }
  }
  const ended = await job.read();
  console.log(process.stdout.isTTY ? "" : bar(ended));
  return ended;
}

/** Compares the downloaded results with the world, row by row, as they come. */
async function check(job: Job, list: CustomerList): Promise<number> {
  const records = Readable.fromWeb(job.download() as never).compose(parse());
  let surprises = 0;
  const surprise = (text: string) => {
    surprises += 1;
    if (surprises <= SURPRISES_SHOWN) console.log(`    ^ ${text}`);
  };
  let at = -1;
  for await (const record of records as AsyncIterable<string[]>) {
    if (at < 0) {
      const wanted = [...list.header, ...OUR_COLUMNS];
      if (!wanted.every((name, i) => record[i] === name)) surprise(`the header is ${record.join()}`);
    } else {
      const { values, verdict, reason } = list.row(at);
      const wanted = [...values, verdict, reason];
      if (!wanted.every((value, i) => record[i] === value))
        surprise(`row ${at}: ${record.slice(0, wanted.length).join()} instead of ${wanted.join()}`);
    }
    at += 1;
  }
  if (at !== list.rows) surprise(`${at} rows came back of ${list.rows}`);
  return surprises;
}

function checkCounts(job: JobSnapshot, list: CustomerList): number {
  const wanted: Record<string, number> = { valid: 0, invalid: 0, risky: 0, unknown: 0 };
  let repeats = 0;
  let malformed = 0;
  for (let i = 0; i < list.rows; i++) {
    const { verdict, isFree } = list.row(i);
    wanted[verdict] = (wanted[verdict] ?? 0) + 1;
    if (isFree === "repeat") repeats += 1;
    if (isFree === "malformed") malformed += 1;
  }
  const found = { ...job.verdicts, repeats: job.rows.duplicates, malformed: job.rows.malformed };
  const expected = { ...wanted, repeats, malformed };
  if (JSON.stringify(found) === JSON.stringify(expected)) return 0;
  console.log(`    ^ the job counts ${JSON.stringify(found)}, the world ${JSON.stringify(expected)}`);
  return 1;
}

/** A customer's list of `rows` rows, from the upload to the file with our columns beside theirs. */
export async function tellBulkStory(
  service: DemoService,
  world: MailWorld,
  rows: number,
): Promise<BulkStory> {
  const list = createCustomerList(rows);
  const sinks = await startSinks(world);
  try {
    publishDomains(
      world,
      rows,
      sinks.map(({ address }) => address),
    );
    const startedMs = performance.now();
    const secondsSince = () => ((performance.now() - startedMs) / 1000).toFixed(1);
    const client = createClient({ url: service.url, key: service.live_key });
    // As `curl -T customers.csv` does it.
    const submitted = await client.bulk.submitFile(
      Readable.toWeb(Readable.from(csvOf(list))) as ReadableStream<Uint8Array>,
      {
        filename: "customers.csv",
        onProgress({ uploadId, sentBytes }) {
          if (uploadId !== null) say(`${rows} rows, ${sentBytes} bytes uploaded after ${secondsSince()} s`);
        },
      },
    );
    const job = await watch(submitted);
    if (job.status !== "completed")
      throw new Error(`the job ended ${job.status}: ${job.error?.detail ?? "no reason given"}`);
    const tookS = (performance.now() - startedMs) / 1000;
    say(`completed after ${tookS.toFixed(1)} s, upload included: ${Math.round(rows / tookS)} rows/s`);
    const surprises = (await check(submitted, list)) + checkCounts(job, list);
    say(
      surprises === 0
        ? `${rows} rows downloaded: in order, the list's columns unchanged, every verdict what the world knows`
        : `${surprises} differ from what the world knows`,
    );
    return { surprises };
  } finally {
    await Promise.all(sinks.map((sink) => sink.close()));
  }
}
