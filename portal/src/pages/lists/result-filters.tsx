import { Select } from "../../components/forms/select.tsx";
import type { BulkJob } from "../../words/jobs.ts";
import { grouped } from "../../words/numbers.ts";
import { REASONS, type Reason, VERDICTS } from "../../words/reasons.ts";
import { useProviders } from "./providers.tsx";
import type { ResultFilter } from "./read-results.ts";
import { VERDICT_NAMES } from "./verdict-bar.tsx";

const ALL = ["", "all"] as const;
/** The option for rows of no known provider, for which the API has an empty name. No provider has this one. */
const NO_PROVIDER = "-";
const REASON_NAMES = Object.keys(REASONS) as Reason[];

interface Props {
  job: BulkJob;
  filter: ResultFilter;
  /** Reasons of all rows that the other filters choose; null: not all of these rows were read. */
  reasons: ReadonlySet<Reason> | null;
  onChange(filter: ResultFilter): void;
}

/** Which rows are shown: by verdict, by reason, and by who runs the mail servers. */
export function ResultFilters({ job, filter, reasons, onChange }: Props) {
  const providers = (useProviders(job).data?.data ?? []).map(({ provider, rows }) =>
    provider === null
      ? ([NO_PROVIDER, `others, or none (${grouped(rows)})`] as const)
      : ([provider, `${provider} (${grouped(rows)})`] as const),
  );
  const of = (name: keyof ResultFilter) => ({
    value: filter[name] ?? "",
    onChange(value: string) {
      const { [name]: _, ...others } = filter;
      onChange(value === "" ? others : { ...others, [name]: value });
    },
  });
  const byProvider = of("provider");
  const verdicts = VERDICT_NAMES.map(
    (name) => [name, `${VERDICTS[name]} (${grouped(job.verdicts[name])})`] as const,
  );
  /** Without the rows themselves, what is known is which verdicts they have. */
  function occurs(reason: Reason): boolean {
    if (reason === filter.reason) return true;
    if (reasons !== null) return reasons.has(reason);
    const { verdict } = REASONS[reason];
    return filter.verdict === undefined ? job.verdicts[verdict] > 0 : filter.verdict === verdict;
  }
  const reasonOptions = REASON_NAMES.filter(occurs).map((name) => [name, REASONS[name].says] as const);
  return (
    <div className="options">
      <Select label="Verdict" {...of("verdict")} options={[ALL, ...verdicts]} />
      <Select label="Reason" {...of("reason")} options={[ALL, ...reasonOptions]} />
      {providers.length > 0 && (
        <Select
          label="Provider"
          value={filter.provider === "" ? NO_PROVIDER : byProvider.value}
          onChange={(value) =>
            value === NO_PROVIDER ? onChange({ ...filter, provider: "" }) : byProvider.onChange(value)
          }
          options={[ALL, ...providers]}
        />
      )}
    </div>
  );
}
