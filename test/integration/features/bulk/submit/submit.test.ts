import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { effectiveLimits, type TierLimits } from "../../../../../src/config/tiers.ts";
import { deleteJob } from "../../../../../src/features/bulk/jobs/job-clearing.ts";
import { startAnalysis } from "../../../../../src/features/bulk/jobs/job-sql.ts";
import { startTask } from "../../../../../src/features/bulk/schedule/job-tasks.ts";
import { type AnalyseInline, analyseInline } from "../../../../../src/features/bulk/submit/source.ts";
import type { BulkInput } from "../../../../../src/features/bulk/submit/submit.ts";
import { createSubmitBulk } from "../../../../../src/features/bulk/submit/submit.ts";
import type { UploadSource, UploadSources } from "../../../../../src/features/bulk/submit/submit-file.ts";
import { createCheckKeptJobs } from "../../../../../src/features/bulk/submit/team-jobs.ts";
import type { Actor } from "../../../../../src/features/identity/actor.ts";
import { AppError } from "../../../../../src/platform/errors.ts";
import { newId } from "../../../../../src/platform/ids.ts";
import { systemClock } from "../../../../../src/platform/time/clock.ts";
import { ForbiddenObject } from "../../../../../src/stores/objects/object-streams.ts";
import type { Database } from "../../../../../src/stores/postgres/postgres.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { createMemoryObjects, type MemoryObjects } from "../../../../support/memory-objects.ts";
import { actorFor, newTeam, silentLog, useDatabase } from "../../../../support/store.ts";

/** Submissions that fail midway, or only seem to. */

const { sql } = await useDatabase();

async function newActor(limits: Partial<TierLimits> = {}): Promise<Actor> {
  const { teamId } = await newTeam(sql, "enterprise");
  return actorFor(teamId, {}, { tier: "enterprise", limits: effectiveLimits("enterprise", limits) });
}

interface Parts {
  database?: Database;
  objects?: MemoryObjects;
  uploads?: Partial<UploadSources>;
  analyse?: AnalyseInline;
}

function createSubmit(parts: Parts = {}) {
  const { database = sql, objects = createMemoryObjects(), uploads = {}, analyse = analyseInline } = parts;
  return createSubmitBulk({
    sql: database,
    storage: {
      objects,
      streams: objects.streams,
      bucket: "rcpt",
      uploads: { find: async () => UPLOAD, keep: async () => true, ...uploads },
    },
    analyseInline: analyse,
    clock: systemClock,
    log: silentLog,
    view: { publicUrl: null, retentionDays: 30 },
    webhooks: { privateAddresses: true },
    onQueued: () => undefined,
  });
}

const UPLOAD: UploadSource = { filename: "list.csv", key: "teams/t/uploads/u", etag: '"1"', bytes: 1_000 };
const TERMS = { options: { escapeFormulas: false }, withEvidence: false, metadata: {}, webhookUrl: null };
const INPUT: BulkInput = { ...TERMS, list: { type: "inline", emails: ["a@example.com"] } };
const upload = (uploadId: string): BulkInput => ({ ...TERMS, list: { type: "upload", uploadId } });
const object = (key: string, bucket = "acme"): BulkInput => ({ ...TERMS, list: { type: "s3", bucket, key } });
const refusedAs = (code: string) => (error: AppError) => error.code === code;

/** An upload that a job may name. */
async function newUpload(teamId: string): Promise<string> {
  const id = newId("upl");
  await sql`
    insert into uploads (id, team_id, filename, object_key, status, expires_at)
    values (${id}, ${teamId}, 'list.csv', ${UPLOAD.key}, 'stored', now())`;
  return id;
}

async function grant(teamId: string, prefix = "in/"): Promise<void> {
  await sql`insert into s3_grants (team_id, bucket, prefix) values (${teamId}, 'acme', ${prefix})`;
}

async function jobsOf(teamId: string) {
  return sql<{ id: string; status: string }[]>`select id, status from jobs where team_id = ${teamId}`;
}

