/** Tests to run against each kind of server: those that talk to it, and a job from its upload to its results. */

const STORES = "test/integration/stores";
const FEATURES = "test/integration/features";
const JOB = "test/scenario/bulk/bulk-files.test.ts";

/** Migrations, transactions and the features' SQL; the last one ends the server and starts it again. */
export const POSTGRES_TESTS: readonly string[] = [
  `${STORES}/postgres`,
  `${STORES}/migrate-beside.test.ts`,
  `${STORES}/transactions.test.ts`,
  `${STORES}/logged-errors.test.ts`,
  `${FEATURES}/accounts`,
  `${FEATURES}/auth`,
  `${FEATURES}/billing`,
  `${FEATURES}/bulk/jobs`,
  `${FEATURES}/bulk/schedule`,
  `${FEATURES}/bulk/submit`,
  `${FEATURES}/idempotency`,
  `${FEATURES}/identity`,
  `${FEATURES}/overrides`,
  `${FEATURES}/quota`,
  `${FEATURES}/teams`,
  `${FEATURES}/uploads`,
  `${FEATURES}/usage`,
  `${FEATURES}/webhooks/webhook-fan-out.test.ts`,
  JOB,
  "test/scenario/bulk/bulk-postgres-restart.test.ts",
];

/** The pooler passes no timeout on that a connection asks for. */
export const POOLER_TESTS: readonly string[] = [
  `${STORES}/postgres/migrate.test.ts`,
  ...POSTGRES_TESTS.filter((path) => path !== `${STORES}/postgres`),
];

/** Tests of streams, scripts, leases, caches and published messages; the last one empties the server. */
export const REDIS_TESTS: readonly string[] = [
  `${STORES}/redis.test.ts`,
  "test/integration/egress",
  "test/integration/engine/breakers.test.ts",
  "test/integration/engine/learned-behaviour",
  `${FEATURES}/accounts/attempt-counter-sql.test.ts`,
  `${FEATURES}/auth`,
  `${FEATURES}/bulk/schedule`,
  `${FEATURES}/rate-limit`,
  `${FEATURES}/verify`,
  "test/integration/operator/reclassify.test.ts",
  JOB,
  "test/scenario/bulk/bulk-redis-loss.test.ts",
];

/** Uploads in parts, range reads, streams, deletion, grants. */
export const OBJECT_TESTS: readonly string[] = [
  `${STORES}/objects`,
  `${FEATURES}/uploads`,
  `${FEATURES}/bulk/jobs/removal.test.ts`,
  `${FEATURES}/bulk/results/results.test.ts`,
  JOB,
];
