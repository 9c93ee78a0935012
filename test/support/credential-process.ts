import type { TestContext } from "node:test";
import { type AuthBus, createAuthBus } from "../../src/features/auth/auth-bus.ts";
import { createAuthChanges } from "../../src/features/auth/auth-changes.ts";
import { type Authenticator, createAuthenticator } from "../../src/features/auth/authenticate.ts";
import { type ChangePublisher, createChangePublisher } from "../../src/features/auth/publish.ts";
import {
  createTeamDomains,
  type TeamDomains,
  type TeamDomainsReader,
} from "../../src/features/auth/team-domains.ts";
import { type Credentials, createCredentials } from "../../src/features/identity/credentials.ts";
import { createClientLimiter } from "../../src/features/rate-limit/clients.ts";
import { createMetrics } from "../../src/platform/telemetry/metrics.ts";
import { createPostgres } from "../../src/stores/postgres/postgres.ts";
import { createFakeClock, type FakeClock } from "./fake-clock.ts";
import { openGatedRedis, silentLog } from "./store.ts";
import { createTcpGate, type TcpGate, throughGate } from "./tcp-gate.ts";

/** Statements that were sent, and rows of lists that came. */
export interface Reads {
  credentials: number;
  listPages: number;
  listRows: number;
  listDifferences: number;
}

function countingCredentials(credentials: Credentials, reads: Reads): Credentials {
  return {
    ...credentials,
    find(hash) {
      reads.credentials += 1;
      return credentials.find(hash);
    },
  };
}

function countingDomains(domains: TeamDomainsReader, reads: Reads): TeamDomainsReader {
  const counted = (read: TeamDomains) => {
    reads.listRows += read.blocklist.length + read.disposable.length;
    return read;
  };
  return {
    async page(...asked) {
      reads.listPages += 1;
      const page = await domains.page(...asked);
      counted(page.lists);
      return page;
    },
    async named(...asked) {
      reads.listDifferences += 1;
      return counted(await domains.named(...asked));
    },
  };
}

export interface Process {
  authenticator: Authenticator;
  publisher: ChangePublisher;
  bus: AuthBus;
  clock: FakeClock;
  reads: Reads;
  redis: TcpGate;
  postgres: TcpGate;
}

/** URLs of the stores; a gate may stand before each. */
export interface Stores {
  databaseUrl: string;
  redisUrl: string;
}

/** The authentication of one process, with a gate before each store. It polls only when its clock is advanced. */
export async function startProcess(t: TestContext, { databaseUrl, redisUrl }: Stores): Promise<Process> {
  const reads = { credentials: 0, listPages: 0, listRows: 0, listDifferences: 0 };
  const redisGate = await createTcpGate(redisUrl);
  t.after(() => redisGate.close());
  const postgresGate = await createTcpGate(databaseUrl);
  t.after(() => postgresGate.close());
  const redis = await openGatedRedis(t, redisUrl, redisGate);
  const url = throughGate(databaseUrl, postgresGate);
  const own = createPostgres({ url, maxConnections: 3, applicationName: "rcpt-test" });
  t.after(() => own.end({ timeout: 0 }));
  const clock = createFakeClock();
  const bus = createAuthBus(redis, silentLog);
  const authenticator = createAuthenticator({
    credentials: countingCredentials(createCredentials(own), reads),
    domains: countingDomains(createTeamDomains(own), reads),
    changes: createAuthChanges(own),
    bus,
    clients: createClientLimiter(),
    clock,
    log: silentLog,
    metrics: createMetrics(),
  });
  await authenticator.start();
  t.after(() => authenticator.stop());
  const publisher = createChangePublisher({
    sql: own,
    bus,
    log: silentLog,
    invalidate: authenticator.invalidate.bind(authenticator),
  });
  return { authenticator, publisher, bus, clock, reads, redis: redisGate, postgres: postgresGate };
}
