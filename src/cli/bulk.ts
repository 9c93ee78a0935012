import { constants, createWriteStream } from "node:fs";
import { access, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Command, Option } from "commander";
import type { Job, JobSnapshot } from "../../packages/client/src/index.ts";
import { VERDICTS } from "../features/bulk/results/shard.ts";
import { UsageError } from "../operator/command.ts";
import { EXIT } from "../platform/exit-codes.ts";
import type { Verdict } from "../verification/verdict/table.ts";
import { EXIT_FOUND, EXIT_INTERRUPTED, failOnOption } from "./check.ts";
import { printableLines } from "./printable.ts";
import type { UploadOptions } from "./upload.ts";

export interface ResultOptions {
  output?: string;
  verdict?: Verdict;
  format: "csv" | "jsonl";
}

interface BulkOptions extends ResultOptions, UploadOptions {
  detach: boolean;
  failOn: Verdict[];
}

/** `rcpt bulk`: verifies a list by a service. Its action is `submitList`. */
export function bulkCommand(): Command {
  return withResultOptions(
    new Command("bulk")
      .description(
        "Verify a list by the service at RCPT_URL: uploads it, follows the job, and writes its results. Ctrl-C leaves the job running.",
      )
      .argument("<list>", "CSV, TSV, an Excel workbook or one address a line; also compressed (gzip)"),
  )
    .option("--column <name>", "the column of addresses, by name or number from 0; default: the likeliest")
    .option("--evidence", "results with the mail server's reply", false)
    .addOption(
      new Option("--via <way>", "storage: straight to object storage; service: through the service")
        .choices(["storage", "service"])
        .default("storage"),
    )
    .option("--detach", "submit it and print the job's id", false)
    .addOption(failOnOption());
}

export function withResultOptions(command: Command): Command {
  return command
    .option("-o, --output <file>", "where results go; default: standard output")
    .addOption(new Option("--verdict <verdict>", "only rows of this verdict").choices(VERDICTS))
    .addOption(new Option("--format <format>", "of the results").choices(["csv", "jsonl"]).default("csv"));
}

/** Escapes control characters for a terminal: cells of the file must not control it. */
async function* printableChunks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of chunks) yield printableLines(decoder.decode(chunk, { stream: true }));
}

/** Writes the results of a job. @throws RcptError; Error of the disk */
export async function saveResults(job: Job, options: ResultOptions, signal?: AbortSignal): Promise<void> {
  const { output, verdict, format } = options;
  const bytes = job.download({ format, verdict, signal });
  const from = Readable.fromWeb(bytes as never);
  if (output !== undefined) await pipeline(from, createWriteStream(output));
  else if (process.stdout.isTTY) await pipeline(from, printableChunks, process.stdout, { end: false });
  else await pipeline(from, process.stdout, { end: false });
}

/** Before a list is charged whose results could not be written. @throws UsageError */
async function requireWritable(output: string): Promise<void> {
  const known = await stat(output).catch(() => null);
  if (known?.isDirectory()) throw new UsageError(`results cannot be written to ${output}: it is a folder`);
  await access(known === null ? dirname(resolve(output)) : output, constants.W_OK).catch((error: Error) => {
    throw new UsageError(`results cannot be written to ${output}: ${error.message}`);
  });
}

/** @returns the exit code by how a job ended */
export function exitCodeOfJob({ status, verdicts }: JobSnapshot, failOn: readonly Verdict[]): number {
  if (status === "failed") return EXIT.failed;
  return failOn.some((verdict) => verdicts[verdict] > 0) ? EXIT_FOUND : EXIT.done;
}

/** @returns the exit code: 0, EXIT_FOUND, 1 for a job that failed, EXIT_INTERRUPTED. @throws UsageError; RcptError */
export async function submitList(path: string, options: BulkOptions): Promise<number> {
  if (options.output !== undefined && !options.detach) await requireWritable(options.output);
  const [{ withInterrupt }, { followToEnd, jobLine }, { upload }] = await Promise.all([
    import("./service.ts"),
    import("./job-progress.ts"),
    import("./upload.ts"),
  ]);
  return withInterrupt(async (signal) => {
    const job = await upload(path, options, signal);
    if (job === null) return EXIT_INTERRUPTED;
    if (options.detach) {
      process.stdout.write(`${job.id}\n`);
      return EXIT.done;
    }
    try {
      const ended = await followToEnd(job, signal);
      process.stderr.write(`${jobLine(ended)}\n`);
      if (ended.status !== "failed") await saveResults(job, options, signal);
      return exitCodeOfJob(ended, options.failOn);
    } catch (error) {
      if (!signal.aborted) throw error;
      process.stderr.write(`rcpt: the job goes on: rcpt jobs watch ${job.id}\n`);
      return EXIT_INTERRUPTED;
    }
  });
}
