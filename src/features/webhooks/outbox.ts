import type { EventType } from "../../config/events.ts";
import { newId } from "../../platform/ids.ts";
import type { Transaction } from "../../stores/postgres/postgres.ts";

export interface NewEvent {
  teamId: string;
  type: EventType;
  livemode: boolean;
  /** The receiver's `data`: a JSON object of a few kB at most, without secrets. */
  data: Record<string, unknown>;
  /** Delivers to this webhook only, whatever its subscriptions. */
  onlyWebhookId?: string;
  /** Delivers to this URL too, signed with the team's own secret. */
  extraUrl?: string;
}

/** Writes an event in the transaction of the change it reports. Returns its id, `evt_…`. */
export async function recordEvent(tx: Transaction, event: NewEvent): Promise<string> {
  const id = newId("evt");
  await tx`
    insert into events (id, team_id, type, livemode, data, only_webhook_id, extra_url)
    values (${id}, ${event.teamId}, ${event.type}, ${event.livemode}, ${tx.json(event.data as never)},
      ${event.onlyWebhookId ?? null}, ${event.extraUrl ?? null})`;
  return id;
}
