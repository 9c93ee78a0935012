import { randomBytes } from "node:crypto";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { Redis } from "ioredis";
import postgres from "postgres";

/** A variable that `npm test` sets for every test file. */
function given(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run this file through npm test -- FILE`);
  return value;
}

function randomName(): string {
  return `test_${randomBytes(8).toString("hex")}`;
}

export interface TestDatabase {
  url: string;
  /** Removes the database, also while clients are connected to it. */
  drop(): Promise<void>;
}

/** A new, empty database of this test run's PostgreSQL, or of the one at `admin`: URL of a database there. */
export function createTestDatabase(admin?: string): Promise<TestDatabase> {
  return createDatabase(admin ?? given("RCPT_TEST_DATABASE_URL"));
}

/**
 * A new database that the caller migrates. In this test run's PostgreSQL it is a copy of the run's migrated template,
 * so that nothing is left to migrate.
 */
export function createDatabaseToMigrate(admin?: string): Promise<TestDatabase> {
  return admin === undefined
    ? createDatabase(given("RCPT_TEST_DATABASE_URL"), process.env.RCPT_TEST_TEMPLATE)
    : createDatabase(admin);
}

async function createDatabase(admin: string, template = "template1"): Promise<TestDatabase> {
  const name = randomName();
  const asAdmin = async (statement: string) => {
    const sql = postgres(admin, { max: 1, onnotice: () => undefined });
    await sql.unsafe(statement).finally(() => sql.end());
  };
  await asAdmin(`create database ${name} template ${template}`);
  const url = new URL(admin);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => asAdmin(`drop database if exists ${name} with (force)`) };
}

/**
 * URL of an empty logical database of this run's Redis, given out once. Published messages are not separated: Redis
 * channels are common to all its databases.
 */
export async function testRedisUrl(): Promise<string> {
  const url = new URL(given("RCPT_TEST_REDIS_URL"));
  const counter = new Redis(url.href, { lazyConnect: true });
  try {
    await counter.connect();
    url.pathname = `/${await counter.incr("test_databases")}`;
    return url.href;
  } finally {
    counter.disconnect();
  }
}

export interface TestObjects {
  endpoint: string;
  region: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
}

/** A new, empty bucket in this run's object storage. It is removed with the run. */
export async function testObjects(): Promise<TestObjects> {
  const objects = {
    endpoint: given("RCPT_TEST_S3_ENDPOINT"),
    region: given("RCPT_TEST_S3_REGION"),
    bucket: randomName().replace("_", "-"),
    accessKeyId: given("RCPT_TEST_S3_ACCESS_KEY_ID"),
    secretAccessKey: given("RCPT_TEST_S3_SECRET_ACCESS_KEY"),
  };
  const { bucket, endpoint, region, ...credentials } = objects;
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: bucket })).finally(() => client.destroy());
  return objects;
}
