import { Select } from "../../components/select.tsx";
import type { BulkJob } from "../../words/jobs.ts";
import { grouped } from "../../words/numbers.ts";
import { REASONS, VERDICTS } from "../../words/reasons.ts";
import { useProviders } from "./providers.tsx";
import type { ResultFilter } from "./read-results.ts";
import { VERDICT_NAMES } from "./verdict-bar.tsx";

const ALL = ["", "all"] as const;
const REASON_OPTIONS = Object.entries(REASONS).map(([name, { says }]) => [name, says] as const);

interface Props {
  job: BulkJob;
  filter: ResultFilter;
  onChange(filter: ResultFilter): void;
}

/** Which rows are shown: by verdict, by reason, and by who runs the mail servers. */
export function ResultFilters({ job, filter, onChange }: Props) {
  const providers = (useProviders(job).data?.data ?? []).flatMap(({ provider, rows }) =>
    provider === null ? [] : [[provider, `${provider} (${grouped(rows)})`] as const],
  );
  const of = (name: keyof ResultFilter) => ({
    value: filter[name] ?? "",
    onChange(value: string) {
      const { [name]: _, ...others } = filter;
      onChange(value === "" ? others : { ...others, [name]: value });
    },
  });
  const verdicts = VERDICT_NAMES.map(
    (name) => [name, `${VERDICTS[name]} (${grouped(job.verdicts[name])})`] as const,
  );
  return (
    <div className="options">
      <Select label="Verdict" {...of("verdict")} options={[ALL, ...verdicts]} />
      <Select label="Reason" {...of("reason")} options={[ALL, ...REASON_OPTIONS]} />
      {providers.length > 0 && <Select label="Provider" {...of("provider")} options={[ALL, ...providers]} />}
    </div>
  );
}
