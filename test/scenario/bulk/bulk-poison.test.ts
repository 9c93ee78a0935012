import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { ended, ledgerState, resultLines, submitted } from "../../support/bulk.ts";
import {
  type BulkScenario,
  openBulkScenario,
  retired,
  streamEmpties,
  usedOf,
} from "../../support/bulk-scenario.ts";
import { testObjects } from "../../support/embedded.ts";

/** Chunks that bring their workers down, or fail by themselves, each time: they are given up, and the job goes on. */
let scenario: BulkScenario;

before(async () => {
  scenario = await openBulkScenario();
});
after(() => scenario.close());

const OTHERS = 50;
const { rowsPerChunk, deliveries } = LIMITS.bulk;

/** A job of two chunks, the first of which was started `times` before. */
async function begunBefore(tag: string, times: number): Promise<{ id: string; emails: string[] }> {
  const emails = Array.from({ length: rowsPerChunk + OTHERS }, (_, i) => `exists-${tag}${i}@plain.test`);
  // Another chunk repeats a row of it.
  emails[rowsPerChunk + OTHERS - 1] = emails[7] ?? "";
  const { id } = await submitted(scenario.api, scenario.team.liveKey, emails);
  await scenario.deployment.sql`
    update job_tasks set deliveries = ${times} where job_id = ${id} and number = 0`;
  return { id, emails };
}

async function assertGivenUp(
  { id, emails }: Awaited<ReturnType<typeof begunBefore>>,
  used: number,
): Promise<void> {
  const { api, team, redis, deployment } = scenario;
  const done = await ended(api, team.liveKey, id, 240_000);
  assert.equal(done.status, "completed", JSON.stringify(done.error));
  const valid = OTHERS - 1;
  assert.deepEqual(done.verdicts, { valid, invalid: 0, risky: 0, unknown: rowsPerChunk + 1 });
  const lines = await resultLines(api, team.liveKey, id);
  assert.deepEqual(
    lines.map(({ input, verdict, reason }) => [input, verdict, reason]),
    emails.map((email, i) => {
      const isGivenUp = i < rowsPerChunk || i === emails.length - 1;
      return isGivenUp ? [email, "unknown", "internal_error"] : [email, "valid", "accepted_mailbox"];
    }),
  );
  assert.deepEqual(await ledgerState(deployment, team.id), { used: used + valid, held: 0, leased: 0 });
  await streamEmpties(scenario);
  const dead = await redis.client.xrange("rcpt:{bulk}:dead", "-", "+");
  const noted = dead.map(([, fields]) => fields.join(" ")).filter((text) => text.includes(id));
  assert.deepEqual(noted, [`job ${id} number 0 deliveries ${deliveries + 1}`]);
}

describe("a chunk", () => {
  it("that was begun as often as may be is given up: its rows are unknown and free", async () => {
    const used = await usedOf(scenario);
    const job = await begunBefore("gone", deliveries);
    const worker = await scenario.startWorker();
    await assertGivenUp(job, used);
    await retired(worker);
  });

  it("that fails by itself each time is given up too", async () => {
    const { sql } = scenario.deployment;
    const used = await usedOf(scenario);
    const job = await begunBefore("fails", deliveries - 2);
    // Makes storing the chunk's outcome fail.
    await sql.unsafe(`
      create function refuse_chunk() returns trigger language plpgsql as $$ begin
        raise exception 'not this one';
      end $$;
      create trigger refused before update on job_tasks for each row
        when (new.job_id = '${job.id}' and new.number = 0 and new.state = 'done' and new.deliveries <= ${deliveries})
        execute function refuse_chunk();`);
    const worker = await scenario.startWorker();
    await assertGivenUp(job, used);
    await sql.unsafe("drop trigger refused on job_tasks; drop function refuse_chunk()");
    await retired(worker);
  });
});

describe("a job whose objects are gone", () => {
  it("fails: nothing is charged", async () => {
    const { api, team, deployment } = scenario;
    const used = await usedOf(scenario);
    const { id } = await submitted(api, team.liveKey, ["exists@plain.test"]);
    // A bucket where nothing is.
    const { bucket: S3_BUCKET } = await testObjects();
    const worker = await scenario.startWorker({ S3_BUCKET });
    const done = await ended(api, team.liveKey, id);
    assert.deepEqual([done.status, done.error?.code, done.results], ["failed", "objects_missing", null]);
    assert.deepEqual(await ledgerState(deployment, team.id), { used, held: 0, leased: 0 });
    const events = await deployment.sql<
      { type: string }[]
    >`select type from events where data->>'id' = ${id}`;
    assert.deepEqual(
      events.map(({ type }) => type),
      ["bulk.failed"],
    );
    await retired(worker);
  });
});