async function* pieces(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

const lost = () => Object.assign(new Error("connection lost"), { code: "CONNECTION_CLOSED" });

/** A database whose transaction number `failing` commits, but reports a failure. */
function losingTheAnswer(failing: number): Database {
  let transactions = 0;
  return new Proxy(sql, {
    get(target, property, receiver) {
      if (property !== "begin") return Reflect.get(target, property, receiver);
      return async (...transaction: Parameters<Database["begin"]>) => {
        const answer = await target.begin(...transaction);
        transactions += 1;
        if (transactions === failing) throw lost();
        return answer;
      };
    },
  });
}

async function heldOf(teamId: string): Promise<number[]> {
  const rows = await sql<{ units: number }[]>`select units from quota_holds where team_id = ${teamId}`;
  return rows.map(({ units }) => units);
}

describe("a submission", () => {
  it("whose job was queued is answered with it, also when the answer to the commit was lost", async () => {
    const actor = await newActor();
    const job = await createSubmit({ database: losingTheAnswer(2) })(actor, INPUT);
    assert.equal(job.status, "queued");
    const jobs = await sql`select id from jobs where team_id = ${actor.teamId} and removed_at is null`;
    assert.deepEqual(
      jobs.map(({ id }) => id),
      [job.id],
    );
    assert.deepEqual(await heldOf(actor.teamId), [1]);
  });

  it("whose source cannot be stored is refused, and holds nothing", async () => {
    const actor = await newActor();
    const objects = { ...createMemoryObjects(), put: () => Promise.reject(lost()) };
    await assert.rejects(
      createSubmit({ objects })(actor, INPUT),
      (error: AppError) => error.code === "unavailable",
    );
    assert.deepEqual(await heldOf(actor.teamId), []);
  });

  it("of inline addresses with too many jobs under way is refused before they are analysed", async () => {
    const actor = await newActor();
    const id = await newUpload(actor.teamId);
    for (let i = 0; i < LIMITS.bulk.activeJobs; i++) await createSubmit()(actor, upload(id));
    let analysed = 0;
    const submit = createSubmit({
      analyse: (emails, options) => {
        analysed += 1;
        return analyseInline(emails, options);
      },
    });
    await assert.rejects(submit(actor, INPUT), refusedAs("limit_reached"));
    assert.equal(analysed, 0);
    await submit({ ...actor, livemode: false }, INPUT);
    assert.equal(analysed, 1);
  });
});

describe("a submission of a file", () => {
  it("is a job and its analysis, with all that was asked for", async () => {
    const actor = await newActor();
    const id = await newUpload(actor.teamId);
    const options = { emailColumn: "mail", hasHeader: true, delimiter: ";", escapeFormulas: true };
    const job = await createSubmit()(actor, { ...upload(id), options });
    assert.deepEqual(
      [job.status, job.source, job.rows.total, job.progress],
      ["queued", { type: "upload", upload_id: id, filename: "list.csv", columns: null, warnings: [] }, 0, 0],
    );
    const task = await startTask(sql, { jobId: job.id, number: -1 });
    assert.equal(task?.kind, "analysis");
    assert.deepEqual(await startAnalysis(sql, job.id), {
      place: { bucket: null, key: UPLOAD.key, etag: UPLOAD.etag },
      options: { email_column: "mail", has_header: true, delimiter: ";", escape_formulas: true },
      dailyQuota: actor.limits.dailyQuota,
      bulkBytes: actor.limits.bulkBytes,
    });
    assert.deepEqual(await heldOf(actor.teamId), []);
  });

  it("whose commit fails leaves nothing behind", async () => {
    const actor = await newActor();
    const id = await newUpload(actor.teamId);
    const database = new Proxy(sql, {
      get(target, property, receiver) {
        if (property !== "begin") return Reflect.get(target, property, receiver);
        return (...[work, team]: Parameters<Database["begin"]>) =>
          target.begin(async (tx) => {
            await work(tx);
            throw lost();
          }, team);
      },
    });
    await assert.rejects(createSubmit({ database })(actor, upload(id)), /connection lost/);
    assert.deepEqual([...(await jobsOf(actor.teamId))], []);
  });

  it("is refused by what is known of the upload", async () => {
    const actor = await newActor({ bulkBytes: 999 });
    const id = await newUpload(actor.teamId);
    await assert.rejects(createSubmit()(actor, upload(id)), refusedAs("bulk_too_large"));
    const missing = () => Promise.reject(new AppError("upload_missing", "Nothing has been uploaded."));
    await assert.rejects(
      createSubmit({ uploads: { find: missing } })(actor, upload(id)),
      refusedAs("upload_missing"),
    );
    const roomy = { ...actor, limits: effectiveLimits("enterprise", {}) };
    const gone = createSubmit({ uploads: { keep: async () => false } });
    await assert.rejects(gone(roomy, upload(id)), refusedAs("not_found"));
    assert.deepEqual([...(await jobsOf(actor.teamId))], []);
  });

  it("counts against the jobs that a team may have under way", async () => {
    const actor = await newActor();
    const id = await newUpload(actor.teamId);
    const submit = createSubmit();
    await sql`
      insert into jobs (id, team_id, livemode, status, source, source_key, options, daily_quota, bulk_bytes, probing,
        with_evidence, metadata)
      select 'job_active' || i, ${actor.teamId}, true, 'queued', '{"type":"inline"}', 'k', '{}', 1, 1, true, false, '{}'
      from generate_series(6, ${LIMITS.bulk.activeJobs}::int) as i`;
    // All at once, so that none sees the number of jobs before another has been added.
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => submit(actor, upload(id))));
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 5);
    for (const outcome of outcomes)
      if (outcome.status === "rejected") assert.equal(outcome.reason.code, "limit_reached");
  });
});

