import { useState } from "react";
import { asOptions, Select } from "../../components/forms/select.tsx";
import { Loading } from "../../components/loading.tsx";
import { QueryFailure } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { FirstReport } from "./first-report.tsx";
import { type Accuracy, FEW, useAccuracy } from "./read-accuracy.ts";
import { Report } from "./report.tsx";
import { GroupTable, VerdictTable, WrongTable } from "./tables.tsx";

const SPANS = ["7", "30", "90"] as const;

function Summary({ groups }: Pick<Accuracy, "groups">) {
  if (groups.length === 0) return <FirstReport />;
  return (
    <>
      <VerdictTable groups={groups} />
      <p className="muted">
        A hard bounce: the recipient cannot be reached at all. The hard bounce rate is of messages that were
        delivered or bounced; with fewer than {FEW} of them there are too few to tell.
      </p>
    </>
  );
}

function Details({ groups, wrong }: Accuracy) {
  return (
    <>
      <section className="card" aria-labelledby="wrong">
        <h2 id="wrong">Answers that were wrong</h2>
        {wrong.length === 0 ? (
          <p className="muted">No valid address bounced for good, and no invalid one was delivered.</p>
        ) : (
          <WrongTable wrong={wrong} />
        )}
      </section>
      <section className="card" aria-labelledby="groups">
        <h2 id="groups">By reason and provider</h2>
        <GroupTable groups={groups} />
      </section>
    </>
  );
}

/** The accuracy of answers, measured by the outcomes of the team's messages. */
export function AccuracyPage() {
  const [days, setDays] = useState<(typeof SPANS)[number]>("30");
  const accuracy = useAccuracy(Number(days));
  return (
    <>
      <PageHead title="Accuracy" />
      <p className="muted">
        What became of messages that your team sent, beside what rcpt had answered about the addresses. Only
        your team sees it; addresses are not kept.
      </p>
      <section className="card" aria-labelledby="outcomes">
        <div className="page-head">
          <h2 id="outcomes">How good the answers were</h2>
          <Select label="Days" inline value={days} onChange={setDays} options={asOptions(SPANS)} />
        </div>
        {accuracy.isPending && <Loading />}
        <QueryFailure of={accuracy} />
        {accuracy.data !== undefined && <Summary groups={accuracy.data.groups} />}
      </section>
      {accuracy.data !== undefined && accuracy.data.groups.length > 0 && <Details {...accuracy.data} />}
      <Report />
    </>
  );
}
