import { Presets, SingleBar } from "cli-progress";
import type { Job, JobSnapshot } from "../../packages/client/src/index.ts";
import { printable } from "./printable.ts";

/** A bar on standard error where that is a terminal; elsewhere nothing. */
export interface Bar {
  /** @param note text after the bar */
  show(done: number, total: number, note: string): void;
  stop(): void;
}

/** @param unit name of the counted items */
export function startBar(unit: string): Bar {
  if (!process.stderr.isTTY) return { show() {}, stop() {} };
  const look = { format: `{bar} {value}/{total} ${unit} {note}`, hideCursor: true, stopOnComplete: false };
  const bar = new SingleBar({ ...look, stream: process.stderr }, Presets.shades_classic);
  let isStarted = false;
  return {
    show(done, total, note) {
      if (!isStarted) bar.start(total, done, { note });
      isStarted = true;
      bar.setTotal(total);
      bar.update(done, { note });
    },
    stop: () => bar.stop(),
  };
}

const verdictsOf = ({ verdicts }: JobSnapshot) =>
  Object.entries(verdicts)
    .filter(([, count]) => count > 0)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(", ");

function noteOf(job: JobSnapshot): string {
  const { status, rows_per_second: pace, eta_seconds: etaS, rows } = job;
  const parts: string[] = [status];
  if (pace !== null) parts.push(`${Math.round(pace)} rows/s`);
  if (etaS !== null) parts.push(`${etaS} s left`);
  if (rows.deferred > 0) parts.push(`${rows.deferred} wait for their mail servers`);
  return parts.join(", ");
}

/** Status and result of a job, in one line. */
export function jobLine(job: JobSnapshot): string {
  const { id, status, rows, error } = job;
  const name =
    "filename" in job.source && job.source.filename ? ` ${JSON.stringify(job.source.filename)}` : "";
  const why = error === null ? "" : `: ${error.detail} (${error.code})`;
  const counts = `${rows.processed} of ${rows.total} rows: ${verdictsOf(job) || "none answered"}`;
  return printable(`${id}${name} ${status}, ${counts}${why}`);
}

/** Follows a job to its end, with a bar on a terminal. @throws RcptError; the reason of `signal` */
export async function followToEnd(job: Job, signal: AbortSignal): Promise<JobSnapshot> {
  const bar = startBar("rows");
  try {
    for await (const snapshot of job.progress({ signal }))
      bar.show(snapshot.rows.processed, snapshot.rows.total, noteOf(snapshot));
  } finally {
    bar.stop();
  }
  return job.snapshot ?? (await job.read({ signal }));
}
