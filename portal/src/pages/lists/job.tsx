import { useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { Fragment } from "react";
import { api } from "../../api/client.ts";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { ForeignText } from "../../components/foreign-text.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice, QueryFailure } from "../../components/notice.tsx";
import { useTitle } from "../../components/page-head.tsx";
import { Time } from "../../components/time.tsx";
import { type BulkJob, hasEnded, listName } from "../../words/jobs.ts";
import { counted, grouped } from "../../words/numbers.ts";
import { UNIT_HINT } from "../../words/units.ts";
import { Deferred } from "./deferred.tsx";
import { DeleteJob } from "./delete-job.tsx";
import { Downloads } from "./downloads.tsx";
import { Failed } from "./failed.tsx";
import { JobBadge } from "./job-badge.tsx";
import { Milestones, Progress } from "./progress.tsx";
import { Providers } from "./providers.tsx";
import { Results } from "./results.tsx";
import { SourceFacts } from "./source-facts.tsx";
import { forgetJobLists, jobKey, useJob } from "./use-job.ts";
import { totalOf, VerdictBar, VerdictTiles } from "./verdict-bar.tsx";

function CancelJob({ job }: { job: BulkJob }) {
  const queries = useQueryClient();
  const { processed, total } = job.rows;
  async function cancel(): Promise<void> {
    const { data } = await api.POST("/v1/bulk-jobs/{id}/cancel", { params: { path: { id: job.id } } });
    queries.setQueryData(jobKey(job.id), data);
    await forgetJobLists(queries);
  }
  return (
    <ConfirmDialog
      trigger="Cancel the list"
      title="Cancel this list?"
      action="Cancel the list"
      dismissal="Go on"
      onConfirm={cancel}
    >
      <p>
        {counted(processed, "row is", "rows are")} answered: what is answered is charged, and stays to be
        read.
        {total > processed &&
          ` ${counted(total - processed, "is not, and costs", "are not, and cost")} nothing.`}{" "}
        A cancelled list is not taken up again.
      </p>
    </ConfirmDialog>
  );
}

/** Numbers of rows by result, and their cost. */
function RowFacts({ job }: { job: BulkJob }) {
  const { rows, units } = job;
  const facts: [string, number][] = [
    ["Rows", rows.total],
    ["Repeats", rows.duplicates],
    ["Malformed", rows.malformed],
    ["Empty", rows.empty],
  ];
  return (
    <>
      <dl className="facts">
        {facts
          .filter(([title, count]) => count > 0 || title === "Rows")
          .map(([title, count]) => (
            <Fragment key={title}>
              <dt>{title}</dt>
              <dd>{grouped(count)}</dd>
            </Fragment>
          ))}
        <dt>{hasEnded(job) ? "Cost" : "Cost so far"}</dt>
        <dd>{counted(units, "unit")}</dd>
      </dl>
      <p className="muted">{UNIT_HINT}</p>
    </>
  );
}

function JobBody({ job, isLost }: { job: BulkJob; isLost: boolean }) {
  return (
    <>
      <Milestones job={job} isLost={isLost} />
      {isLost && <Notice>The connection is lost; trying again by itself. The list goes on meanwhile.</Notice>}
      {job.error !== null && <Failed job={job} error={job.error} />}
      {job.error === null && (
        <section className="card" aria-label="Progress">
          <Progress job={job} />
          {totalOf(job.verdicts) > 0 && <VerdictBar counts={job.verdicts} rows={job.rows.total} />}
          <VerdictTiles counts={job.verdicts} rows={job.rows.total} />
          <RowFacts job={job} />
        </section>
      )}
      <Deferred job={job} />
      {job.error === null && totalOf(job.verdicts) > 0 && <Downloads job={job} />}
      {job.error === null && <Providers job={job} />}
      {job.results !== null && <Results job={job} />}
      <SourceFacts source={job.source} />
    </>
  );
}

function Dates({ job }: { job: BulkJob }) {
  return (
    <p className="muted">
      Submitted <Time at={job.created_at} />
      {job.completed_at !== null && (
        <>
          , ended <Time at={job.completed_at} />
        </>
      )}
      {!job.livemode && ", by a test key: nothing was checked"}
    </p>
  );
}

/** A list with its progress and results. */
export function JobPage() {
  const { id } = useParams({ from: "/frame/lists/$id" });
  const query = useJob(id);
  const { data: job, isPending, isLost } = query;
  const name = job === undefined ? "List" : listName(job);
  return (
    <>
      <div className="page-head">
        <div>
          <Link to="/lists">All lists</Link>
          <h1 {...useTitle(name)}>
            <ForeignText>{name}</ForeignText>
          </h1>
          {job !== undefined && <Dates job={job} />}
        </div>
        {job !== undefined && (
          <div className="row">
            <JobBadge job={job} />
            {hasEnded(job) ? <DeleteJob job={job} /> : <CancelJob job={job} />}
          </div>
        )}
      </div>
      {isPending && <Loading />}
      <QueryFailure of={query} />
      {job !== undefined && <JobBody job={job} isLost={isLost} />}
    </>
  );
}
