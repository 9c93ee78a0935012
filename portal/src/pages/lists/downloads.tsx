import { useState } from "react";
import { Time } from "../../components/time.tsx";
import type { BulkJob } from "../../words/jobs.ts";
import { counted, grouped } from "../../words/numbers.ts";
import { VERDICTS } from "../../words/reasons.ts";
import { DownloadFailure, DownloadLink } from "./download-link.tsx";
import { totalOf, VERDICT_NAMES } from "./verdict-bar.tsx";

const FORMATS = [
  { format: "csv", title: "CSV" },
  { format: "jsonl", title: "JSONL" },
] as const;

/** Links to the results as files, also partial ones. */
export function Downloads({ job }: { job: BulkJob }) {
  const { duplicates } = job.rows;
  const [error, setError] = useState<unknown>(null);
  const kinds = [
    { title: "All rows", rows: totalOf(job.verdicts), filter: {} },
    ...VERDICT_NAMES.map((verdict) => ({
      title: VERDICTS[verdict],
      rows: job.verdicts[verdict],
      filter: { verdict },
    })),
  ];
  return (
    <section className="card" aria-labelledby="downloads">
      <div className="page-head">
        <h2 id="downloads">{job.results === null ? "Download what is answered so far" : "Download"}</h2>
        {job.results !== null && (
          <span className="muted">
            Kept until <Time at={job.results.expires_at} />
          </span>
        )}
      </div>
      <ul className="downloads">
        {kinds.map(({ title, rows, filter }) => (
          <li key={title}>
            <span>{title}</span>
            <span className="muted number">{grouped(rows)}</span>
            <span className="row">
              {rows === 0 ? (
                <span className="muted">–</span>
              ) : (
                FORMATS.map(({ format, title: as }) => (
                  <DownloadLink
                    key={format}
                    id={job.id}
                    format={format}
                    filter={filter}
                    onError={setError}
                    label={`${title} as ${as}`}
                  >
                    {as}
                  </DownloadLink>
                ))
              )}
            </span>
          </li>
        ))}
      </ul>
      <DownloadFailure error={error} />
      {duplicates > 0 && (
        <p className="muted">
          {counted(duplicates, "row repeats", "rows repeat")} an address.{" "}
          {duplicates === 1 ? "It is" : "They are"} included, so that each row of your list has its answer.
        </p>
      )}
    </section>
  );
}
