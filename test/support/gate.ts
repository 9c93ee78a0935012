import type { Database } from "../../src/stores/postgres/postgres.ts";

/** A promise that a test resolves by `open`. */
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

/** Gives pending work time to proceed: five ticks of the event loop and round trips to Postgres. */
export async function quiet(sql: Database): Promise<void> {
  for (let i = 0; i < 5; i++) {
    await sql`select 1`;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
