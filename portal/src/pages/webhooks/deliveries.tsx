import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useId, useState } from "react";
import { api, dataOf } from "../../api/client.ts";
import { useHasRole } from "../../api/session.ts";
import { pageQuery, usePages } from "../../api/use-pages.ts";
import { Button } from "../../components/button.tsx";
import { Failure } from "../../components/notice.tsx";
import { PagedTable } from "../../components/paged-table.tsx";
import { Time } from "../../components/time.tsx";
import { grouped } from "../../words/numbers.ts";
import { DELIVERY_ERRORS_IN_WORDS, type Delivery, STATUSES, type Webhook } from "../../words/webhooks.ts";

const REFRESH_MS = 1_000;
/** Those that are tried later than this are not waited for. */
const SOON_MS = 30_000;
const BADGES: Readonly<Record<Delivery["status"], string>> = {
  pending: "",
  succeeded: "valid",
  failed: "invalid",
};

/** Whether an attempt is under way, or comes soon. */
const isDueSoon = ({ status, next_attempt_at: next }: Delivery) =>
  status === "pending" && next !== null && Date.parse(next) - Date.now() < SOON_MS;

/** The last answer, or why there was none. */
function Outcome({ of: delivery }: { of: Delivery }) {
  const { response_status: status, error, duration_ms: durationMs } = delivery;
  return (
    <>
      {status !== null && <code>HTTP {status}</code>} {error !== null && DELIVERY_ERRORS_IN_WORDS[error]}{" "}
      {durationMs !== null && <span className="muted">{grouped(durationMs)} ms</span>}
      {delivery.status === "pending" && delivery.next_attempt_at !== null && (
        <p className="muted">
          Next attempt <Time at={delivery.next_attempt_at} />
        </p>
      )}
    </>
  );
}

interface RowProps {
  webhook: Webhook;
  of: Delivery;
}

function DeliveryRow({ webhook, of: delivery }: RowProps) {
  const queries = useQueryClient();
  const isAdmin = useHasRole("admin");
  const redeliver = useMutation({
    mutationFn: () =>
      api.POST("/v1/webhooks/{id}/deliveries/{delivery_id}/redeliver", {
        params: { path: { id: webhook.id, delivery_id: delivery.id } },
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["deliveries", webhook.id] }),
  });
  return (
    <tr>
      <td className="nowrap">
        <Time at={delivery.created_at} />
      </td>
      <th scope="row">
        <code>{delivery.event_type}</code>
        <br />
        <code className="muted">{delivery.event_id}</code>
      </th>
      <td>
        <span className={`badge ${BADGES[delivery.status]}`}>{STATUSES[delivery.status]}</span>
      </td>
      <td className="number">{delivery.attempts}</td>
      <td className="outcome">
        <Outcome of={delivery} />
      </td>
      <td className="nowrap">
        {isAdmin && (
          <Button
            onClick={() => redeliver.mutate()}
            busy={redeliver.isPending}
            disabled={webhook.status !== "enabled"}
          >
            Send again
          </Button>
        )}
        <Failure error={redeliver.error} />
      </td>
    </tr>
  );
}

const COLUMNS = [
  "Since",
  "Event and its webhook-id",
  "State",
  { number: "Attempts" },
  "Last answer",
  { hidden: "Send again" },
];

interface Props {
  webhook: Webhook;
  /** Until then one more is expected that is not listed yet, in milliseconds of the browser's clock. */
  expectedUntilMs: number;
}

/** What a webhook was sent, and what became of it; kept current while something is under way. */
export function Deliveries({ webhook, expectedUntilMs }: Props) {
  const id = useId();
  const [status, setStatus] = useState<Delivery["status"] | "">("");
  const deliveries = usePages(["deliveries", webhook.id, status], (cursor) =>
    dataOf(
      api.GET("/v1/webhooks/{id}/deliveries", {
        params: {
          path: { id: webhook.id },
          query: { ...pageQuery(cursor), ...(status === "" ? {} : { status }) },
        },
      }),
    ),
  );
  const { rows, refetch } = deliveries;
  const isWaiting = rows.some(isDueSoon);
  useEffect(() => {
    const isOver = () => !isWaiting && Date.now() >= expectedUntilMs;
    if (isOver()) return;
    const timer = setInterval(() => {
      if (isOver()) clearInterval(timer);
      void refetch();
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, [isWaiting, expectedUntilMs, refetch]);
  return (
    <div className="stack">
      <div className="row">
        <label htmlFor={id}>State</label>
        <select
          id={id}
          className="select"
          value={status}
          onChange={(event) => setStatus(event.target.value as Delivery["status"] | "")}
        >
          <option value="">all</option>
          {Object.entries(STATUSES).map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
        <Button onClick={() => void refetch()} busy={deliveries.isRefetching}>
          Refresh
        </Button>
      </div>
      <PagedTable
        label={`Deliveries of ${webhook.url}`}
        pages={deliveries}
        columns={COLUMNS}
        row={(delivery) => <DeliveryRow key={delivery.id} webhook={webhook} of={delivery} />}
        empty={<p className="muted">Nothing here. Send a ping to see how one looks.</p>}
        more="Older ones"
      />
    </div>
  );
}
