import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { createJobFollowers } from "../../../../../src/features/bulk/jobs/job-events.ts";
import type { JobRow } from "../../../../../src/features/bulk/jobs/job-sql.ts";
import { type BulkJob, renderJob } from "../../../../../src/features/bulk/jobs/job-view.ts";
import { AppError } from "../../../../../src/platform/errors.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { testLog as silentLog } from "../../../../support/log.ts";

const { followEveryMs, followFailures, heartbeatMs, teamFollowers, followers } = LIMITS.results;

function rowOf(id: string, change: Partial<JobRow> = {}): JobRow {
  return {
    id,
    team_id: "team_1",
    livemode: true,
    status: "processing",
    source: { type: "inline" },
    metadata: {},
    webhook_url: null,
    rows_total: 10,
    duplicates: 0,
    malformed: 0,
    empty: 0,
    deferred: 0,
    deferred_until: null,
    day: null,
    results_key: null,
    error_code: null,
    error_detail: null,
    error_candidates: null,
    created_at: new Date(0),
    started_at: new Date(0),
    completed_at: null,
    valid: 0,
    invalid: 0,
    risky: 0,
    unknown: 0,
    charged: 0,
    ...change,
  };
}

function setUp() {
  const clock = createFakeClock();
  /** As Postgres has them. */
  const jobs = new Map<string, JobRow>();
  const looks: string[][] = [];
  const state = { away: false, unreadable: "" };
  const follow = createJobFollowers({
    async jobsOf(ids) {
      looks.push([...ids]);
      if (state.away || ids.includes(state.unreadable)) throw new Error("away");
      return ids.flatMap((id) => jobs.get(id) ?? []);
    },
    render: (row) => renderJob(row, { publicUrl: null, retentionDays: 30 }, clock.now()),
    clock,
    log: silentLog,
  });
  return { clock, jobs, looks, state, follow };
}

interface ReceivedEvent {
  event: string;
  id: string;
  job: BulkJob;
}

/** The events that a follower receives, parsed as an EventSource does. */
function listen(pieces: AsyncIterable<Uint8Array>) {
  const received: ReceivedEvent[] = [];
  const state = { comments: 0, ended: false };
  const done = (async () => {
    for await (const piece of pieces)
      for (const block of Buffer.from(piece).toString().split("\n\n").slice(0, -1)) {
        const fields = new Map(block.split("\n").map((line) => line.split(/: (.*)/s, 2) as [string, string]));
        if (fields.has("")) state.comments += 1;
        else
          received.push({
            event: fields.get("event") ?? "",
            id: fields.get("id") ?? "",
            job: JSON.parse(fields.get("data") ?? "null"),
          });
      }
    state.ended = true;
  })();
  return { received, state, done };
}

