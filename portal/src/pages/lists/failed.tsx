import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, dataOf } from "../../api/client.ts";
import { ForeignText } from "../../components/foreign-text.tsx";
import { Time } from "../../components/time.tsx";
import { type BulkJob, JOB_ERRORS } from "../../words/jobs.ts";
import { grouped } from "../../words/numbers.ts";

type JobError = NonNullable<BulkJob["error"]>;

/** When there is quota again. */
function QuotaLeft() {
  const today = useQuery({ queryKey: ["usage"], queryFn: () => dataOf(api.GET("/v1/usage")) });
  if (today.data === undefined) return null;
  return (
    <p>
      {grouped(today.data.remaining)} of {grouped(today.data.limit)} units are left today; the next day begins{" "}
      <Time at={today.data.resets_at} />.
    </p>
  );
}

/** Columns that may hold the addresses, each a way to the preview with that one chosen. */
function Candidates({ uploadId, error }: { uploadId: string; error: JobError }) {
  const { candidates = [] } = error;
  return (
    <ul className="choices">
      {candidates.map(({ index, name, addresses, distinct }) => (
        <li key={index}>
          <Link to="/lists/new" search={{ upload: uploadId, column: index }} className="button">
            <span>
              Verify <ForeignText>{name ?? `column ${index + 1}`}</ForeignText>
            </span>
          </Link>
          <span className="muted">
            {grouped(addresses)} addresses in the first rows, {grouped(distinct)} of them different
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Why a job failed, and the way on from there. It cost nothing. */
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
      {error.code === "quota_exceeded" && <QuotaLeft />}
      {uploadId !== null && error.candidates !== undefined && (
        <Candidates uploadId={uploadId} error={error} />
      )}
      <div className="row">
        {uploadId === null ? (
          <Link to="/lists/new" className="button primary">
            Upload another file
          </Link>
        ) : (
          <Link to="/lists/new" search={{ upload: uploadId }} className="button primary">
            Look at the preview
          </Link>
        )}
      </div>
    </section>
  );
}
