import { useId } from "react";
import { duration } from "../../words/durations.ts";
import { type BulkJob, hasEnded, JOB_STATUSES } from "../../words/jobs.ts";
import { grouped, percent } from "../../words/numbers.ts";

const MILESTONES = 4;

/** For screen readers: another state of the job, and each quarter of its rows. */
export function Milestones({ job, isLost }: { job: BulkJob; isLost: boolean }) {
  const quarter = Math.floor(job.progress * MILESTONES) / MILESTONES;
  const isCounted = job.status === "processing" && quarter > 0;
  const words = isLost ? "Connection lost, trying again." : `${JOB_STATUSES[job.status]}.`;
  return (
    <p className="visually-hidden" role="status">
      {words} {isCounted && !isLost && `${percent(quarter)} of the rows are answered.`}
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

/** How many rows of a job that has not ended are answered. Before the first of them a bar says that something goes on. */
export function Progress({ job }: { job: BulkJob }) {
  const id = useId();
  const { rows, status } = job;
  if (hasEnded(job)) return null;
  return (
    <div className="stack">
      <div className="page-head">
        <span id={id}>
          {rows.total > 0 ? (
            <>
              <strong>{grouped(rows.processed)}</strong> of {grouped(rows.total)} rows answered
            </>
          ) : (
            `${JOB_STATUSES[status]}…`
          )}
        </span>
        <span className="muted number">{paceOf(job)}</span>
      </div>
      {rows.processed === 0 && <progress aria-labelledby={id} />}
    </div>
  );
}
