import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Missing } from "../../components/broken.tsx";
import { Button } from "../../components/button.tsx";
import { Loading } from "../../components/loading.tsx";
import { QueryFailure } from "../../components/notice.tsx";
import { Table } from "../../components/tables/table.tsx";
import { fromFile } from "../../page-files.ts";
import { counted, grouped } from "../../words/numbers.ts";
import { type Day, readHistory } from "./read-history.ts";
import { saveFile } from "./save-file.ts";
import "../../styles/charts.css";

const COLUMNS: readonly { title: string; name: string; of(day: Day): number }[] = [
  { title: "Units charged", name: "used", of: (day) => day.used },
  { title: "Single", name: "single", of: (day) => day.single },
  { title: "Of these, from the cache", name: "cached", of: (day) => day.cached },
  { title: "In lists", name: "bulk", of: (day) => day.bulk },
  { title: "Valid", name: "valid", of: ({ verdicts }) => verdicts.valid },
  { title: "Invalid", name: "invalid", of: ({ verdicts }) => verdicts.invalid },
  { title: "Risky", name: "risky", of: ({ verdicts }) => verdicts.risky },
  { title: "Unknown", name: "unknown", of: ({ verdicts }) => verdicts.unknown },
];

const TITLES = ["Day (UTC)", ...COLUMNS.map(({ title }) => ({ number: title }))];

const loadCharts = fromFile(() => import("./charts.tsx"));

/** Keeps the place of the charts, so that nothing moves when they come. */
function ChartsToCome() {
  return (
    <div className="charts" role="status" aria-label="The charts are loading">
      {["verdicts", "sources"].map((chart) => (
        <figure key={chart}>
          <figcaption>…</figcaption>
          <div className="charts-wait" />
        </figure>
      ))}
    </div>
  );
}

/** Loaded separately: the code that draws charts is larger than the page, which does not wait for it. */
function ChartsOf({ days }: { days: readonly Day[] }) {
  const charts = useQuery({
    queryKey: ["charts"],
    queryFn: loadCharts,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (charts.isPending) return <ChartsToCome />;
  if (charts.error !== null) return <Missing error={charts.error} />;
  return <charts.data.Charts days={days} />;
}

/** Dates and numbers only: nothing in it needs quoting. */
function csvOf(days: readonly Day[]): string {
  const head = ["date", ...COLUMNS.map(({ name }) => name)].join(",");
  const rows = days.map((day) => [day.date, ...COLUMNS.map(({ of }) => of(day))].join(","));
  return `${[head, ...rows].join("\r\n")}\r\n`;
}

/** The last days, today first, and the same as a file. */
export function History({ days }: { days: number }) {
  const history = useQuery({
    queryKey: ["usage", "history", days],
    queryFn: () => readHistory(days),
    // The first steps read the same before the first address is verified.
    staleTime: 0,
    placeholderData: keepPreviousData,
  });
  if (history.isPending) return <Loading />;
  if (history.data === undefined) return <QueryFailure of={history} />;
  const { data } = history.data;
  return (
    <>
      <QueryFailure of={history} />
      {data.length < days && (
        <p className="muted">Your plan keeps {grouped(data.length)} days; those are shown.</p>
      )}
      <p>
        {counted(
          data.reduce((sum, { used }) => sum + used, 0),
          "unit was charged",
          "units were charged",
        )}{" "}
        in these days.{" "}
        <span className="muted">
          The verdicts add up to more where answers were free, as those that are unknown by a failure.
        </span>
      </p>
      {data.some(({ single, bulk }) => single + bulk > 0) && <ChartsOf days={data} />}
      <Table label="Use by day" columns={TITLES}>
        {data.map((day) => (
          <tr key={day.date}>
            <th scope="row" className="nowrap">
              {day.date}
            </th>
            {COLUMNS.map(({ name, of }) => (
              <td className="number" key={name}>
                {grouped(of(day))}
              </td>
            ))}
          </tr>
        ))}
      </Table>
      <div className="row">
        <Button onClick={() => saveFile("usage.csv", "text/csv", csvOf(data))}>Download as CSV</Button>
      </div>
    </>
  );
}
