import type { EventType } from "../../config/events.ts";
import { type Page, type PageRequest, pageOf } from "../../platform/page.ts";
import type { Queryable } from "../../stores/postgres/postgres.ts";
import type { Actor } from "../identity/actor.ts";
import { type MessageBody, type MessageSource, messageOf } from "./signature.ts";

/** The events of a team, newest first, each as the body of its deliveries. A test key sees those of test keys. */
export async function listEvents(
  sql: Queryable,
  actor: Actor,
  ask: PageRequest & { type: EventType | null },
): Promise<Page<MessageBody>> {
  const rows = await sql<MessageSource[]>`
    select id as event_id, type as event_type, created_at as event_at, livemode, data from events
    where team_id = ${actor.teamId} and not (${!actor.livemode} and livemode)
      and (${ask.after}::text is null or id < ${ask.after})
      and (${ask.type}::text is null or type = ${ask.type})
    order by id desc limit ${ask.limit + 1}`;
  return pageOf(rows, ask, (row) => row.event_id, messageOf);
}
