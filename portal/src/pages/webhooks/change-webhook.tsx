import { useQueryClient } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { Button } from "../../components/button.tsx";
import { Failure } from "../../components/notice.tsx";
import type { Webhook } from "../../words/webhooks.ts";
import { useWebhookForm, WebhookFields } from "./webhook-fields.tsx";

/** Changes a webhook. @param onEnd it is done, or not wanted */
export function ChangeWebhook({ webhook, onEnd }: { webhook: Webhook; onEnd(): void }) {
  const queries = useQueryClient();
  const form = useWebhookForm(webhook, async (body) => {
    await api.PATCH("/v1/webhooks/{id}", { params: { path: { id: webhook.id } }, body });
    await queries.invalidateQueries({ queryKey: ["webhooks"] });
    onEnd();
  });
  return (
    <form className="stack" onSubmit={form.submit} aria-label="Change the webhook">
      <WebhookFields form={form} />
      <Failure error={form.error} />
      <div className="row">
        <Button type="submit" look="primary" busy={form.busy} disabled={!form.isWhole}>
          Save
        </Button>
        <Button onClick={onEnd}>Cancel</Button>
        <span className="muted">What waits goes to the new URL.</span>
      </div>
    </form>
  );
}
