import { type BulkJob, hasEnded, JOB_STATUSES, type JobStatus } from "../../words/jobs.ts";

const LOOKS: Readonly<Partial<Record<JobStatus, string>>> = {
  completed: "valid",
  failed: "invalid",
  deferred: "risky",
};

/** What a job is at; while it is under way, also how far. */
export function JobBadge({ job }: { job: BulkJob }) {
  const percent = Math.floor(job.progress * 100);
  const isCounted = !hasEnded(job) && job.rows.total > 0;
  return (
    <span className={`badge ${LOOKS[job.status] ?? (hasEnded(job) ? "" : "running")}`}>
      {JOB_STATUSES[job.status]}
      {isCounted && ` ${percent} %`}
    </span>
  );
}