describe("the jobs that a team keeps", () => {
  /** The database, whose count of kept jobs is answered by `count`. */
  const countingBy = (count: () => Promise<unknown>) =>
    new Proxy(sql, {
      apply(target, receiver, args) {
        const [texts] = args as [readonly string[]];
        return texts.join("").includes(" as full ") ? count() : Reflect.apply(target, receiver, args);
      },
    });

  it("are bounded, and those of its test keys, removed ones included until they are deleted", async () => {
    const live = await newActor();
    const test = { ...live, livemode: false };
    const clock = createFakeClock();
    const check = createCheckKeptJobs({ sql, clock }, { all: 3, test: 1 });
    const submit = createSubmit();
    const { id } = await submit(test, INPUT);
    await assert.rejects(check(test), refusedAs("limit_reached"));
    await check(live);
    // What was counted is trusted for a while.
    await submit(live, INPUT);
    await submit(live, upload(await newUpload(live.teamId)));
    await check(live);
    await sql`update jobs set completed_at = now(), status = 'completed', removed_at = now() where id = ${id}`;
    clock.advance(LIMITS.bulk.keptFreshMs);
    for (const actor of [live, test]) await assert.rejects(check(actor), refusedAs("limit_reached"));
    await deleteJob(sql, id);
    await assert.rejects(check(test), refusedAs("limit_reached"));
    clock.advance(LIMITS.bulk.keptFreshMs);
    for (const actor of [live, test]) await check(actor);
  });

  it("are counted once for submissions at once, and again after a failure", async () => {
    let counts = 0;
    const failing = countingBy(() => {
      counts += 1;
      return Promise.reject(lost());
    });
    const check = createCheckKeptJobs({ sql: failing, clock: createFakeClock() });
    const actor = await newActor();
    for (const expected of [1, 2]) {
      const checks = [check(actor), check(actor)];
      for (const checked of checks) await assert.rejects(checked, /connection lost/);
      assert.equal(counts, expected);
    }
  });

  it("are counted before any list is taken", async () => {
    const actor = await newActor();
    const submit = createSubmit({ database: countingBy(() => Promise.resolve([{ full: true }])) });
    await grant(actor.teamId);
    for (const input of [INPUT, upload(await newUpload(actor.teamId)), object("in/list.csv")])
      await assert.rejects(submit(actor, input), refusedAs("limit_reached"));
    assert.equal((await jobsOf(actor.teamId)).length, 0);
  });
});

describe("a submission of a bucket's object", () => {
  const objects = createMemoryObjects();
  const submit = (actor: Actor, input: BulkInput) => createSubmit({ objects })(actor, input);

  it("takes the state that the object is in", async () => {
    const actor = await newActor();
    await grant(actor.teamId);
    const { etag } = await objects.streams.write("in/a.csv", pieces("email\na@b.example\n"), "text/csv");
    const job = await submit(actor, object("in/a.csv"));
    assert.deepEqual(job.source, {
      type: "s3",
      bucket: "acme",
      key: "in/a.csv",
      columns: null,
      warnings: [],
    });
    assert.deepEqual((await startAnalysis(sql, job.id))?.place, { bucket: "acme", key: "in/a.csv", etag });
  });

  it("is refused where nothing was granted, before anybody is asked", async () => {
    const actor = await newActor();
    let asked = 0;
    const head = async () => {
      asked += 1;
      return null;
    };
    const streams = { ...objects.streams, head };
    const blind = createSubmit({ objects: { ...objects, streams } });
    await assert.rejects(blind(actor, object("in/a.csv")), refusedAs("s3_not_granted"));
    await grant(actor.teamId);
    await assert.rejects(blind(actor, object("out/a.csv")), refusedAs("s3_not_granted"));
    await assert.rejects(blind(actor, object("in/a.csv", "rcpt")), refusedAs("s3_not_granted"));
    assert.equal(asked, 0);
    await assert.rejects(blind(actor, object("in/a.csv")), refusedAs("source_missing"));
    assert.equal(asked, 1);
  });

  it("is refused when the grant was revoked meanwhile", async () => {
    const actor = await newActor();
    await grant(actor.teamId);
    const streams: MemoryObjects["streams"] = {
      ...objects.streams,
      async head() {
        await sql`delete from s3_grants where team_id = ${actor.teamId}`;
        return { bytes: 1, etag: '"1"' };
      },
    };
    const slow = createSubmit({ objects: { ...objects, streams } });
    await assert.rejects(slow(actor, object("in/a.csv")), refusedAs("s3_not_granted"));
    assert.deepEqual([...(await jobsOf(actor.teamId))], []);
  });

  it("says whose refusal it is when the bucket does not let us in", async () => {
    const actor = await newActor();
    await grant(actor.teamId);
    const streams = { ...objects.streams, head: () => Promise.reject(new ForbiddenObject("no")) };
    const refused = createSubmit({ objects: { ...objects, streams } });
    await assert.rejects(refused(actor, object("in/a.csv")), (error: AppError) => {
      assert.equal(error.code, "s3_not_granted");
      assert.match(error.message, /deployment's credentials/);
      return true;
    });
  });

  it("is refused by its size", async () => {
    const actor = await newActor({ bulkBytes: 5 });
    await grant(actor.teamId);
    await objects.streams.write("in/big.csv", pieces("123456"), "text/csv");
    await assert.rejects(submit(actor, object("in/big.csv")), refusedAs("bulk_too_large"));
  });
});
