import { VERDICTS, type Verdict } from "../../words/reasons.ts";
import type { Day } from "./read-history.ts";
import { StackedBars } from "./stacked-bars.tsx";

const VERDICT_NAMES = Object.keys(VERDICTS) as Verdict[];
const VERDICT_PARTS = VERDICT_NAMES.map((verdict) => ({
  name: VERDICTS[verdict],
  color: `var(--${verdict})`,
}));
const SOURCE_PARTS = [
  { name: "Single, checked", color: "var(--source-single)" },
  { name: "Single, from the cache", color: "var(--source-cached)" },
  { name: "In lists", color: "var(--source-list)" },
];

/** Above this number of days a bar is a week: a day would be too thin to see, or to point at. */
const DAYS_MAX = 90;
const WEEK = 7;
const DATE = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });

/** Days, or weeks, from the oldest on. @param days today first */
function spansOf(days: readonly Day[]): { label: string; days: Day[] }[] {
  const length = days.length > DAYS_MAX ? WEEK : 1;
  const spans: { label: string; days: Day[] }[] = [];
  for (let from = 0; from < days.length; from += length) {
    const span = days.slice(from, from + length);
    const first = DATE.format(new Date(span.at(-1)?.date ?? 0));
    const last = DATE.format(new Date(span[0]?.date ?? 0));
    spans.unshift({ label: span.length === 1 ? last : `${first} – ${last}`, days: span });
  }
  return spans;
}

const sum = (days: readonly Day[], of: (day: Day) => number) =>
  days.reduce((total, day) => total + of(day), 0);

/** Daily usage as two charts. The table beside them has the same numbers. */
export function Charts({ days }: { days: readonly Day[] }) {
  const spans = spansOf(days);
  const by = days.length > DAYS_MAX ? "week" : "day";
  const verdicts = spans.map((span) => ({
    label: span.label,
    values: VERDICT_NAMES.map((verdict) => sum(span.days, (day) => day.verdicts[verdict])),
  }));
  const sources = spans.map((span) => ({
    label: span.label,
    values: [
      sum(span.days, (day) => Math.max(0, day.single - day.cached)),
      sum(span.days, (day) => day.cached),
      sum(span.days, (day) => day.bulk),
    ],
  }));
  return (
    <div className="charts">
      <figure>
        <figcaption>Verdicts by {by}</figcaption>
        <StackedBars title={`Verdicts by ${by}`} parts={VERDICT_PARTS} bars={verdicts} />
      </figure>
      <figure>
        <figcaption>Where they came from, by {by}</figcaption>
        <StackedBars title={`Where they came from, by ${by}`} parts={SOURCE_PARTS} bars={sources} />
      </figure>
    </div>
  );
}
