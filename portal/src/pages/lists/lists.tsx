import { Link } from "@tanstack/react-router";
import { api, dataOf } from "../../api/client.ts";
import { useHasLists } from "../../api/plans.ts";
import { pageQuery } from "../../api/use-pages.ts";
import { usePolledPages } from "../../api/use-polled-pages.ts";
import { ForeignText } from "../../components/foreign-text.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { NoLists } from "../../components/plan-limits.tsx";
import { PagedTable } from "../../components/tables/paged-table.tsx";
import { Time } from "../../components/time.tsx";
import { useCurrentUpload, useUploadState } from "../../uploads/current-upload.ts";
import type { FileUpload } from "../../uploads/file-upload.ts";
import { byteSize } from "../../words/bytes.ts";
import { type BulkJob, hasEnded, listName } from "../../words/jobs.ts";
import { grouped, percent } from "../../words/numbers.ts";
import { JobBadge } from "./job-badge.tsx";
import { UnusedFiles } from "./new/unused-files.tsx";
import { jobsKey } from "./use-job.ts";
import { totalOf, VerdictBar } from "./verdict-bar.tsx";

const readPage = (cursor: string | null) =>
  dataOf(api.GET("/v1/bulk-jobs", { params: { query: pageQuery(cursor) } }));

/** What the bar says by colour alone: how many rows are valid. */
function ValidRows({ job }: { job: BulkJob }) {
  const { verdicts, rows } = job;
  const answered = totalOf(verdicts);
  if (answered === 0) return null;
  return (
    <span className="bar-words muted">
      {answered < rows.total
        ? `${grouped(verdicts.valid)} valid${hasEnded(job) ? "" : " so far"}`
        : `${percent(verdicts.valid / answered)} valid`}
    </span>
  );
}

function JobLine({ job }: { job: BulkJob }) {
  return (
    <tr>
      <th scope="row" className="entry">
        <Link to="/lists/$id" params={{ id: job.id }}>
          <ForeignText>{listName(job)}</ForeignText>
        </Link>
        {!job.livemode && (
          <>
            {" "}
            <span className="badge risky">test</span>
          </>
        )}
      </th>
      <td>
        <JobBadge job={job} />
      </td>
      <td className="number">{job.rows.total === 0 ? "–" : grouped(job.rows.total)}</td>
      <td>
        <VerdictBar counts={job.verdicts} rows={job.rows.total} />
        <ValidRows job={job} />
      </td>
      <td className="number">{grouped(job.units)}</td>
      <td>
        <Time at={job.created_at} />
      </td>
    </tr>
  );
}

function FirstList() {
  const hasLists = useHasLists();
  return (
    <div className="empty">
      <p>
        <strong>No list was verified yet.</strong>
      </p>
      {hasLists && (
        <>
          <p className="muted">
            Upload a CSV or XLSX file, or paste a table: you see how it is read before it costs anything.
            Pasted addresses are verified at once.
          </p>
          <p>
            <Link to="/lists/new" className="button primary">
              Verify your first list
            </Link>
          </p>
        </>
      )}
    </div>
  );
}

const COLUMNS = ["List", "State", { number: "Rows" }, "Verdicts", { number: "Units" }, "Submitted"];

function Jobs() {
  const jobs = usePolledPages(jobsKey, readPage, { isMoving: (rows) => rows.some((job) => !hasEnded(job)) });
  return (
    <PagedTable
      label="Lists of the team"
      pages={jobs}
      columns={COLUMNS}
      row={(job) => <JobLine key={job.id} job={job} />}
      empty={<FirstList />}
      more="Older ones"
    />
  );
}

/** The file that is being sent meanwhile. */
function OnItsWay({ upload }: { upload: FileUpload }) {
  const { phase, sentBytes } = useUploadState(upload);
  const { name, size } = upload.file;
  const words = {
    sending: `is being sent: ${byteSize(sentBytes)} of ${byteSize(size)}.`,
    completing: "is being sent.",
    paused: "is paused.",
    stored: "is sent: look at how it is read.",
    failed: "was not sent: look at why.",
  };
  return (
    <p className="notice">
      <Link to="/lists/new">
        <ForeignText>{name}</ForeignText>
      </Link>{" "}
      {words[phase]}
    </p>
  );
}

/** The lists that the team has verified, or is about to. */
export function ListsPage() {
  const upload = useCurrentUpload();
  const hasLists = useHasLists();
  return (
    <>
      <PageHead title="Lists">
        {hasLists && (
          <Link to="/lists/new" className="button primary">
            New list
          </Link>
        )}
      </PageHead>
      <NoLists />
      {upload !== null && <OnItsWay upload={upload} />}
      <section className="card" aria-label="Lists of the team">
        <Jobs />
      </section>
      {!hasLists && <UnusedFiles hasLists={false} />}
    </>
  );
}
