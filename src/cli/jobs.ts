import { Command } from "commander";
import type { JobSnapshot } from "../../packages/client/src/index.ts";
import { EXIT } from "../platform/exit-codes.ts";
import { exitCodeOfJob, type ResultOptions, saveResults, withResultOptions } from "./bulk.ts";
import { EXIT_INTERRUPTED } from "./check.ts";
import { jsonLine } from "./printable.ts";
import { sayNone } from "./rows.ts";

const LISTED = 20;

async function parts() {
  const [service, progress] = await Promise.all([import("./service.ts"), import("./job-progress.ts")]);
  return { ...service, ...progress };
}

async function list({ json }: { json: boolean }): Promise<number> {
  const { connect, jobLine } = await parts();
  let count = 0;
  for await (const job of connect().paginate("/v1/bulk-jobs")) {
    print(job, { json }, jobLine);
    count += 1;
    if (count === LISTED) break;
  }
  if (count === 0 && !json) sayNone();
  return EXIT.done;
}

const print = (job: JobSnapshot, { json }: { json: boolean }, line: (job: JobSnapshot) => string) =>
  process.stdout.write(json ? jsonLine(job) : `${line(job)}\n`);

async function watch(id: string, options: { json: boolean }): Promise<number> {
  const { connect, withInterrupt, followToEnd, jobLine } = await parts();
  return withInterrupt(async (signal) => {
    try {
      const ended = await followToEnd(connect().bulk.job(id), signal);
      print(ended, options, jobLine);
      return exitCodeOfJob(ended, []);
    } catch (error) {
      if (!signal.aborted) throw error;
      return EXIT_INTERRUPTED;
    }
  });
}

async function results(id: string, options: ResultOptions): Promise<number> {
  const { connect } = await parts();
  await saveResults(connect().bulk.job(id), options);
  return EXIT.done;
}

async function cancel(id: string, options: { json: boolean }): Promise<number> {
  const { connect, jobLine } = await parts();
  print(await connect().bulk.job(id).cancel(), options, jobLine);
  return EXIT.done;
}

/** `rcpt jobs …`: what became of lists. @param end receives the exit code */
export function jobsCommand(end: (code: number) => void): Command {
  const jobs = new Command("jobs").description("Lists at the service at RCPT_URL.");
  jobs
    .command("list", { isDefault: true })
    .description(`the newest ${LISTED}`)
    .option("--json", "a JSON object a line", false)
    .action(async (options) => end(await list(options)));
  jobs
    .command("watch <id>")
    .description("follow a job to its end")
    .option("--json", "the job at its end", false)
    .action(async (id, options) => end(await watch(id, options)));
  withResultOptions(jobs.command("results <id>"))
    .description("its results; while it runs, what is answered")
    .action(async (id, options) => end(await results(id, options)));
  jobs
    .command("cancel <id>")
    .description("end it now; what is answered stays, and is charged")
    .option("--json", "the job", false)
    .action(async (id, options) => end(await cancel(id, options)));
  return jobs;
}
