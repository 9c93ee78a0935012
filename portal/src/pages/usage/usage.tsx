import { Link } from "@tanstack/react-router";
import { useId, useState } from "react";
import { useToday } from "../../api/use-today.ts";
import { asOptions, Select } from "../../components/forms/select.tsx";
import { Loading } from "../../components/loading.tsx";
import { QueryFailure } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { Time } from "../../components/time.tsx";
import { grouped } from "../../words/numbers.ts";
import { UNIT_HINT } from "../../words/units.ts";
import { History } from "./history.tsx";

function Today() {
  const id = useId();
  const today = useToday();
  if (today.isPending) return <Loading />;
  if (today.data === undefined) return <QueryFailure of={today} />;
  const { used, limit, remaining, resets_at: resetsAt } = today.data;
  return (
    <>
      <QueryFailure of={today} />
      <label htmlFor={id}>
        <strong>{grouped(used)}</strong> of {grouped(limit)} units used
      </label>
      <meter id={id} min={0} max={limit} high={limit * 0.9} value={used} />
      <p className="muted">
        {grouped(remaining)} left; what lists in progress may still cost is set aside. The next day begins{" "}
        <Time at={resetsAt} />.
      </p>
      <p className="muted">
        {UNIT_HINT} What a list cost is with <Link to="/lists">the list</Link>.
      </p>
    </>
  );
}

const SPANS = ["7", "30", "90", "365"] as const;

/** The team's use of its quota: today, and by day. */
export function UsagePage() {
  const [days, setDays] = useState<(typeof SPANS)[number]>("30");
  return (
    <>
      <PageHead title="Usage" />
      <section className="card" aria-labelledby="today">
        <h2 id="today">Today</h2>
        <Today />
      </section>
      <section className="card" aria-labelledby="history">
        <div className="page-head">
          <h2 id="history">By day</h2>
          <Select label="Days" inline value={days} onChange={setDays} options={asOptions(SPANS)} />
        </div>
        <History days={Number(days)} />
      </section>
    </>
  );
}
