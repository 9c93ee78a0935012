import { useQuery } from "@tanstack/react-query";
import { api, dataOf } from "../../api/client.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { ForeignText } from "../../components/foreign-text.tsx";
import { Loading } from "../../components/loading.tsx";
import { QueryFailure } from "../../components/notice.tsx";
import type { Delivery } from "../../words/webhooks.ts";

/** Compact JSON, indented for reading; any other text as it is, also JSON that would change when it is written anew. */
function indented(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text ? JSON.stringify(value, null, 2) : text;
  } catch {
    return text;
  }
}

/** Why there is no answer's body. */
function reasonWithout({ attempts, response_status: status }: Delivery): string {
  if (attempts === 0) return "Not sent yet.";
  return status === null ? "No answer came." : "The answer's body was not kept.";
}

function Body({ title, text }: { title: string; text: string }) {
  return (
    <section className="stack" aria-label={title}>
      <div className="row">
        <h3>{title}</h3>
        {text !== "" && <CopyButton text={text} of={`the ${title.toLowerCase()} as it is`} />}
      </div>
      {text === "" ? (
        <p className="muted">Without a body.</p>
      ) : (
        <pre>
          <ForeignText>{indented(text)}</ForeignText>
        </pre>
      )}
    </section>
  );
}

/** What a delivery sends, and the beginning of the receiver's last answer. */
export function DeliveryExchange({ webhookId, of: delivery }: { webhookId: string; of: Delivery }) {
  const path = { id: webhookId, delivery_id: delivery.id };
  const exchange = useQuery({
    // A further attempt has another answer.
    queryKey: ["delivery", webhookId, delivery.id, delivery.attempts],
    queryFn: () => dataOf(api.GET("/v1/webhooks/{id}/deliveries/{delivery_id}", { params: { path } })),
    placeholderData: (before) => before,
  });
  if (exchange.data === undefined) return exchange.isPending ? <Loading /> : <QueryFailure of={exchange} />;
  const { request_body: request, response_body: response } = exchange.data;
  return (
    <div className="stack exchange">
      <QueryFailure of={exchange} />
      <Body title="Request" text={request} />
      {response !== null && <Body title="Answer" text={response} />}
      {response === null && <p className="muted">{reasonWithout(delivery)}</p>}
    </div>
  );
}