describe("the followers of a job", () => {
  it("hear how it stands, what changes, and its end", async () => {
    const { clock, jobs, follow } = setUp();
    const row = rowOf("job_1");
    jobs.set(row.id, row);
    const { received, state, done } = listen(follow.follow(row).open(new AbortController().signal));
    await clock.advanceAsync(followEveryMs);
    await clock.advanceAsync(followEveryMs);
    jobs.set(row.id, rowOf("job_1", { valid: 3 }));
    await clock.advanceAsync(followEveryMs);
    jobs.set(row.id, rowOf("job_1", { valid: 10, status: "completed", completed_at: new Date(5) }));
    await clock.advanceAsync(followEveryMs);
    await done;
    assert.deepEqual(
      received.map(({ event, job }) => [event, job.status, job.rows.processed]),
      [
        ["job", "processing", 0],
        ["progress", "processing", 3],
        ["end", "completed", 10],
      ],
    );
    assert.equal(received.at(-1)?.id, "end");
    assert.ok(state.ended);
  });

  it("of one that has ended hear so at once", async () => {
    const { follow } = setUp();
    const row = rowOf("job_1", { status: "cancelled", completed_at: new Date(5) });
    const { received, done } = listen(follow.follow(row).open(new AbortController().signal));
    await done;
    assert.deepEqual(
      received.map(({ event }) => event),
      ["job", "end"],
    );
  });

  it("share one read a second, and make none without a follower", async () => {
    const { clock, jobs, looks, follow } = setUp();
    for (const id of ["job_1", "job_2"]) jobs.set(id, rowOf(id));
    const controls = ["job_1", "job_1", "job_2"].map((id) => {
      const control = new AbortController();
      const { done } = listen(follow.follow(rowOf(id)).open(control.signal));
      return { control, done };
    });
    await clock.advanceAsync(followEveryMs);
    assert.deepEqual(looks, [["job_1", "job_2"]]);
    for (const { control, done } of controls) {
      control.abort();
      await done;
    }
    await clock.advanceAsync(followEveryMs);
    await clock.advanceAsync(followEveryMs);
    assert.equal(looks.length, 1);
  });

  it("hear a comment when nothing happens, also while Postgres is away, and go on after", async () => {
    const { clock, jobs, state, follow } = setUp();
    jobs.set("job_1", rowOf("job_1"));
    const control = new AbortController();
    const follower = listen(follow.follow(rowOf("job_1")).open(control.signal));
    state.away = true;
    for (let ms = 0; ms <= heartbeatMs; ms += followEveryMs) await clock.advanceAsync(followEveryMs);
    assert.equal(follower.state.comments, 1);
    state.away = false;
    jobs.set("job_1", rowOf("job_1", { risky: 1 }));
    await clock.advanceAsync(followEveryMs);
    assert.deepEqual(
      follower.received.map(({ event }) => event),
      ["job", "progress"],
    );
    control.abort();
    await follower.done;
  });

  it("hear of theirs while another job cannot be read", async () => {
    const { clock, jobs, state, follow } = setUp();
    const control = new AbortController();
    const followed = ["job_1", "job_2", "job_3"].map((id) =>
      listen(follow.follow(rowOf(id)).open(control.signal)),
    );
    for (const id of ["job_1", "job_2", "job_3"]) jobs.set(id, rowOf(id, { valid: 1 }));
    state.unreadable = "job_2";
    await clock.advanceAsync(followEveryMs);
    assert.deepEqual(
      followed.map(({ received }) => received.length),
      [2, 1, 2],
    );
    control.abort();
    await Promise.all(followed.map(({ done }) => done));
  });

  it("make no further read for each when none can be read", async () => {
    const { clock, state, looks, follow } = setUp();
    const control = new AbortController();
    const followed = Array.from({ length: 5 }, (_, i) =>
      listen(follow.follow(rowOf(`job_${i}`, { team_id: `team_${i}` })).open(control.signal)),
    );
    state.away = true;
    await clock.advanceAsync(followEveryMs);
    assert.equal(looks.length, 1 + followFailures);
    control.abort();
    await Promise.all(followed.map(({ done }) => done));
  });

  it("of one that is removed hear nothing more", async () => {
    const { clock, jobs, follow } = setUp();
    const { received, done } = listen(follow.follow(rowOf("job_1")).open(new AbortController().signal));
    jobs.delete("job_1");
    await clock.advanceAsync(followEveryMs);
    await done;
    assert.deepEqual(
      received.map(({ event }) => event),
      ["job"],
    );
  });

  it("that read slowly hear of the newest state only", async () => {
    const { clock, jobs, follow } = setUp();
    jobs.set("job_1", rowOf("job_1"));
    const control = new AbortController();
    const pieces = follow.follow(rowOf("job_1")).open(control.signal)[Symbol.asyncIterator]();
    await pieces.next();
    for (const valid of [1, 2, 3]) {
      jobs.set("job_1", rowOf("job_1", { valid }));
      await clock.advanceAsync(followEveryMs);
    }
    const { value } = await pieces.next();
    assert.match(String(Buffer.from(value)), /"processed":3/);
    control.abort();
    assert.equal((await pieces.next()).done, true);
  });

  it("are bounded, of a team and in all", () => {
    const { follow } = setUp();
    const own = Array.from({ length: teamFollowers }, () => follow.follow(rowOf("job_1")));
    const refused = (code: string) => (error: unknown) => error instanceof AppError && error.code === code;
    assert.throws(() => follow.follow(rowOf("job_1")), refused("rate_limited"));
    for (let i = own.length; i < followers; i++) follow.follow(rowOf("job_2", { team_id: `team_${i}` }));
    assert.throws(() => follow.follow(rowOf("job_2", { team_id: "team_x" })), refused("overloaded"));
    own[0]?.release();
    follow.follow(rowOf("job_2", { team_id: "team_x" }));
  });

  it("are bounded apart for test keys, so that they leave live ones theirs", () => {
    const { follow } = setUp();
    const test = rowOf("job_1", { livemode: false });
    for (let i = 0; i < teamFollowers; i++) follow.follow(test);
    assert.throws(() => follow.follow(test), { code: "rate_limited" });
    follow.follow(rowOf("job_2", { livemode: true })).release();
  });
});
