import { createLog } from "../../src/platform/log.ts";
import { migrate } from "../../src/stores/postgres/migrate.ts";
import { createPostgres, type Database } from "../../src/stores/postgres/postgres.ts";
import type { BenchContext } from "./context.ts";

/** Does `work` in the run's database, of the newest schema. */
export async function inDatabase<T>(context: BenchContext, work: (sql: Database) => Promise<T>): Promise<T> {
  const sql = createPostgres({ url: context.databaseUrl, maxConnections: 2, applicationName: "rcpt-bench" });
  try {
    await migrate(sql, createLog("silent"));
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}
