import type { Client } from "../../packages/client/src/index.ts";
import { loadConfig } from "../../src/config/config.ts";
import { systemClock } from "../../src/platform/time/clock.ts";
import { createObjectStore } from "../../src/stores/objects/objects.ts";
import { createPostgres, type Database } from "../../src/stores/postgres/postgres.ts";
import type { BenchContext } from "../setup/context.ts";
import type { Keep } from "../setup/pinned-server.ts";
import { type RoleProcess, startRole } from "../setup/role.ts";
import type { BenchTeam } from "../setup/teams.ts";
import { benchClient } from "./bulk-job.ts";

/** The service as it works on one team's jobs: an API, a relay, and bulk processes as they are started. */
export interface JobsWorld {
  sql: Database;
  client: Client;
  api: RoleProcess;
  relay: RoleProcess;
  bulk: RoleProcess[];
  /** Names of the processes, by their ids. */
  roles: Map<number, string>;
  startBulk(own?: Record<string, string>): Promise<RoleProcess>;
  /**
   * Removes all of the team's objects. The results of 400,000 rows are 0.4 GB: those of a whole run were dirty pages in
   * memory, which Linux then wrote all the time. Object storage took 8 µs of CPU a row instead of 3, on the same cores,
   * and lists waited for it.
   */
  removeObjects(): Promise<void>;
}

/** @param settings of every role */
export async function startJobsWorld(
  context: BenchContext,
  keep: Keep,
  settings: Record<string, string>,
  { teamId, liveKey: key }: BenchTeam,
): Promise<JobsWorld> {
  const sql = createPostgres({ url: context.databaseUrl, maxConnections: 2, applicationName: "rcpt-bench" });
  keep({ end: () => sql.end({ timeout: 1 }) });
  const { objects } = loadConfig({ ...settings, ROLE: "bulk" });
  if (objects === null) throw new Error("there is no object storage in this run");
  const store = createObjectStore(objects, systemClock);
  keep({ end: async () => store.stop() });
  const api = keep(await startRole(context, "api", settings));
  const relay = keep(await startRole(context, "relay", settings));
  const bulk: RoleProcess[] = [];
  const roles = new Map([
    [api.pid, "api"],
    [relay.pid, "relay"],
  ]);
  return {
    sql,
    client: benchClient(`http://127.0.0.1:${api.port}`, key),
    ...{ api, relay, bulk, roles },
    async startBulk(own = {}) {
      const one = keep(await startRole(context, "bulk", { ...settings, ...own }));
      bulk.push(one);
      roles.set(one.pid, "bulk");
      return one;
    },
    async removeObjects() {
      while (!(await store.deleteBelow(`teams/${teamId}/`)));
    },
  };
}
