import { ForeignText } from "../../components/foreign-text.tsx";
import type { BulkJob } from "../../words/jobs.ts";
import { CHOSEN_BY, columnTitle, DELIMITERS } from "./layout-words.ts";

/** How the list was read: its columns, and the warnings. */
export function SourceFacts({ source }: Pick<BulkJob, "source">) {
  const { columns, warnings } = source;
  if (columns === null || (source.type === "inline" && warnings.length === 0)) return null;
  const { email, sheet } = columns;
  return (
    <section className="card" aria-labelledby="source">
      <h2 id="source">How it was read</h2>
      <dl className="facts">
        <dt>Addresses</dt>
        <dd>
          <ForeignText>{columnTitle(email)}</ForeignText>{" "}
          <span className="muted">({CHOSEN_BY[email.chosen_by]})</span>
        </dd>
        <dt>Header</dt>
        <dd>{columns.has_header ? "yes" : "none"}</dd>
        {sheet === null ? (
          <>
            <dt>Delimiter</dt>
            <dd>{DELIMITERS[columns.delimiter] ?? columns.delimiter}</dd>
            <dt>Encoding</dt>
            <dd>{columns.encoding}</dd>
          </>
        ) : (
          <>
            <dt>Sheet</dt>
            <dd>
              <ForeignText>{sheet.name}</ForeignText>
            </dd>
          </>
        )}
        {columns.skipped_lines.length > 0 && (
          <>
            <dt>Lines left out</dt>
            <dd>{columns.skipped_lines.map(({ line }) => line).join(", ")}</dd>
          </>
        )}
      </dl>
      <Warnings warnings={warnings} />
    </section>
  );
}

/** Warnings about a list: irregularities that were tolerated or should be checked. */
export function Warnings({ warnings }: Pick<BulkJob["source"], "warnings">) {
  if (warnings.length === 0) return null;
  return (
    <ul className="warnings">
      {warnings.map(({ code, detail }) => (
        <li key={`${code} ${detail}`}>
          <ForeignText>{detail}</ForeignText>
        </li>
      ))}
    </ul>
  );
}
