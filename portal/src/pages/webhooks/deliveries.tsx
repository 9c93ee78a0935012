import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, dataOf } from "../../api/client.ts";
import { useHasRole } from "../../api/session.ts";
import { pageQuery } from "../../api/use-pages.ts";
import { usePolledPages } from "../../api/use-polled-pages.ts";
import { Button } from "../../components/button.tsx";
import { Select } from "../../components/forms/select.tsx";
import { Failure } from "../../components/notice.tsx";
import { PagedTable } from "../../components/tables/paged-table.tsx";
import { Time } from "../../components/time.tsx";
import { grouped } from "../../words/numbers.ts";
import { DELIVERY_ERRORS_IN_WORDS, type Delivery, STATUSES, type Webhook } from "../../words/webhooks.ts";
import { DeliveryExchange } from "./delivery-exchange.tsx";

/** A delivery on demand is listed within this time, unless the relay does not run. */
const LISTED_MS = 10_000;
/** Those that are tried later than this are not waited for. */
const SOON_MS = 30_000;
const BADGES: Readonly<Record<Delivery["status"], string>> = {
  pending: "",
  succeeded: "valid",
  failed: "invalid",
};

/** True when an attempt is in progress, or due soon. */
const isDueSoon = ({ status, next_attempt_at: next }: Delivery) =>
  status === "pending" && next !== null && Date.parse(next) - Date.now() < SOON_MS;

/** The last response, or the reason why there was none. */
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

const COLUMNS = [
  "Since",
  "Event and its webhook-id",
  "State",
  { number: "Attempts" },
  "Last answer",
  { hidden: "Look and send again" },
];

interface RowProps {
  webhook: Webhook;
  of: Delivery;
  onSent(): void;
}

function SendAgain({ webhook, of: delivery, onSent }: RowProps) {
  const queries = useQueryClient();
  const redeliver = useMutation({
    mutationFn: () =>
      api.POST("/v1/webhooks/{id}/deliveries/{delivery_id}/redeliver", {
        params: { path: { id: webhook.id, delivery_id: delivery.id } },
      }),
    onSuccess() {
      onSent();
      return queries.invalidateQueries({ queryKey: ["deliveries", webhook.id] });
    },
  });
  return (
    <>
      <Button
        onClick={() => redeliver.mutate()}
        busy={redeliver.isPending}
        disabled={webhook.status !== "enabled"}
      >
        Send again
      </Button>
      <Failure error={redeliver.error} />
    </>
  );
}

/** A delivery; below it, once it is opened, what was sent and answered. */
function DeliveryRow(props: RowProps) {
  const { webhook, of: delivery } = props;
  const isAdmin = useHasRole("admin");
  const [isOpen, setOpen] = useState(false);
  return (
    <>
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
        <td>
          <div className="row">
            <Button aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              Request and answer<span className="visually-hidden"> of {delivery.event_id}</span>
            </Button>
            {isAdmin && <SendAgain {...props} />}
          </div>
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={COLUMNS.length}>
            <DeliveryExchange webhookId={webhook.id} of={delivery} />
          </td>
        </tr>
      )}
    </>
  );
}

type State = Delivery["status"] | "";
const STATES = [["", "all"], ...(Object.entries(STATUSES) as [State, string][])] as const;

interface Props {
  webhook: Webhook;
  /** When one was sent on demand that may not be listed yet, in milliseconds of the browser's clock. */
  sentMs: number;
}

/** The deliveries of a webhook, polled while one is in progress. */
export function Deliveries({ webhook, sentMs }: Props) {
  const queries = useQueryClient();
  const [status, setStatus] = useState<State>("");
  const [resentMs, setResentMs] = useState(0);
  const readPage = (cursor: string | null) => {
    const query = { ...pageQuery(cursor), ...(status === "" ? {} : { status }) };
    return dataOf(api.GET("/v1/webhooks/{id}/deliveries", { params: { path: { id: webhook.id }, query } }));
  };
  const deliveries = usePolledPages(["deliveries", webhook.id, status], readPage, {
    isMoving: (rows) => rows.some(isDueSoon) || Date.now() < sentMs + LISTED_MS,
    actedMs: Math.max(sentMs, resentMs),
  });
  const ended = deliveries.rows.filter(({ status: state }) => state !== "pending").length;
  // The webhook's last success, or why it was disabled, follows from them.
  useEffect(() => {
    if (ended > 0) void queries.invalidateQueries({ queryKey: ["webhooks"] });
  }, [ended, queries]);
  return (
    <div className="stack">
      <div className="row">
        <Select label="State" inline value={status} onChange={setStatus} options={STATES} />
        <Button onClick={() => void deliveries.refetch()} busy={deliveries.isRefetching}>
          Refresh
        </Button>
      </div>
      <PagedTable
        label={`Deliveries of ${webhook.url}`}
        pages={deliveries}
        columns={COLUMNS}
        row={(delivery) => (
          <DeliveryRow
            key={delivery.id}
            webhook={webhook}
            of={delivery}
            onSent={() => setResentMs(Date.now())}
          />
        )}
        empty={<p className="muted">Nothing here. Send a ping to see how one looks.</p>}
        more="Older ones"
      />
    </div>
  );
}
