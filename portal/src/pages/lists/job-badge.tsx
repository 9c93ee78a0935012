import { type BulkJob, hasEnded, JOB_STATUSES, type JobStatus } from "../../words/jobs.ts";
import { percent } from "../../words/numbers.ts";

const LOOKS: Readonly<Partial<Record<JobStatus, string>>> = {
  completed: "valid",
  failed: "invalid",
  deferred: "risky",
};

/** The status of a job; while it is being processed, also its progress. */
export function JobBadge({ job }: { job: BulkJob }) {
  const isCounted = !hasEnded(job) && job.rows.total > 0;
  return (
    <span className={`badge ${LOOKS[job.status] ?? (hasEnded(job) ? "" : "running")}`}>
      {JOB_STATUSES[job.status]}
      {isCounted && ` ${percent(Math.floor(job.progress * 100) / 100)}`}
    </span>
  );
}
