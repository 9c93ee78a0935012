import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { memo, useState } from "react";
import { ForeignText } from "../../components/foreign-text.tsx";
import { Loading } from "../../components/loading.tsx";
import { Failure } from "../../components/notice.tsx";
import { Table } from "../../components/tables/table.tsx";
import { VerdictBadge } from "../../components/verdict-badge.tsx";
import type { BulkJob } from "../../words/jobs.ts";
import { grouped } from "../../words/numbers.ts";
import { REASONS } from "../../words/reasons.ts";
import { type ResultFilter, type ResultRow, readResults, resultsHref, SHOWN_ROWS } from "./read-results.ts";
import { ResultFilters } from "./result-filters.tsx";

function ResultLine({ of: { row, input, duplicateOf, result } }: { of: ResultRow }) {
  const { provider } = result.checks.mx;
  return (
    <tr>
      <td className="number">{grouped(row)}</td>
      <td>
        <VerdictBadge verdict={result.verdict} />
      </td>
      <th scope="row" className="entry">
        {input === "" ? <span className="muted">(empty)</span> : <ForeignText>{input}</ForeignText>}
        {duplicateOf !== null && <div className="muted">repeats row {grouped(duplicateOf)}</div>}
      </th>
      <td className="why">
        {REASONS[result.reason].says}
        {result.did_you_mean !== null && (
          <div>
            Did you mean <ForeignText>{result.did_you_mean}</ForeignText>?
          </div>
        )}
      </td>
      <td>{provider ?? <span className="muted">–</span>}</td>
    </tr>
  );
}

/** The verdict comes before the address, so that narrow windows show it without scrolling. */
const COLUMNS = [{ number: "Row" }, "Verdict", "Address", "Why", "Provider"];

/** Drawn again only when its rows change: there may be a thousand. */
const ResultTable = memo(function ResultTable({ rows }: { rows: readonly ResultRow[] }) {
  return (
    <Table label="Results by row" columns={COLUMNS}>
      {rows.map((row, i) => (
        // A cell may hold the same address twice.
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows of a table stay in their order.
        <ResultLine key={`${i} ${row.row}`} of={row} />
      ))}
    </Table>
  );
});

/** The results of a job: the first of them, narrowed down. */
export function Results({ job }: { job: BulkJob }) {
  const [filter, setFilter] = useState<ResultFilter>({});
  const results = useQuery({
    queryKey: ["job", job.id, "results", filter],
    queryFn: ({ signal }) => readResults(job.id, filter, signal),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const rows = results.data?.rows;
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <section className="card" aria-labelledby="results">
      <h2 id="results">Results</h2>
      <ResultFilters job={job} filter={filter} onChange={setFilter} />
      <Failure error={results.error} />
      {(results.isPending || results.isPlaceholderData) && <Loading />}
      {rows !== undefined && rows.length > 0 && <ResultTable rows={rows} />}
      <p className="muted" role="status">
        {rows?.length === 0 && "No row is like that."}
        {results.data?.hasMore === true &&
          `The first ${grouped(SHOWN_ROWS)} are shown; the downloads have all of them.`}
      </p>
      {isFiltered && rows !== undefined && rows.length > 0 && (
        <p>
          <a href={resultsHref(job.id, "csv", filter)}>Download all rows like these as CSV</a>
        </p>
      )}
    </section>
  );
}
