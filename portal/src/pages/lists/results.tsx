import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { memo, useState } from "react";
import { AddressText, ForeignText } from "../../components/foreign-text.tsx";
import { Loading } from "../../components/loading.tsx";
import { QueryFailure } from "../../components/notice.tsx";
import { Table } from "../../components/tables/table.tsx";
import { useIsNarrow } from "../../components/use-is-narrow.ts";
import { VerdictBadge } from "../../components/verdict-badge.tsx";
import type { BulkJob } from "../../words/jobs.ts";
import { grouped } from "../../words/numbers.ts";
import { REASONS, type Reason, type VerificationResult } from "../../words/reasons.ts";
import { DownloadFailure, DownloadLink } from "./download-link.tsx";
import { type ResultFilter, type ResultRow, readResults, SHOWN_ROWS } from "./read-results.ts";
import { ResultFilters } from "./result-filters.tsx";

/** Why a row has its verdict, and what else to do about it. */
function Why({ result }: { result: VerificationResult }) {
  return (
    <>
      {REASONS[result.reason].says}
      {result.reason === "several_addresses" && (
        <div>Verify the list again with “Cells may hold several addresses”.</div>
      )}
      {result.did_you_mean !== null && (
        <div>
          Did you mean <ForeignText>{result.did_you_mean}</ForeignText>?
        </div>
      )}
    </>
  );
}

interface LineProps {
  of: ResultRow;
  /** True: verdict, reason and provider stand with the address. */
  isNarrow: boolean;
}

function ResultLine({ of: { row, input, duplicateOf, result }, isNarrow }: LineProps) {
  const { provider } = result.checks.mx;
  return (
    <tr>
      <td className="number">{grouped(row)}</td>
      {!isNarrow && (
        <td>
          <VerdictBadge verdict={result.verdict} />
        </td>
      )}
      <th scope="row" className={isNarrow ? "entry whole" : "entry"}>
        {isNarrow && (
          <div>
            <VerdictBadge verdict={result.verdict} />
          </div>
        )}
        {input === "" ? <span className="muted">(empty)</span> : <AddressText>{input}</AddressText>}
        {duplicateOf !== null && <div className="muted">repeats row {grouped(duplicateOf)}</div>}
        {isNarrow && (
          <div className="muted">
            <Why result={result} /> {provider !== null && `Provider: ${provider}.`}
          </div>
        )}
      </th>
      {!isNarrow && (
        <>
          <td className="why">
            <Why result={result} />
          </td>
          <td>{provider ?? <span className="muted">–</span>}</td>
        </>
      )}
    </tr>
  );
}

const COLUMNS = [{ number: "Row" }, "Verdict", "Address", "Why", "Provider"];
const NARROW_COLUMNS = [{ number: "Row" }, "Verdict, address, why"];

/** Drawn again only when its rows change: there may be a thousand. */
const ResultTable = memo(function ResultTable({ rows }: { rows: readonly ResultRow[] }) {
  const isNarrow = useIsNarrow();
  return (
    <Table label="Results by row" columns={isNarrow ? NARROW_COLUMNS : COLUMNS}>
      {rows.map((row, i) => (
        // A cell may hold the same address twice.
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows of a table stay in their order.
        <ResultLine key={`${i} ${row.row}`} of={row} isNarrow={isNarrow} />
      ))}
    </Table>
  );
});

/** The first rows that the filter chooses. */
const useResults = (job: BulkJob, filter: ResultFilter) =>
  useQuery({
    queryKey: ["job", job.id, "results", filter],
    queryFn: ({ signal }) => readResults(job.id, filter, signal),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
  });

/** The reasons of the rows; null where they are not all, or not yet those of the filter. */
function reasonsOf({ data, isPlaceholderData }: ReturnType<typeof useResults>): ReadonlySet<Reason> | null {
  if (data === undefined || data.hasMore || isPlaceholderData) return null;
  return new Set(data.rows.map(({ result }) => result.reason));
}

/** The results of a job: the first of them, narrowed down. */
export function Results({ job }: { job: BulkJob }) {
  const [filter, setFilter] = useState<ResultFilter>({});
  const [error, setError] = useState<unknown>(null);
  const results = useResults(job, filter);
  const { reason: _, ...others } = filter;
  const all = useResults(job, others);
  const rows = results.data?.rows;
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <section className="card" aria-labelledby="results">
      <h2 id="results">Results</h2>
      <ResultFilters job={job} filter={filter} reasons={reasonsOf(all)} onChange={setFilter} />
      <QueryFailure of={results} />
      {(results.isPending || results.isPlaceholderData) && <Loading />}
      {rows !== undefined && rows.length > 0 && <ResultTable rows={rows} />}
      <p className="muted" role="status">
        {rows?.length === 0 && "No row is like that."}
        {results.data?.hasMore === true &&
          `The first ${grouped(SHOWN_ROWS)} are shown; the downloads have all of them.`}
      </p>
      {isFiltered && rows !== undefined && rows.length > 0 && (
        <p>
          <DownloadLink id={job.id} format="csv" filter={filter} onError={setError}>
            Download all rows like these as CSV
          </DownloadLink>
        </p>
      )}
      <DownloadFailure error={error} />
    </section>
  );
}
