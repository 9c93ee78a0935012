import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findDeferredGroups } from "../../../../../src/features/bulk/jobs/deferred-groups.ts";
import { newId } from "../../../../../src/platform/ids.ts";
import type { Database } from "../../../../../src/stores/postgres/postgres.ts";
import { inlineJob, queueChunks } from "../../../../support/bulk-tasks.ts";
import { newTeam, useDatabase } from "../../../../support/store.ts";

/** Rows of a job that wait, by reason and by site. */

const { sql } = await useDatabase();

async function newJob(chunks = 1): Promise<string> {
  const { teamId } = await newTeam(sql, "enterprise");
  const id = newId("job");
  const ranges = Array.from({ length: chunks }, (_, n) => ({
    firstRow: 8 * n,
    rows: 8,
    firstByte: 7,
    bytes: 80,
    repeatsByte: 3,
    repeatsBytes: 5,
  }));
  await queueChunks(sql, inlineJob(teamId, id), ranges, { rows: 8 * chunks, duplicates: 0, malformed: 0 });
  return id;
}

interface Retry {
  reason: string;
  site: string;
  rows: number;
  state?: "ready" | "emitted" | "done";
  due?: string;
}

/** @param first number of the first of them */
async function addRetries(jobId: string, retries: readonly Retry[], first = 1): Promise<void> {
  const rows = retries.map(({ state = "ready", due = "2026-01-02T00:00:00Z", ...retry }, i) => ({
    ...retry,
    state,
    due,
    number: first + i,
  }));
  await sql`
    insert into job_tasks (job_id, number, kind, chunk, row_count, row_set, site, egress, reason, due_at, state, emitted_at)
    select ${jobId}, r.number, 'retry', 0, r.rows, '\\x01', r.site, 'e', r.reason, r.due, r.state,
      case r.state when 'emitted' then now() end
    from jsonb_to_recordset(${sql.json(rows)}) as r (number integer, rows integer, site text, reason text, due timestamptz, state text)`;
}

describe("rows of a job that wait", () => {
  it("are counted by reason and site, most of them first, with the first attempt of each", async () => {
    const id = await newJob();
    const other = await newJob();
    await addRetries(other, [{ reason: "busy", site: "a.example", rows: 100 }]);
    assert.deepEqual(await findDeferredGroups(sql, id, 50), { data: [], rows: 0 });
    await addRetries(id, [
      { reason: "busy", site: "a.example", rows: 3, state: "emitted" },
      { reason: "busy", site: "a.example", rows: 4, due: "2026-01-01T12:00:00Z" },
      { reason: "greylisted", site: "a.example", rows: 9 },
      { reason: "greylisted", site: "", rows: 2 },
      { reason: "greylisted", site: "b.example", rows: 50, state: "done" },
    ]);
    const next = "2026-01-02T00:00:00.000Z";
    const all = [
      { reason: "greylisted", site: "a.example", rows: 9, next_attempt_at: next },
      { reason: "busy", site: "a.example", rows: 7, next_attempt_at: "2026-01-01T12:00:00.000Z" },
      { reason: "greylisted", site: null, rows: 2, next_attempt_at: next },
    ];
    assert.deepEqual(await findDeferredGroups(sql, id, 50), { data: all, rows: 18 });
    assert.deepEqual(await findDeferredGroups(sql, id, 2), { data: all.slice(0, 2), rows: 18 });
  });

  it("are found by an index, whatever else the job and others have", async () => {
    const id = await newJob();
    await sql`
      insert into job_tasks (job_id, number, kind, row_count) select ${id}, n, 'chunk', 8 from generate_series(1, 20000) n`;
    await sql`
      insert into job_tasks (job_id, number, kind, row_count, state, chunk, row_set, due_at, reason)
      select ${await newJob()}, n, 'retry', 8, 'ready', 0, '\\x01', now(), 'busy' from generate_series(1, 20000) n`;
    await addRetries(id, [{ reason: "busy", site: "a.example", rows: 4 }], 30_000);
    await sql`analyze job_tasks`;
    const plan: string[] = [];
    const explaining = async (template: TemplateStringsArray, ...values: string[]) => {
      const strings = Object.assign([`explain analyze ${template[0]}`, ...template.slice(1)], {
        raw: template.raw,
      });
      for (const row of await sql<{ "QUERY PLAN": string }[]>(strings, ...values))
        plan.push(row["QUERY PLAN"]);
      return [];
    };
    await findDeferredGroups(explaining as unknown as Database, id, 50);
    const scan = plan.find((line) => line.includes("job_tasks_outstanding")) ?? assert.fail(plan.join("\n"));
    assert.match(scan, /rows=1 loops=1|rows=1\.00 loops=1/);
    assert.doesNotMatch(plan.join("\n"), /Seq Scan|Rows Removed/);
  });
});
