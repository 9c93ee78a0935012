import { type ReactNode, useId, useState } from "react";
import type { BulkJob } from "../../words/jobs.ts";
import { grouped } from "../../words/numbers.ts";
import { REASONS, type Reason, VERDICTS } from "../../words/reasons.ts";
import type { ResultFilter, ResultRow } from "./read-results.ts";
import { VERDICT_NAMES } from "./verdict-bar.tsx";

const REASON_NAMES = Object.keys(REASONS) as Reason[];

interface FilterProps {
  label: string;
  value: string | undefined;
  onChange(value: string): void;
  children: ReactNode;
}

function Filter({ label, value = "", onChange, children }: FilterProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">all</option>
        {children}
      </select>
    </div>
  );
}

/** Providers that were seen in any rows so far. */
function useProviders(rows: readonly ResultRow[]): readonly string[] {
  const [seen, setSeen] = useState<readonly string[]>([]);
  const all = new Set(seen);
  for (const { result } of rows) if (result.checks.mx.provider !== null) all.add(result.checks.mx.provider);
  if (all.size > seen.length) setSeen([...all].sort());
  return seen;
}

interface Props {
  job: BulkJob;
  filter: ResultFilter;
  onChange(filter: ResultFilter): void;
  /** Those that are shown. */
  rows: readonly ResultRow[];
}

/** Which rows are shown: by verdict, by reason, and by who runs the mail servers. */
export function ResultFilters({ job, filter, onChange, rows }: Props) {
  const providers = useProviders(rows);
  const set = (name: keyof ResultFilter) => (value: string) => {
    const { [name]: _, ...others } = filter;
    onChange(value === "" ? others : { ...others, [name]: value });
  };
  return (
    <div className="options">
      <Filter label="Verdict" value={filter.verdict} onChange={set("verdict")}>
        {VERDICT_NAMES.map((name) => (
          <option key={name} value={name}>
            {VERDICTS[name]} ({grouped(job.verdicts[name])})
          </option>
        ))}
      </Filter>
      <Filter label="Reason" value={filter.reason} onChange={set("reason")}>
        {REASON_NAMES.map((name) => (
          <option key={name} value={name}>
            {REASONS[name].says}
          </option>
        ))}
      </Filter>
      {providers.length > 0 && (
        <Filter label="Provider" value={filter.provider} onChange={set("provider")}>
          {providers.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </Filter>
      )}
    </div>
  );
}
