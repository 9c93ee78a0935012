import { Link } from "@tanstack/react-router";
import { useEffect } from "react";
import { api, dataOf } from "../../api/client.ts";
import { pageQuery, usePages } from "../../api/use-pages.ts";
import { Button } from "../../components/button.tsx";
import { ForeignText } from "../../components/foreign-text.tsx";
import { Loading } from "../../components/loading.tsx";
import { Failure } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { NoLists } from "../../components/plan-limits.tsx";
import { TableScroll } from "../../components/table-scroll.tsx";
import { Time } from "../../components/time.tsx";
import { useCurrentUpload, useUploadState } from "../../uploads/current-upload.ts";
import type { FileUpload } from "../../uploads/file-upload.ts";
import { byteSize } from "../../words/bytes.ts";
import { type BulkJob, hasEnded, listName } from "../../words/jobs.ts";
import { grouped } from "../../words/numbers.ts";
import { JobBadge } from "./job-badge.tsx";
import { jobsKey } from "./use-job.ts";
import { VerdictBar } from "./verdict-bar.tsx";

const LOOK_EVERY_MS = 5_000;

const readPage = (cursor: string | null) =>
  dataOf(api.GET("/v1/bulk-jobs", { params: { query: pageQuery(cursor) } }));

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
        <VerdictBar counts={job.verdicts} />
      </td>
      <td className="number">{grouped(job.units)}</td>
      <td>
        <Time at={job.created_at} />
      </td>
    </tr>
  );
}

function FirstList() {
  return (
    <div className="empty">
      <p>
        <strong>No list was verified yet.</strong>
      </p>
      <p className="muted">
        Upload a CSV or XLSX file, or paste addresses. You see how it is read before it costs anything.
      </p>
      <p>
        <Link to="/lists/new" className="button primary">
          Verify your first list
        </Link>
      </p>
    </div>
  );
}

function Jobs() {
  const jobs = usePages(jobsKey, readPage);
  const { rows, refetch } = jobs;
  const isMoving = rows.some((job) => !hasEnded(job));
  useEffect(() => {
    if (!isMoving) return;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") void refetch();
    }, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [isMoving, refetch]);
  if (jobs.isPending) return <Loading />;
  if (jobs.error !== null && rows.length === 0) return <Failure error={jobs.error} />;
  if (rows.length === 0) return <FirstList />;
  return (
    <>
      <Failure error={jobs.error} />
      <TableScroll label="Lists of the team">
        <thead>
          <tr>
            <th scope="col">List</th>
            <th scope="col">State</th>
            <th scope="col" className="number">
              Rows
            </th>
            <th scope="col">Verdicts</th>
            <th scope="col" className="number">
              Units
            </th>
            <th scope="col">Submitted</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((job) => (
            <JobLine key={job.id} job={job} />
          ))}
        </tbody>
      </TableScroll>
      {jobs.hasNextPage && (
        <Button onClick={() => void jobs.fetchNextPage()} busy={jobs.isFetchingNextPage}>
          Older ones
        </Button>
      )}
    </>
  );
}

/** The file that is on its way while this page is looked at. */
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
  return (
    <>
      <PageHead title="Lists">
        <Link to="/lists/new" className="button primary">
          New list
        </Link>
      </PageHead>
      <NoLists />
      {upload !== null && <OnItsWay upload={upload} />}
      <section className="card" aria-label="Lists of the team">
        <Jobs />
      </section>
    </>
  );
}
