import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { jobOf, submitted } from "../../support/bulk.ts";
import { type BulkScenario, openBulkScenario, submitList } from "../../support/bulk-scenario.ts";
import type { Team } from "../../support/service.ts";
import { until } from "../../support/until.ts";

/**
 * A small job beside a big one of another team: its tasks (analysis, chunk, assembly) overtake tasks that are not
 * emitted yet. Chunks of the big job end one at a time, when the test permits it. So the test measures the order of
 * tasks, not the machine's speed.
 */
let scenario: BulkScenario;
let big: string;
/** Chunks of the big job that may still end. */
let permits = 0;

const CHUNKS = 120;
const WITHIN_MS = 120_000;
/** One worker is there. */
const WINDOW = Math.max(LIMITS.bulk.windowMin, 2 * LIMITS.bulk.tasksAtOnce);

before(async () => {
  scenario = await openBulkScenario();
  const { sql } = scenario.deployment;
  // Each task that was ever started, in order.
  await sql.unsafe(`
    create table begun (id serial, job_id text, number integer, primary key (job_id, number));
    create function note_begun() returns trigger language plpgsql as $$ begin
      insert into begun (job_id, number) values (new.job_id, new.number) on conflict do nothing;
      return null;
    end $$;
    create trigger noted after update on job_tasks for each row
      when (new.deliveries > old.deliveries) execute function note_begun();`);
  const lines = Array.from({ length: CHUNKS * LIMITS.bulk.rowsPerChunk - 1 }, (_, i) => `no address ${i}`);
  // A list without one address makes no job.
  big = await submitList(scenario, { csv: `email\n${lines.join("\n")}\nexists-last@plain.test\n` });
  scenario.storage.setFaults(({ method, path }) => {
    if (method !== "PUT" || !path.includes(`/${big}/shards/`)) return null;
    if (permits === 0) return { status: 503 };
    permits -= 1;
    return null;
  });
  await scenario.startWorker();
});
after(async () => {
  await scenario.close();
});

async function begunOf(jobId: string | null): Promise<number> {
  const [row] = await scenario.deployment.sql<[{ count: number }]>`
    select count(*)::int as count from begun where ${jobId}::text is null or job_id = ${jobId}`;
  return row.count;
}

/** Chunks of the big job that have ended: one that was handed back, as it could not be stored for long, lets another begin. */
async function endedOfBig(): Promise<number> {
  const [row] = await scenario.deployment.sql<[{ count: number }]>`
    select count(*)::int as count from job_tasks where job_id = ${big} and kind = 'chunk' and state = 'done'`;
  return row.count;
}

/** The window of the big job is full, and as much of it is in hand as can be. */
async function bigStands(): Promise<void> {
  await until(
    "the window of the big job is full",
    async () => {
      const [row] = await scenario.deployment.sql<[{ emitted: number; inHand: number }]>`
        select count(*)::int as emitted, count(*) filter (where b.job_id is not null)::int as "inHand"
        from job_tasks t left join begun b on b.job_id = t.job_id and b.number = t.number
        where t.job_id = ${big} and t.state = 'emitted' and t.kind = 'chunk'`;
      // More when chunks were handed back.
      return row.emitted === WINDOW && row.inHand >= LIMITS.bulk.tasksAtOnce;
    },
    WITHIN_MS,
  );
}

/** Lets chunks of the big job end, one at a time, while a task of the small one stands in line. */
async function letPass(small: string): Promise<void> {
  const { sql } = scenario.deployment;
  for (;;) {
    const step = await until(
      "the small job is over, or has a task in line",
      async () => {
        const [row] = await sql<[{ over: boolean; inLine: number }]>`
          select completed_at is not null as over, (
            select count(*)::int from job_tasks t where t.job_id = j.id and t.state = 'emitted'
              and not exists (select from begun b where b.job_id = t.job_id and b.number = t.number)
          ) as "inLine" from jobs j where id = ${small}`;
        return row.over ? "over" : row.inLine > 0 && "in line";
      },
      WITHIN_MS,
    );
    if (step === "over") return;
    const begun = await begunOf(null);
    // One may be left: a chunk that is handed back lets another begin without it.
    permits = 1;
    await until("another task is begun", async () => (await begunOf(null)) > begun, WITHIN_MS);
  }
}

const ROWS = 100;

describe("with a big job under way, a small one of another team", () => {
  const emails = (tag: string) => Array.from({ length: ROWS }, (_, i) => `exists-${tag}${i}@plain.test`);
  const ways: Record<string, (team: Team) => Promise<string>> = {
    inline: async ({ liveKey }) => (await submitted(scenario.api, liveKey, emails("inline"))).id,
    uploaded: (team) => submitList({ ...scenario, team }, { csv: `${emails("uploaded").join("\n")}\n` }),
  };
  for (const [way, submit] of Object.entries(ways))
    it(`that is ${way} waits behind one window of it at most`, async (t) => {
      const { api, deployment } = scenario;
      const team = await deployment.team("enterprise");
      await bigStands();
      const before = await endedOfBig();
      const id = await submit(team);
      await letPass(id);
      const ended = (await endedOfBig()) - before;
      t.diagnostic(`${ended} chunks of a window of ${WINDOW}`);
      assert.ok(ended <= WINDOW, `${ended} chunks ended meanwhile`);
      const job = await jobOf(api, team.liveKey, id);
      assert.deepEqual([job.status, job.verdicts.valid], ["completed", ROWS]);
      assert.equal((await jobOf(api, scenario.team.liveKey, big)).status, "processing");
    });
});
