import { useState } from "react";
import { Field } from "../../components/forms/field.tsx";
import { useForm } from "../../components/forms/use-form.ts";
import { CHOICES, EVENTS, type EventType, type Webhook } from "../../words/webhooks.ts";

/** Events that are chosen; null: all, also those to come. */
type Chosen = ReadonlySet<EventType> | null;

/** Fields of a webhook that people enter. */
interface WebhookText {
  url: string;
  description: string;
  events: EventType[] | null;
}

/** Whether a webhook receives every event. */
export const receivesAll = ({ events }: Webhook): boolean => CHOICES.every((event) => events.includes(event));

/** The form of a webhook. @param webhook the present one; null: a new one @param send throws the failure */
export function useWebhookForm(webhook: Webhook | null, send: (text: WebhookText) => Promise<void>) {
  const [chosen, setChosen] = useState<Chosen>(
    webhook === null || receivesAll(webhook) ? null : new Set(webhook.events),
  );
  const initial = { url: webhook?.url ?? "", description: webhook?.description ?? "" };
  const form = useForm(initial, ({ url, description }) =>
    send({ url: url.trim(), description, events: chosen === null ? null : [...chosen] }),
  );
  function reset(): void {
    form.reset();
    setChosen(null);
  }
  return { ...form, chosen, setChosen, isWhole: chosen === null || chosen.size > 0, reset };
}

interface EventChoiceProps {
  chosen: Chosen;
  onChange(chosen: Chosen): void;
}

/** The events that a webhook receives. */
function EventChoice({ chosen, onChange }: EventChoiceProps) {
  function toggle(event: EventType): void {
    const next = new Set(chosen);
    if (!next.delete(event)) next.add(event);
    onChange(next);
  }
  return (
    <fieldset className="stack">
      <legend>Events that it receives</legend>
      <label className="check">
        <input
          type="checkbox"
          checked={chosen === null}
          onChange={() => onChange(chosen === null ? new Set() : null)}
        />
        <span>Everything, also what is added later</span>
      </label>
      {chosen !== null &&
        CHOICES.map((event) => (
          <label className="check" key={event}>
            <input type="checkbox" checked={chosen.has(event)} onChange={() => toggle(event)} />
            <span>
              <code>{event}</code> <span className="muted">{EVENTS[event]}</span>
            </span>
          </label>
        ))}
    </fieldset>
  );
}

/** Fields for URL, events and description. @param form result of `useWebhookForm` */
export function WebhookFields({ form }: { form: ReturnType<typeof useWebhookForm> }) {
  return (
    <>
      <Field
        label="URL"
        type="url"
        hint="Of your server, such as https://hooks.example.com/rcpt"
        autoComplete="off"
        required
        {...form.field("url")}
      />
      <EventChoice chosen={form.chosen} onChange={form.setChosen} />
      <Field
        label="Description"
        hint="For people; may stay empty."
        autoComplete="off"
        {...form.field("description")}
      />
    </>
  );
}
