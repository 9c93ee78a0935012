import { Command, Option } from "commander";
import type { Client } from "../../packages/client/src/index.ts";
import { MESSAGE_OUTCOMES, type MessageOutcome } from "../features/feedback/event.ts";
import { UsageError } from "../operator/command.ts";
import { EXIT } from "../platform/exit-codes.ts";
import { EXIT_INTERRUPTED } from "./check.ts";
import type { AddressedEvent } from "./feedback-files.ts";
import { jsonLine } from "./printable.ts";

interface FeedbackOptions {
  column?: string;
  outcome?: MessageOutcome;
  job?: string;
  dryRun: boolean;
  json: boolean;
}

/** `rcpt feedback`: reports what became of messages. Its action is `sendFeedback`. */
export function feedbackCommand(): Command {
  return new Command("feedback")
    .description(
      "Report bounces, complaints and deliveries to the service at RCPT_URL, which tells how good its answers were.",
    )
    .argument("<files...>", "mailboxes (mbox), messages (.eml), tables (CSV, TSV), or - for standard input")
    .option("--column <name>", "of a table: the column of addresses, by name or number from 0")
    .addOption(
      new Option(
        "--outcome <outcome>",
        "of a table without a column of outcomes: what became of each",
      ).choices(MESSAGE_OUTCOMES),
    )
    .option("--job <id>", "add what the results of this job had answered about the addresses")
    .option("--dry-run", "only show what would be reported", false)
    .option("--json", "the sums as JSON; with --dry-run the events, a line each", false);
}

/** Reads the files. @returns their events with an address, and how many rows and messages report nothing */
async function readAll(paths: readonly string[], { column, outcome }: FeedbackOptions) {
  const { readFile, addressedEvents } = await import("./feedback-files.ts");
  const named = column !== undefined && /^\d+$/.test(column) ? Number(column) : column;
  const all: AddressedEvent[] = [];
  let ignored = 0;
  for (const path of paths) {
    const reading = await readFile(path, { column: named, outcome });
    const events = addressedEvents(reading.events);
    // Not by spreading: a call takes some 100,000 arguments.
    for (const event of events) all.push(event);
    ignored += reading.ignored + reading.events.length - events.length;
  }
  return { events: all, ignored };
}

/** Adds a job's answers to the events that have none. @returns number of events that got one */
async function addAnswers(client: Client, id: string, events: readonly AddressedEvent[]): Promise<number> {
  const waiting = new Map<string, AddressedEvent[]>();
  for (const addressed of events)
    if (addressed.event.verdict === null) {
      const others = waiting.get(addressed.email);
      if (others === undefined) waiting.set(addressed.email, [addressed]);
      else others.push(addressed);
    }
  let added = 0;
  for await (const row of client.bulk.job(id).results()) {
    const { email, verdict, reason, checks, evidence } = row;
    for (const { event } of waiting.get(email) ?? []) {
      Object.assign(event, { verdict, reason, rule: evidence?.rule ?? null });
      event.provider ??= checks.mx.provider;
      added += 1;
    }
    waiting.delete(email);
    if (waiting.size === 0) break;
  }
  return added;
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`;

/** `bounced 12: mailbox_not_found 8, mailbox_full 4`, a line an outcome. */
function summaryOf(events: readonly AddressedEvent[]): string {
  const lines = MESSAGE_OUTCOMES.map((outcome) => {
    const of = events.filter(({ event }) => event.outcome === outcome);
    const reasons = new Map<string, number>();
    for (const { event } of of)
      if (event.bounce !== null)
        reasons.set(event.bounce.reason, (reasons.get(event.bounce.reason) ?? 0) + 1);
    const why = [...reasons].sort((one, other) => other[1] - one[1]).map(([reason, n]) => `${reason} ${n}`);
    return of.length === 0 ? "" : `${outcome} ${of.length}${why.length === 0 ? "" : `: ${why.join(", ")}`}\n`;
  });
  return lines.join("");
}

async function send(client: Client, events: readonly AddressedEvent[], signal: AbortSignal) {
  const [{ startBar }, { toApiEvent }] = await Promise.all([
    import("./job-progress.ts"),
    import("./feedback-files.ts"),
  ]);
  const bar = startBar("events");
  try {
    return await client.reportFeedback(events.map(toApiEvent), {
      signal,
      onProgress: (reported) => bar.show(reported, events.length, "reported"),
    });
  } finally {
    bar.stop();
  }
}

/** @returns the exit code. @throws UsageError; RcptError */
export async function sendFeedback(paths: readonly string[], options: FeedbackOptions): Promise<number> {
  if (paths.filter((path) => path === "-").length > 1) throw new UsageError("- may be named once");
  const { connect, withInterrupt } = await import("./service.ts");
  // Before files are read for a service that is not named.
  const client = options.dryRun && options.job === undefined ? null : connect();
  const { events, ignored } = await readAll(paths, options);
  if (options.job !== undefined && client !== null) {
    const added = await addAnswers(client, options.job, events);
    process.stderr.write(`${counted(added, "event")} of ${events.length} found in ${options.job}\n`);
  }
  if (options.dryRun || client === null) {
    const { toApiEvent } = await import("./feedback-files.ts");
    if (options.json) for (const event of events) process.stdout.write(jsonLine(toApiEvent(event)));
    else process.stdout.write(`${summaryOf(events)}ignored ${ignored}\n`);
    return EXIT.done;
  }
  const sums = await withInterrupt((signal) =>
    send(client, events, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
      return null;
    }),
  );
  if (sums === null) {
    process.stderr.write("rcpt: interrupted; report the same again to go on: events count once\n");
    return EXIT_INTERRUPTED;
  }
  const all = { ...sums, ignored: sums.ignored + ignored };
  process.stdout.write(
    options.json
      ? `${JSON.stringify(all)}\n`
      : `${summaryOf(events)}${counted(all.accepted, "event")} counted, ${all.duplicates} known before, ${all.ignored} ignored\n`,
  );
  return EXIT.done;
}
