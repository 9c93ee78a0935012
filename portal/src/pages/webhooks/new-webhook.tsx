import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf } from "../../api/client.ts";
import { Button } from "../../components/button.tsx";
import { ForeignText } from "../../components/foreign-text.tsx";
import { Failure, Notice } from "../../components/notice.tsx";
import { Secret } from "../../components/secret.tsx";
import { useWebhookForm, WebhookFields } from "./webhook-fields.tsx";

/** Makes a webhook, and shows its secret, once. */
export function NewWebhook() {
  const queries = useQueryClient();
  const [made, setMade] = useState<{ url: string; secret: string } | null>(null);
  const form = useWebhookForm(null, async ({ url, description, events }) => {
    const body = { url, description, ...(events === null ? {} : { events }) };
    const webhook = await dataOf(api.POST("/v1/webhooks", { params: { header: {} }, body }));
    // Before all else: the API shows it this once.
    if (webhook.secret !== null) setMade({ url: webhook.url, secret: webhook.secret });
    form.reset();
    void queries.invalidateQueries({ queryKey: ["webhooks"] });
  });
  return (
    <section className="card" aria-labelledby="new-webhook">
      <h2 id="new-webhook">Make a webhook</h2>
      <form className="stack" onSubmit={form.submit}>
        <WebhookFields form={form} />
        <Failure error={form.error} />
        <div className="row">
          <Button type="submit" look="primary" busy={form.busy} disabled={!form.isWhole}>
            Make the webhook
          </Button>
          {!form.isWhole && <span className="muted">Choose an event, or all.</span>}
        </div>
      </form>
      {made !== null && (
        <>
          <Notice kind="success">
            The webhook of{" "}
            <strong>
              <ForeignText>{made.url}</ForeignText>
            </strong>{" "}
            is made. With this secret your server tells our requests from others, by any library of Standard
            Webhooks:
          </Notice>
          <Secret value={made.secret} of="the signing secret" />
        </>
      )}
    </section>
  );
}
