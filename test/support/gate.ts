import type { Database } from "../../src/stores/postgres/postgres.ts";

/** What waits until it is opened. */
export interface Gate {
  opened: Promise<void>;
  open(): void;
}

export function createGate(): Gate {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Lets whatever could go on do so: turns of the event loop, and of Postgres. */
export async function quiet(sql: Database): Promise<void> {
  for (let i = 0; i < 5; i++) {
    await sql`select 1`;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
