import { useId } from "react";
import { duration } from "../../words/durations.ts";
import { type BulkJob, hasEnded, JOB_STATUSES } from "../../words/jobs.ts";
import { grouped } from "../../words/numbers.ts";

const MILESTONES = 4;

/** For screen readers: another state of the job, and each quarter of its rows. */
export function Milestones({ job, isLost }: { job: BulkJob; isLost: boolean }) {
  const quarter = Math.floor(job.progress * MILESTONES) * (100 / MILESTONES);
  const isCounted = job.status === "processing" && quarter > 0;
  const words = isLost ? "Connection lost, trying again." : `${JOB_STATUSES[job.status]}.`;
  return (
    <p className="visually-hidden" role="status">
      {words} {isCounted && !isLost && `${quarter} % of the rows are answered.`}
    </p>
  );
}

function paceOf({ status, rows_per_second: pace, eta_seconds: eta }: BulkJob): string {
  const parts = [
    // The pace is meaningless for rows that wait.
    pace === null || status !== "processing" ? null : `${grouped(Math.round(pace * 10) / 10)} rows/s`,
    eta === null ? null : `about ${duration(eta)} left`,
  ];
  return parts.filter((part) => part !== null).join(" · ");
}

/** Progress of a job that has not ended. */
export function Progress({ job }: { job: BulkJob }) {
  const id = useId();
  const { rows, progress, status } = job;
  if (hasEnded(job)) return null;
  const isCounted = rows.total > 0;
  return (
    <div className="stack">
      <div className="page-head">
        <label htmlFor={id}>
          {isCounted ? (
            <>
              <strong>{grouped(rows.processed)}</strong> of {grouped(rows.total)} rows
            </>
          ) : (
            `${JOB_STATUSES[status]}…`
          )}
        </label>
        <span className="muted number">{paceOf(job)}</span>
      </div>
      {isCounted ? <progress id={id} max={1} value={progress} /> : <progress id={id} />}
    </div>
  );
}
