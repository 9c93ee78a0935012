import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, dataOf } from "../../api/client.ts";
import { ForeignText } from "../../components/foreign-text.tsx";
import { Loading } from "../../components/loading.tsx";
import { QueryFailure } from "../../components/notice.tsx";
import { Table } from "../../components/tables/table.tsx";
import { Time } from "../../components/time.tsx";
import { type BulkJob, hasEnded } from "../../words/jobs.ts";
import { counted, grouped } from "../../words/numbers.ts";
import { REASONS } from "../../words/reasons.ts";

const LOOK_EVERY_MS = 10_000;

const readDeferred = (id: string) =>
  dataOf(api.GET("/v1/bulk-jobs/{id}/deferred", { params: { path: { id } } }));
type Group = Awaited<ReturnType<typeof readDeferred>>["data"][number];

/** Text for sites that the API does not name: each has few rows of a chunk, or is not known before a connection is free. */
const unnamedSites = (reason: Group["reason"]): string =>
  reason === "busy" ? "several servers, or not known yet" : "several servers, few rows each";

function GroupLine({ of: { reason, site, rows, next_attempt_at: at } }: { of: Group }) {
  return (
    <tr>
      <th scope="row" className="entry">
        {reason === "busy" ? "Its mail server takes no further connection now." : REASONS[reason].says}
      </th>
      <td>
        {site === null ? (
          <span className="muted">{unnamedSites(reason)}</span>
        ) : (
          <ForeignText>{site}</ForeignText>
        )}
      </td>
      <td className="number">{grouped(rows)}</td>
      <td>{Date.parse(at) <= Date.now() ? "now" : <Time at={at} />}</td>
    </tr>
  );
}

function Groups({ id }: { id: string }) {
  const deferred = useQuery({
    queryKey: ["job", id, "deferred"],
    queryFn: () => readDeferred(id),
    refetchInterval: LOOK_EVERY_MS,
    placeholderData: keepPreviousData,
  });
  if (deferred.isPending) return <Loading />;
  if (deferred.data === undefined) return <QueryFailure of={deferred} />;
  const { data, rows } = deferred.data;
  const others = rows - data.reduce((sum, group) => sum + group.rows, 0);
  return (
    <>
      <Table label="Rows that wait" columns={["Why", "Mail servers", { number: "Rows" }, "Next attempt"]}>
        {data.map((group) => (
          <GroupLine key={`${group.reason} ${group.site}`} of={group} />
        ))}
      </Table>
      {others > 0 && <p className="muted">{counted(others, "more waits", "more wait")} for other servers.</p>}
    </>
  );
}

/** Reasons why rows of a job wait, and until when; nothing while no row waits. */
export function Deferred({ job }: { job: BulkJob }) {
  if (hasEnded(job) || job.rows.deferred === 0) return null;
  return (
    <section className="card" aria-labelledby="deferred">
      <h2 id="deferred">
        {job.rows.deferred === 1
          ? "1 row waits for its mail server"
          : `${grouped(job.rows.deferred)} rows wait for their mail servers`}
      </h2>
      <p className="muted">
        The mail servers are asked again automatically. A row costs nothing until it is answered.
      </p>
      <Groups id={job.id} />
    </section>
  );
}
