import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { api, dataOf } from "../../api/client.ts";
import { useHasRole } from "../../api/session.ts";
import { Button } from "../../components/button.tsx";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { ForeignText, shownText } from "../../components/foreign-text.tsx";
import { Failure, Notice } from "../../components/notice.tsx";
import { Secret } from "../../components/secret.tsx";
import { Time } from "../../components/time.tsx";
import { DISABLED, type Webhook } from "../../words/webhooks.ts";
import { ChangeWebhook } from "./change-webhook.tsx";
import { Deliveries } from "./deliveries.tsx";
import { receivesAll } from "./webhook-fields.tsx";

/** Notice of a webhook that is disabled or failing. */
function Trouble({ webhook }: { webhook: Webhook }) {
  const { status, disabled_reason: reason, disabled_at: at, failing_since: failingSince } = webhook;
  if (status === "disabled")
    return (
      <Notice>
        Disabled{at !== null && <> since {<Time at={at} />}</>}. {reason !== null && DISABLED[reason]}
      </Notice>
    );
  if (failingSince === null) return null;
  return (
    <Notice kind="failure">
      Nothing has reached it since <Time at={failingSince} />. The deliveries say why; it is disabled when
      that goes on for days.
    </Notice>
  );
}

function Facts({ webhook }: { webhook: Webhook }) {
  return (
    <dl className="facts">
      <dt>Events</dt>
      <dd>{receivesAll(webhook) ? "everything" : webhook.events.join(", ")}</dd>
      <dt>Last success</dt>
      <dd>{webhook.last_success_at === null ? "never" : <Time at={webhook.last_success_at} />}</dd>
      <dt>Made</dt>
      <dd>
        <Time at={webhook.created_at} />
      </dd>
    </dl>
  );
}

/** A webhook's own secret, replaced. */
function NewSecret({ webhook, onSecret }: { webhook: Webhook; onSecret(secret: string): void }) {
  async function rotate(): Promise<void> {
    const path = { id: webhook.id };
    const { secret } = await dataOf(api.POST("/v1/webhooks/{id}/rotate-secret", { params: { path } }));
    onSecret(secret);
  }
  return (
    <ConfirmDialog
      trigger="New secret"
      title="Give it a new signing secret?"
      action="New secret"
      onConfirm={rotate}
    >
      <p>
        For 24 hours{" "}
        <strong>
          <ForeignText>{webhook.url}</ForeignText>
        </strong>{" "}
        gets a signature by the old secret too: replace it there in that time.
      </p>
    </ConfirmDialog>
  );
}

interface ActionProps {
  webhook: Webhook;
  onPing(): void;
}

/** Actions of admins and owners on a webhook. */
function Actions({ webhook, onPing }: ActionProps) {
  const queries = useQueryClient();
  const [secret, setSecret] = useState<string | null>(null);
  const [isChanging, setChanging] = useState(false);
  const params = { path: { id: webhook.id } };
  const refresh = () => queries.invalidateQueries({ queryKey: ["webhooks"] });
  const isEnabled = webhook.status === "enabled";
  const ping = useMutation({
    mutationFn: () => api.POST("/v1/webhooks/{id}/ping", { params }),
    onSuccess: onPing,
  });
  const enable = useMutation({
    mutationFn: () =>
      api.PATCH("/v1/webhooks/{id}", { params, body: { status: isEnabled ? "disabled" : "enabled" } }),
    onSettled: refresh,
  });
  async function remove(): Promise<void> {
    await api.DELETE("/v1/webhooks/{id}", { params });
    await refresh();
  }
  return (
    <>
      <div className="row">
        <Button onClick={() => ping.mutate()} busy={ping.isPending} disabled={!isEnabled}>
          Send a ping
        </Button>
        <Button aria-expanded={isChanging} onClick={() => setChanging(!isChanging)}>
          Change
        </Button>
        <Button onClick={() => enable.mutate()} busy={enable.isPending}>
          {isEnabled ? "Disable" : "Enable"}
        </Button>
        <NewSecret webhook={webhook} onSecret={setSecret} />
        <ConfirmDialog
          trigger="Delete"
          title="Delete the webhook?"
          action="Delete"
          done={`The webhook of ${shownText(webhook.url)} was deleted.`}
          onConfirm={remove}
        >
          <p>
            Nothing more is sent to{" "}
            <strong>
              <ForeignText>{webhook.url}</ForeignText>
            </strong>
            , what waits included, and its log goes with it.
          </p>
        </ConfirmDialog>
      </div>
      {isChanging && <ChangeWebhook webhook={webhook} onEnd={() => setChanging(false)} />}
      <Failure error={ping.error ?? enable.error} />
      {ping.isSuccess && <Notice kind="success">A ping is on its way: see the deliveries.</Notice>}
      {secret !== null && <Secret value={secret} of={`the signing secret of ${webhook.url}`} />}
    </>
  );
}

/** A webhook: its state, actions and deliveries. */
export function WebhookCard({ webhook }: { webhook: Webhook }) {
  const id = useId();
  const isAdmin = useHasRole("admin");
  const [isOpen, setOpen] = useState(false);
  const [sentMs, setSentMs] = useState(0);
  const isEnabled = webhook.status === "enabled";
  function showPing(): void {
    setOpen(true);
    setSentMs(Date.now());
  }
  return (
    <section className="card" aria-labelledby={id}>
      <div className="page-head">
        <h2 id={id}>
          <ForeignText>{webhook.url}</ForeignText>
        </h2>
        <span className="row">
          {!webhook.livemode && <span className="badge risky">test</span>}
          <span className={`badge ${isEnabled ? "valid" : "invalid"}`}>{webhook.status}</span>
        </span>
      </div>
      {webhook.description !== "" && (
        <p>
          <ForeignText>{webhook.description}</ForeignText>
        </p>
      )}
      <Trouble webhook={webhook} />
      <Facts webhook={webhook} />
      {isAdmin && <Actions webhook={webhook} onPing={showPing} />}
      <div className="row">
        <Button look="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Hide the deliveries" : "Show the deliveries"}
          <span className="visually-hidden"> of {shownText(webhook.url)}</span>
        </Button>
      </div>
      {isOpen && <Deliveries webhook={webhook} sentMs={sentMs} />}
    </section>
  );
}
