// The load generator for deployments of one's own: docs/load-testing.md.
import { readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { systemClock } from "../src/platform/time/clock.ts";
import { HELP } from "./load/help.ts";
import { checkedKey, type KeySource, type LoadOptions, parseOptions } from "./load/options.ts";
import { CannotMeasure, preflight } from "./load/preflight.ts";
import { renderHtml } from "./load/report/html.ts";
import type { ProgressStream } from "./load/report/progress.ts";
import { type Report, reportOf } from "./load/report/report.ts";
import { renderText } from "./load/report/text.ts";
import { isLiveKey, runLoad } from "./load/run.ts";
import { requireOwn } from "./load/target-address.ts";
import { UsageError } from "./load/units.ts";

export const EXIT = { done: 0, broken: 1, usage: 2, unmeasured: 3, interrupted: 130 } as const;

/** The command's environment. */
export interface LoadCommand {
  argv: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  /** For the report. */
  stdout: { write(text: string): unknown };
  /** For everything else. */
  stderr: ProgressStream;
  interrupted: AbortSignal;
  hurried: AbortSignal;
}

const KEY_FILE_BYTES_MAX = 4_096;
const STDIN = 0;

function readKey(source: KeySource): string {
  if (source.from === "text") return checkedKey(source.text);
  try {
    return checkedKey(
      readFileSync(source.path === "-" ? STDIN : source.path, "utf8").slice(0, KEY_FILE_BYTES_MAX),
    );
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`--key-file ${source.path}: ${(error as Error).message}`);
  }
}

/** Checks before the run, rather than after it, that a file can be written. Its content is not changed. */
async function requireWritable(option: string, path: string | null): Promise<void> {
  if (path === null) return;
  try {
    await (await open(path, "a")).close();
  } catch (error) {
    throw new UsageError(`${option} ${path}: ${(error as Error).message}`);
  }
}

async function write(path: string | null, text: () => string): Promise<void> {
  if (path === null) return;
  const file = await open(path, "w");
  try {
    await file.writeFile(text());
  } finally {
    await file.close();
  }
}

function exitCodeOf(report: Report): number {
  if (report.faults.length > 0) return EXIT.unmeasured;
  if (report.ended === "stopped") return EXIT.interrupted;
  if (report.thresholds.some(({ holds }) => !holds)) return EXIT.broken;
  const isMeasured =
    report.requests.answered > 0 || report.bulk.some(({ endToEndMs }) => endToEndMs !== null);
  return isMeasured ? EXIT.done : EXIT.unmeasured;
}

function warnings({ origin }: LoadOptions, source: KeySource, argv: readonly string[]): string[] {
  const found: string[] = [];
  if (source.from === "text" && argv.some((word) => word === "--key" || word.startsWith("--key=")))
    found.push(
      "A key on the command line can be read by whoever may list processes: RCPT_KEY or --key-file hide it.",
    );
  const { protocol, hostname } = new URL(origin);
  const isHere = hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
  if (protocol === "http:" && !isHere)
    found.push("The key goes over the network as it is: https would hide it.");
  return found;
}

async function command({ argv, env, stdout, stderr, interrupted, hurried }: LoadCommand): Promise<number> {
  const parsed = parseOptions(argv, env, Date.now() % 1_000_000);
  if (parsed.help) {
    stdout.write(HELP);
    return EXIT.done;
  }
  const { options } = parsed;
  const key = readKey(parsed.key);
  await requireOwn(options.origin, options.isOwn);
  await requireWritable("--json", options.jsonFile);
  await requireWritable("--html", options.htmlFile);
  for (const line of warnings(options, parsed.key, argv)) stderr.write(`rcpt: ${line}\n`);
  const notes = await preflight(options, key, isLiveKey(key));
  for (const note of notes) stderr.write(`rcpt: ${note}\n`);
  const parts = { options, key, clock: systemClock, progress: stderr, interrupted, hurried, notes };
  const report = reportOf(await runLoad(parts));
  stdout.write(renderText(report));
  await write(options.jsonFile, () => `${JSON.stringify(report, null, 1)}\n`);
  await write(options.htmlFile, () => renderHtml(report));
  return exitCodeOf(report);
}

/** Runs the command. Resolves to its exit code; says on standard error why it is not 0, where the report does not. */
export async function load(parts: LoadCommand): Promise<number> {
  try {
    return await command(parts);
  } catch (error) {
    const isOurs = error instanceof UsageError || error instanceof CannotMeasure;
    parts.stderr.write(`rcpt: ${isOurs ? error.message : ((error as Error).stack ?? String(error))}\n`);
    return error instanceof UsageError ? EXIT.usage : EXIT.unmeasured;
  }
}
