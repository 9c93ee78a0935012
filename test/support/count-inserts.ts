import type { Database } from "../../src/stores/postgres/postgres.ts";

/**
 * Counts the rows that statements try to insert into a table from now on, whether or not they are kept: a sequence is not
 * rolled back.
 * @returns how many there were
 */
export async function countInserts(sql: Database, table: string): Promise<() => Promise<number>> {
  await sql.unsafe(`
    create sequence inserts_into_${table};
    create function note_insert_into_${table}() returns trigger language plpgsql as $$ begin
      perform nextval('inserts_into_${table}');
      return new;
    end $$;
    create trigger noted before insert on ${table} for each row execute function note_insert_into_${table}();`);
  return async () => {
    const [row] = await sql<[{ count: number }]>`
      select case when is_called then last_value else 0 end as count from ${sql(`inserts_into_${table}`)}`;
    return row.count;
  };
}
