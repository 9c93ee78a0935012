import type { Database } from "../../src/stores/postgres/postgres.ts";

/** Makes the database refuse every event of the team while `work` runs. */
export async function refuseEvents(sql: Database, teamId: string, work: () => Promise<void>): Promise<void> {
  await sql.unsafe(`
    create function refuse_event() returns trigger language plpgsql as $$ begin
      raise exception 'no event of this team';
    end $$;
    create trigger refused before insert on events
      for each row when (new.team_id = '${teamId}') execute function refuse_event();`);
  try {
    await work();
  } finally {
    await sql.unsafe("drop trigger refused on events; drop function refuse_event()");
  }
}
