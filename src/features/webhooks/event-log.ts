import type { EventType } from "../../config/events.ts";
import { type Page, type PageRequest, pageOf } from "../../platform/page.ts";
import type { Queryable } from "../../stores/postgres/postgres.ts";
import type { Actor } from "../identity/actor.ts";
import { type MessageBody, type MessageSource, messageOf } from "./signature.ts";

/**
 * The events of a team, newest first, each as the body of its deliveries. A test key sees those of test keys. Each question has
 * an index of its own, with the ids in the collation "C" (migration 31): a page costs no more, whatever else the team has.
 */
export async function listEvents(
  sql: Queryable,
  actor: Actor,
  ask: PageRequest & { type: EventType | null },
): Promise<Page<MessageBody>> {
  const isNarrowed = !actor.livemode || ask.type !== null;
  const id = isNarrowed ? sql`id collate "C"` : sql`id`;
  const rows = await sql<MessageSource[]>`
    select id as event_id, type as event_type, created_at as event_at, livemode, data from events
    where team_id = ${actor.teamId} ${actor.livemode ? sql`` : sql`and not livemode`}
      ${ask.type === null ? sql`` : sql`and type = ${ask.type}`}
      ${ask.after === null ? sql`` : sql`and ${id} < ${ask.after}`}
    order by ${id} desc limit ${ask.limit + 1}`;
  return pageOf(rows, ask, (row) => row.event_id, messageOf);
}
