import { useQuery } from "@tanstack/react-query";
import { useHasRole, useIdentity } from "../../api/session.ts";
import { ForeignText } from "../../components/foreign-text.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice, QueryFailure } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { Table } from "../../components/tables/table.tsx";
import { Time } from "../../components/time.tsx";
import { duration } from "../../words/durations.ts";
import { grouped } from "../../words/numbers.ts";
import { type Deployment, readDeployment } from "./read-deployment.ts";
import { Routes } from "./routes.tsx";

const REFRESH_MS = 10_000;

function Breakers({ of: { breakers, breakers_open: open } }: { of: Deployment["egress"] }) {
  if (open === 0) return <p className="muted">No site blocks us, as far as this process knows.</p>;
  return (
    <>
      <p>
        {grouped(open)} circuit {open === 1 ? "breaker is" : "breakers are"} open: addresses there wait or are
        answered unknown, and none is called invalid.
      </p>
      <Table
        label="Open breakers"
        columns={["Site", "Route", "Open since", "Next trial", "Reply of the server"]}
      >
        {breakers.map((breaker) => (
          <tr key={`${breaker.site} ${breaker.route} ${breaker.domain}`}>
            <th scope="row">
              <ForeignText>{breaker.site}</ForeignText>
              {breaker.domain !== null && (
                <span className="muted">
                  {" "}
                  only <ForeignText>{breaker.domain}</ForeignText>
                </span>
              )}
            </th>
            <td>
              <ForeignText>{breaker.route}</ForeignText>
            </td>
            <td>
              <Time at={breaker.open_since} />
            </td>
            <td>
              <Time at={breaker.next_trial_at} />
            </td>
            <td className="prose">
              {breaker.reply === "" ? (
                "received by another process"
              ) : (
                <ForeignText>{breaker.reply}</ForeignText>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}

function ReducedSites({ of: { reduced_sites: sites, sites_reduced: count } }: { of: Deployment["egress"] }) {
  if (count === 0) return <p className="muted">Every site gets as many connections as its policy allows.</p>;
  return (
    <>
      <p>They refused some connections, and get fewer than their policy allows: {grouped(count)} in all.</p>
      <Table label="Sites with fewer connections" columns={["Site", { number: "Connections" }]}>
        {sites.map(({ site, connections }) => (
          <tr key={site}>
            <th scope="row">
              <ForeignText>{site}</ForeignText>
            </th>
            <td className="number">{grouped(connections)}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

/** The counts above zero, such as "2 processing, 1 queued". */
function countsOf(counts: Record<string, number>): string {
  const there = Object.entries(counts).filter(([, count]) => count > 0);
  return there.length === 0 ? "none" : there.map(([name, count]) => `${grouped(count)} ${name}`).join(", ");
}

function Pipeline({ of: pipeline }: { of: Deployment["pipeline"] }) {
  if (pipeline === null)
    return (
      <Notice kind="failure">The pipeline could not be counted: look at Redis, and at the API's log.</Notice>
    );
  const { workers, jobs, tasks_outstanding: tasks, oldest_task_seconds: oldestS } = pipeline;
  return (
    <>
      {workers === 0 && tasks > 0 && (
        <Notice kind="failure">Tasks wait and no bulk process takes them: is one running?</Notice>
      )}
      <dl className="facts">
        <dt>Workers</dt>
        <dd>{workers === 0 ? "none: lists would wait" : grouped(workers)}</dd>
        <dt>Jobs</dt>
        <dd>{countsOf(jobs)}</dd>
        <dt>Tasks to do</dt>
        <dd>
          {grouped(tasks)}
          {tasks > 0 && `, the oldest for ${duration(oldestS)}`}
        </dd>
        <dt>Rows deferred</dt>
        <dd>{countsOf(pipeline.rows_deferred)}</dd>
        <dt>Tasks given up (dead letters)</dt>
        <dd>{grouped(pipeline.dead_letters)}</dd>
      </dl>
    </>
  );
}

function Status() {
  const status = useQuery({
    queryKey: ["deployment"],
    queryFn: readDeployment,
    refetchInterval: REFRESH_MS,
  });
  if (status.isPending) return <Loading />;
  const { data } = status;
  return (
    <>
      <QueryFailure of={status} />
      {data !== undefined && (
        <>
          <section className="card" aria-labelledby="pipeline">
            <h2 id="pipeline">Lists under way</h2>
            <Pipeline of={data.pipeline} />
          </section>
          <section className="card" aria-labelledby="routes">
            <h2 id="routes">How mail servers see us</h2>
            <Routes of={data.egress.routes} />
          </section>
          <section className="card" aria-labelledby="breakers">
            <h2 id="breakers">Sites that block us</h2>
            <Breakers of={data.egress} />
          </section>
          <section className="card" aria-labelledby="reduced">
            <h2 id="reduced">Sites with fewer connections</h2>
            <ReducedSites of={data.egress} />
          </section>
          <p className="muted">
            rcpt {data.version} on Node.js {data.node}. Routes and sites are as the process that answered
            knows them (egress <code>{data.egress.egress}</code>); read again every {REFRESH_MS / 1_000} s.
          </p>
        </>
      )}
    </>
  );
}

/** The state of the deployment, for the team that runs it. */
export function DeploymentPage() {
  const { operator } = useIdentity();
  const isAdmin = useHasRole("admin");
  return (
    <>
      <PageHead title="Deployment" />
      {operator && isAdmin && <Status />}
      {operator && !isAdmin && (
        <Notice>Admins and owners of the team see the state of the deployment; you are a member.</Notice>
      )}
      {!operator && (
        <Notice>
          Only the team that runs the deployment sees its state. Its operator marks a team by{" "}
          <code>npm run team -- set-operator TEAM true</code>.
        </Notice>
      )}
    </>
  );
}
