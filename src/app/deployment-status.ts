import type { Config } from "../config/config.ts";
import { createJobStreams } from "../features/bulk/schedule/job-stream.ts";
import {
  createReadDeploymentStatus,
  type ReadDeploymentStatus,
} from "../features/operator/deployment-status.ts";
import { egressStatus } from "../features/operator/egress-status.ts";
import { countPipeline } from "../features/operator/pipeline-status.ts";
import type { Logger } from "../platform/log.ts";
import { systemClock } from "../platform/time/clock.ts";
import { VERSION } from "../platform/version.ts";
import type { Checks } from "./checks/checks.ts";
import type { Stores } from "./stores.ts";

interface Deps {
  config: Config;
  log: Logger;
  stores: Stores;
  checks: Pick<Checks, "selfCheck" | "breakers" | "siteCaps">;
}

/** Reads the state of the deployment for the metrics port: this process's egress, and counts from Postgres and Redis. */
export function composeDeploymentStatus({ config, log, stores, checks }: Deps): ReadDeploymentStatus {
  const { selfCheck, breakers, siteCaps } = checks;
  const streams = createJobStreams(stores.redis.commands);
  function readEgress() {
    const known = {
      selfCheck: selfCheck.status(),
      breakers: breakers.openNow(),
      reduced: siteCaps.reduced(),
    };
    return egressStatus({ egress: config.smtp.egressId, ...known }, systemClock.now());
  }
  return createReadDeploymentStatus({
    sql: stores.sql,
    readProcess: () => ({ version: VERSION, node: process.version, egress: readEgress() }),
    countPipeline: () => countPipeline(stores.sql, streams),
    onError: (error) => log.warn({ err: error }, "the bulk pipeline could not be counted"),
  });
}
