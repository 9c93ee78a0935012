import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf } from "../../api/client.ts";
import { Button } from "../../components/button.tsx";
import { Field } from "../../components/field.tsx";
import { ForeignText } from "../../components/foreign-text.tsx";
import { Failure, Notice } from "../../components/notice.tsx";
import { Secret } from "../../components/secret.tsx";
import { useForm } from "../../components/use-form.ts";
import { CHOICES, EVENTS, type EventType } from "../../words/webhooks.ts";

interface EventChoiceProps {
  /** null: all, also those to come. */
  chosen: ReadonlySet<EventType> | null;
  onChange(chosen: ReadonlySet<EventType> | null): void;
}

/** What a webhook is told of. */
function EventChoice({ chosen, onChange }: EventChoiceProps) {
  function toggle(event: EventType): void {
    const next = new Set(chosen);
    if (!next.delete(event)) next.add(event);
    onChange(next);
  }
  return (
    <fieldset className="choices">
      <legend>What it is told of</legend>
      <label className="choice">
        <input
          type="checkbox"
          checked={chosen === null}
          onChange={() => onChange(chosen === null ? new Set() : null)}
        />
        <span>Everything, also what is added later</span>
      </label>
      {chosen !== null &&
        CHOICES.map((event) => (
          <label className="choice" key={event}>
            <input type="checkbox" checked={chosen.has(event)} onChange={() => toggle(event)} />
            <span>
              <code>{event}</code> <span className="muted">{EVENTS[event]}</span>
            </span>
          </label>
        ))}
    </fieldset>
  );
}

/** Makes a webhook, and shows its secret, once. */
export function NewWebhook() {
  const queries = useQueryClient();
  const [events, setEvents] = useState<ReadonlySet<EventType> | null>(null);
  const [made, setMade] = useState<{ url: string; secret: string } | null>(null);
  const form = useForm({ url: "", description: "" }, async ({ url, description }) => {
    const body = { url: url.trim(), description, ...(events === null ? {} : { events: [...events] }) };
    const webhook = await dataOf(api.POST("/v1/webhooks", { params: { header: {} }, body }));
    // Before all else: it is told this once.
    if (webhook.secret !== null) setMade({ url: webhook.url, secret: webhook.secret });
    form.reset();
    setEvents(null);
    void queries.invalidateQueries({ queryKey: ["webhooks"] });
  });
  return (
    <section className="card" aria-labelledby="new-webhook">
      <h2 id="new-webhook">Make a webhook</h2>
      <form className="stack" onSubmit={form.submit}>
        <Field
          label="URL"
          type="url"
          hint="Of your server, such as https://hooks.example.com/rcpt"
          autoComplete="off"
          required
          {...form.field("url")}
        />
        <EventChoice chosen={events} onChange={setEvents} />
        <Field
          label="Description"
          hint="For people; may stay empty."
          autoComplete="off"
          {...form.field("description")}
        />
        <Failure error={form.error} />
        <div className="row">
          <Button
            type="submit"
            look="primary"
            busy={form.busy}
            disabled={events !== null && events.size === 0}
          >
            Make the webhook
          </Button>
          {events !== null && events.size === 0 && <span className="muted">Choose an event, or all.</span>}
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
