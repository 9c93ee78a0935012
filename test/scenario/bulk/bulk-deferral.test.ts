import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import type { BulkJob } from "../../../src/features/bulk/jobs/job-view.ts";
import { ended, jobOf, ledgerState, resultLines, submitted } from "../../support/bulk.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/** Rows that have to wait for their mail server: put off by it, or by the number of connections it grants. */
const closing = createClosing();
const ENOUGH_MS = 240_000;
let deployment: TestDeployment;
let api: TestApi;
let team: Team;
let bulk: { stop(): Promise<void> } | null = null;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  [api] = await Promise.all([deployment.startApi(), deployment.startRelay()]);
  team = await deployment.team("enterprise");
});
afterEach(async () => {
  await bulk?.stop();
  bulk = null;
  deployment.world.relent(false);
});
after(closing.close);

async function work(settings: Record<string, string>): Promise<void> {
  bulk = await deployment.startBulk(settings);
}

/** Waits until the job stands so. */
function stands(id: string, what: string, holds: (job: BulkJob) => boolean): Promise<BulkJob> {
  return until(
    what,
    async () => {
      const job = await jobOf(api, team.liveKey, id);
      return holds(job) && job;
    },
    ENOUGH_MS,
  );
}

const numbered = (count: number, name: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => name(i));

describe("rows that have to wait", () => {
  it("end as the world says, each counted once, and cost what single answers cost", async () => {
    const { used } = await ledgerState(deployment, team.id);
    // A provider to which shaping.json gives two connections.
    const { world } = deployment;
    world.dns.set("smtp.laposte.net", { a: [world.host("mx.lockstep.test").address] });
    world.dns.set("capped.test", { mx: [[10, "smtp.laposte.net"]] });
    const expected = new Map<string, [verdict: string, reason: string]>();
    const rows = (emails: string[], verdict: string, reason: string) => {
      for (const email of emails) expected.set(email, [verdict, reason]);
      return emails;
    };
    const firsts = [
      ...rows(
        numbered(300, (i) => `exists-d${i}@capped.test`),
        "valid",
        "accepted_mailbox",
      ),
      ...rows(
        numbered(30, (i) => `greylisted-once-d${i}@plain.test`),
        "valid",
        "accepted_mailbox",
      ),
      ...rows(
        numbered(25, (i) => `greylisted-d${i}@plain.test`),
        "unknown",
        "greylisted",
      ),
      ...rows(["ratelimited@limited.test"], "unknown", "rate_limited_by_server"),
      ...rows(["missing-d@plain.test"], "invalid", "mailbox_not_found"),
      ...rows(["exists-d@dead.test"], "unknown", "no_connect"),
    ];
    // Repeats of rows that are answered at once, of rows that wait, and of rows that end unknown.
    const emails = [
      ...firsts,
      "missing-d@plain.test",
      "greylisted-once-d0@plain.test",
      "greylisted-d0@PLAIN.test",
    ];
    await work({ DEFERRAL_FIRST_S: "1", DEFERRAL_MAX_S: "4" });
    const job = await submitted(api, team.liveKey, emails);
    const done = await ended(api, team.liveKey, job.id, ENOUGH_MS);
    assert.equal(done.status, "completed", JSON.stringify(done.error));
    assert.deepEqual(done.rows, {
      total: emails.length,
      processed: emails.length,
      deferred: 0,
      duplicates: 3,
      malformed: 0,
      empty: 0,
    });
    const lines = await resultLines(api, team.liveKey, job.id);
    const key = (email: string) => email.replace("PLAIN", "plain");
    assert.deepEqual(
      lines.map(({ input, verdict, reason }) => [input, verdict, reason]),
      emails.map((email) => [email, ...(expected.get(key(email)) ?? [])]),
    );
    assert.deepEqual(done.verdicts, { valid: 331, invalid: 2, risky: 0, unknown: 28 });
    assert.deepEqual(await ledgerState(deployment, team.id), { used: used + 331, held: 0, leased: 0 });
    assert.ok(world.host("mx.lockstep.test").account.maxOpen <= 2);
  });

  it("are shown, with the time they need, and answered when their server lets them in", async () => {
    await work({ DEFERRAL_MAX_S: "3600" });
    const emails = [...numbered(40, (i) => `exists-e${i}@greylist.test`), "exists-e@plain.test"];
    const job = await submitted(api, team.liveKey, emails);
    const waiting = await stands(
      job.id,
      "all that can be is answered",
      ({ status }) => status === "deferred",
    );
    assert.deepEqual([waiting.rows.processed, waiting.rows.deferred], [1, 40]);
    // The server named 300 seconds.
    assert.ok((waiting.eta_seconds ?? 0) >= 120, String(waiting.eta_seconds));
    deployment.world.relent(true);
    await deployment.sql`update job_tasks set due_at = now() where job_id = ${job.id} and kind = 'retry'`;
    const done = await ended(api, team.liveKey, job.id, ENOUGH_MS);
    assert.deepEqual([done.status, done.verdicts.valid, done.rows.deferred], ["completed", 41, 0]);
  });

  it("cost nothing when the job is cancelled; what is answered stays", async () => {
    const { used } = await ledgerState(deployment, team.id);
    await work({});
    const emails = [
      "exists-c1@plain.test",
      "exists-c@greylist.test",
      "missing-c1@plain.test",
      "exists-c1@plain.test",
    ];
    const job = await submitted(api, team.liveKey, emails);
    await stands(job.id, "the rest is answered", ({ status }) => status === "deferred");
    const { status } = await api.send("POST", `/v1/bulk-jobs/${job.id}/cancel`, { key: team.liveKey });
    assert.equal(status, 200);
    const lines = await resultLines(api, team.liveKey, job.id);
    assert.deepEqual(
      lines.map(({ input, verdict }) => [input, verdict]),
      [
        ["exists-c1@plain.test", "valid"],
        ["missing-c1@plain.test", "invalid"],
        ["exists-c1@plain.test", "valid"],
      ],
    );
    assert.deepEqual(await ledgerState(deployment, team.id), { used: used + 2, held: 0, leased: 0 });
    const left = await deployment.sql`
      select from job_tasks where job_id = ${job.id} and kind = 'retry' and state <> 'done'`;
    assert.equal(left.length, 0);
  });
});
