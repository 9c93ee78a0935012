import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf } from "../../api/client.ts";
import { Button } from "../../components/button.tsx";
import { ForeignText } from "../../components/foreign-text.tsx";
import { Loading } from "../../components/loading.tsx";
import { QueryFailure } from "../../components/notice.tsx";
import { Table } from "../../components/tables/table.tsx";
import { type BulkJob, hasEnded } from "../../words/jobs.ts";
import { grouped } from "../../words/numbers.ts";
import { VERDICTS } from "../../words/reasons.ts";
import { totalOf, VERDICT_NAMES, VerdictBar } from "./verdict-bar.tsx";

const REFRESH_MS = 5_000;
/** Providers that are shown at first. */
const FIRST = 8;

const COLUMNS = [
  "Provider",
  { number: "Rows" },
  "Verdicts",
  ...VERDICT_NAMES.map((verdict) => ({ number: VERDICTS[verdict] })),
];

const readProviders = (id: string) =>
  dataOf(api.GET("/v1/bulk-jobs/{id}/providers", { params: { path: { id } } }));
type ProviderRows = Awaited<ReturnType<typeof readProviders>>["data"][number];

/** The answered rows of a job by provider; read again while it runs, and once when it has ended. */
export function useProviders(job: BulkJob) {
  const isOver = hasEnded(job);
  return useQuery({
    queryKey: ["job", job.id, "providers", isOver],
    queryFn: () => readProviders(job.id),
    enabled: totalOf(job.verdicts) > 0,
    refetchInterval: isOver ? false : REFRESH_MS,
    staleTime: isOver ? Number.POSITIVE_INFINITY : 0,
    placeholderData: keepPreviousData,
  });
}

function ProviderLine({ of: { provider, rows, verdicts } }: { of: ProviderRows }) {
  return (
    <tr>
      <th scope="row" className="entry">
        {provider === null ? (
          <span className="muted">Others, or none</span>
        ) : (
          <ForeignText>{provider}</ForeignText>
        )}
      </th>
      <td className="number">{grouped(rows)}</td>
      <td>
        <VerdictBar counts={verdicts} />
      </td>
      {VERDICT_NAMES.map((verdict) => (
        <td key={verdict} className="number">
          {grouped(verdicts[verdict])}
        </td>
      ))}
    </tr>
  );
}

/** Mail providers of the answered rows, with the verdicts. */
export function Providers({ job }: { job: BulkJob }) {
  const providers = useProviders(job);
  const [isWhole, setWhole] = useState(false);
  const all = providers.data?.data ?? [];
  // A job that an earlier version worked on has rows, and none of them is counted.
  if (!providers.isEnabled || (providers.isSuccess && all.length === 0)) return null;
  return (
    <section className="card" aria-labelledby="providers">
      <h2 id="providers">By provider</h2>
      {providers.isPending && <Loading />}
      <QueryFailure of={providers} />
      {all.length > 0 && (
        <Table label="Rows by provider" columns={COLUMNS}>
          {all.slice(0, isWhole ? undefined : FIRST).map((of) => (
            <ProviderLine key={of.provider} of={of} />
          ))}
        </Table>
      )}
      {all.length > FIRST && !isWhole && (
        <Button onClick={() => setWhole(true)}>Show all {grouped(all.length)}</Button>
      )}
    </section>
  );
}
