import { it } from "node:test";
import { createBulkReadingRoutes } from "../../../src/api/routes/bulk-reading.ts";
import type { BulkJobs } from "../../../src/features/bulk/jobs/jobs.ts";
import { until } from "../../support/until.ts";
import { AUTHORIZATION, connect, startServer } from "./harness.ts";

it("a read of results is aborted when its client disconnects before the first byte", async () => {
  let signal: AbortSignal | null = null;
  const jobs: Pick<BulkJobs, "results"> = {
    results: (_actor, _id, _ask, gone) =>
      new Promise((_, reject) => {
        signal = gone;
        gone.addEventListener("abort", () => reject(gone.reason));
      }),
  };
  const server = await startServer({ extraRoutes: createBulkReadingRoutes(jobs as BulkJobs) });
  const client = connect(server.port);
  try {
    client.send(`GET /v1/bulk-jobs/job_1/results HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}\r\n\r\n`);
    await until("they are waited for", () => signal !== null);
    client.destroy();
    await until("it is told", () => signal?.aborted === true);
  } finally {
    client.destroy();
    await server.close();
  }
});
