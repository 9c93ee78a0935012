import { Link } from "@tanstack/react-router";
import { ForeignText } from "../../components/foreign-text.tsx";
import { QuotaLeft } from "../../components/quota-left.tsx";
import { type BulkJob, JOB_ERRORS, type JobErrorCode } from "../../words/jobs.ts";
import { CandidateChoices } from "./candidate-choices.tsx";

/** Failures that a larger plan would avoid. */
const LARGER_PLAN_HELPS: ReadonlySet<JobErrorCode> = new Set(["quota_exceeded", "bulk_too_large"]);

type JobError = NonNullable<BulkJob["error"]>;

/** Why a job failed, and what to do. It cost nothing. */
export function Failed({ job, error }: { job: BulkJob; error: JobError }) {
  const { says, advice, isMendable } = JOB_ERRORS[error.code];
  const uploadId = job.source.type === "upload" && isMendable ? job.source.upload_id : null;
  return (
    <section className="card" aria-labelledby="failed">
      <h2 id="failed">Why it failed</h2>
      <p>
        <strong>{says}</strong> {advice} <span className="muted">It cost nothing.</span>
      </p>
      {error.candidates === undefined && (
        <p className="muted">
          <ForeignText>{error.detail}</ForeignText> (<code>{error.code}</code>)
        </p>
      )}
      {job.source.type === "inline" && <p>To verify them again, paste the addresses once more.</p>}
      {error.code === "quota_exceeded" && (
        <p>
          <QuotaLeft />
        </p>
      )}
      {uploadId !== null && error.candidates !== undefined && (
        <CandidateChoices
          candidates={error.candidates}
          choice={(column, title) => (
            <Link to="/lists/new" search={{ upload: uploadId, column }} className="button">
              <span>Verify {title}</span>
            </Link>
          )}
        />
      )}
      <div className="row">
        {uploadId === null ? (
          <Link to="/lists/new" className="button primary">
            {job.source.type === "upload" ? "Upload another file" : "New list"}
          </Link>
        ) : (
          <Link
            to="/lists/new"
            search={{ upload: uploadId }}
            className={`button ${error.candidates === undefined ? "primary" : ""}`}
          >
            Look at the preview
          </Link>
        )}
        {LARGER_PLAN_HELPS.has(error.code) && <Link to="/billing">See the plans</Link>}
      </div>
    </section>
  );
}
