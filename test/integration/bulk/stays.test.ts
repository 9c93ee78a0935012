import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createControl } from "../../../src/bulk/control.ts";
import type { RowAnswer, RowVerifier, RowWaitPolicy } from "../../../src/bulk/row-verifier.ts";
import { createStays } from "../../../src/bulk/stays.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import type { Database } from "../../../src/store/postgres.ts";
import { ALL_VALID, answered, createRunner, queueInline } from "../../support/bulk-tasks.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createMemoryObjects } from "../../support/memory-objects.ts";
import { createClosing, openDatabase } from "../../support/store.ts";

/** Chunks most of whose rows find their sites busy, in a worker that may stay for them. */
const closing = createClosing();
let sql: Database;
before(async () => {
  sql = (await openDatabase(closing)).sql;
});
after(closing.close);

const PER_SITE = LIMITS.bulk.retryRowsPerSite;
const emails = ["a.example", "b.example"].flatMap((site) =>
  Array.from({ length: PER_SITE }, (_, i) => `user${i}@${site}`),
);
const siteOf = (email: string) => email.slice(email.indexOf("@") + 1);

function busy(email: string): RowAnswer {
  const last = () => answered(email, "unknown");
  return { wait: { reason: "busy", site: siteOf(email), retryAfterMs: null, parked: false, last } };
}

/** @param inLine what comes of a row that is asked for in line */
async function setUp(inLine: (email: string) => RowAnswer) {
  const objects = createMemoryObjects();
  const { id } = await queueInline(sql, objects, emails);
  const asked: { manner: RowWaitPolicy; rows: number }[] = [];
  const rows: RowVerifier = {
    ...ALL_VALID,
    verify: async (some, _ask, manner) => {
      asked.push({ manner, rows: some.length });
      return some.map(manner.kind === "chunk" ? busy : inLine);
    },
  };
  const stays = createStays(createFakeClock(), 60_000);
  const { run } = createRunner({ sql, objects, rows, stays });
  /** How many more of the job may stay. */
  const left = () => {
    const begun = Array.from({ length: LIMITS.bulk.staysPerJob }, (_, i) => stays.begin(id, [`${i}`], 1));
    for (const stay of begun) stay?.end();
    return begun.filter((stay) => stay !== null).length;
  };
  const tasks = () => sql`select kind, state, row_count from job_tasks where job_id = ${id} order by number`;
  return { id, run, stays, asked, tasks, objects, left };
}

const valid = (email: string): RowAnswer => ({ verified: answered(email, "valid") });

describe("a chunk that stays for its rows", () => {
  it("asks them in line at their sites, without its place, and leaves no retry", async () => {
    const { id, run, asked, tasks } = await setUp(valid);
    const control = createControl();
    await run(id, 0, control);
    assert.deepEqual(
      asked.map(({ manner, rows }) => [manner.kind, manner.kind === "retry" ? manner.site : "", rows]),
      [
        ["chunk", "", 2 * PER_SITE],
        ["retry", "a.example", PER_SITE],
        ["retry", "b.example", PER_SITE],
      ],
    );
    assert.equal(control.hasSlot(), false);
    const [job] = await sql`select valid, deferred from jobs where id = ${id}`;
    assert.deepEqual([job?.valid, job?.deferred], [emails.length, 0]);
    assert.deepEqual(
      (await tasks()).map(({ kind, state }) => [kind, state]),
      [
        ["chunk", "done"],
        ["assembly", "ready"],
      ],
    );
  });

  it("makes retries of those that have no answer when it leaves", async () => {
    const { id, run, tasks } = await setUp((email) =>
      siteOf(email) === "a.example" ? valid(email) : busy(email),
    );
    await run(id, 0);
    assert.deepEqual(
      (await tasks()).map(({ kind, row_count }) => [kind, row_count]),
      [
        ["chunk", emails.length],
        ["retry", PER_SITE],
      ],
    );
    const [job] = await sql`select valid, deferred from jobs where id = ${id}`;
    assert.deepEqual([job?.valid, job?.deferred], [PER_SITE, PER_SITE]);
  });

  it("counts until its shard is written, and where it is not goes on without a place no more", async () => {
    const { id, run, asked, objects, left, tasks } = await setUp(valid);
    const { staysPerJob } = LIMITS.bulk;
    const { put } = objects;
    const seen: number[] = [];
    objects.put = async () => {
      seen.push(left());
      throw Object.assign(new Error("slow down"), { name: "TimeoutError" });
    };
    assert.equal(await run(id, 0), false);
    assert.deepEqual([seen, left(), asked.length], [[staysPerJob - 1], staysPerJob, 3]);
    objects.put = put;
    assert.equal(await run(id, 0), true);
    assert.equal(left(), staysPerJob);
    assert.deepEqual(
      (await tasks()).map(({ kind }) => kind),
      ["chunk", "assembly"],
    );
  });

  it("leaves for a task that has to be alone, and none stays till that is over", async () => {
    const stay = { asked: () => {}, leave: () => {} };
    const asked = new Promise<void>((resolve) => {
      stay.asked = resolve;
    });
    const left = new Promise<void>((resolve) => {
      stay.leave = resolve;
    });
    const objects = createMemoryObjects();
    const { id } = await queueInline(sql, objects, emails);
    const { id: poison } = await queueInline(sql, objects, emails);
    await sql`update job_tasks set deliveries = ${LIMITS.bulk.aloneFrom - 1} where job_id = ${poison}`;
    const order: string[] = [];
    const rows: RowVerifier = {
      ...ALL_VALID,
      verify: async (some, _ask, manner) => {
        order.push(manner.kind);
        if (manner.kind === "chunk") return some.map(order.length === 1 ? busy : valid);
        stay.asked();
        await left;
        return some.map(busy);
      },
    };
    const stays = createStays(createFakeClock(), 60_000);
    const leave = () => {
      stays.leave();
      stay.leave();
    };
    const { run } = createRunner({ sql, objects, rows, stays: { ...stays, leave } });
    const first = run(id, 0);
    await asked;
    assert.deepEqual(await Promise.all([first, run(poison, 0)]), [true, true]);
    assert.deepEqual(order, ["chunk", "retry", "retry", "chunk"]);
  });

  it("keeps its place and makes retries at once where none may stay any more", async () => {
    const { id, run, stays, asked, tasks } = await setUp(valid);
    stays.close();
    const control = createControl();
    await run(id, 0, control);
    assert.deepEqual([asked.length, control.hasSlot()], [1, true]);
    assert.deepEqual(
      (await tasks()).map(({ kind }) => kind),
      ["chunk", "retry", "retry"],
    );
  });
});
