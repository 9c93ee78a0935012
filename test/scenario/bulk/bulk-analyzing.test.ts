import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { BulkJob } from "../../../src/features/bulk/jobs/job-view.ts";
import { ended, jobOf, ledgerState } from "../../support/bulk.ts";
import { submitAs, uploaded } from "../../support/bulk-files.ts";
import { type FaultyS3, startFaultyS3 } from "../../support/s3-faults.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/** Jobs whose file is being read: seen, cancelled, handed on. */
const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;
let team: Team;
let held: FaultyS3;
/** Opens the gate to uploads for the worker behind `held`. */
let release: () => void;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  [api] = await Promise.all([deployment.startApi(), deployment.startRelay()]);
  team = await deployment.team("enterprise");
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  closing.after(() => release());
  held = await startFaultyS3(deployment.settings.S3_ENDPOINT ?? "", ({ method, url }) =>
    method === "GET" && url.includes("/uploads/") ? { until: gate } : null,
  );
  closing.after(() => held.close());
});
after(closing.close);

const LIST = "email\nexists-n1@plain.test\nmissing-n2@plain.test\n";

async function submitted(): Promise<BulkJob> {
  const upload_id = await uploaded(api, team.liveKey, LIST);
  const { status, body } = await submitAs(api, team.liveKey, { upload_id });
  assert.equal(status, 202, JSON.stringify(body));
  return body;
}

const analyzing = (id: string) =>
  until(`job ${id} is analyzed`, async () => {
    const job = await jobOf(api, team.liveKey, id);
    return job.status === "analyzing" && job;
  });

const cancel = (id: string) => api.send<BulkJob>("POST", `/v1/bulk-jobs/${id}/cancel`, { key: team.session });

describe("a job whose file is read", () => {
  it("before its turn can be cancelled, or removed", async () => {
    const [first, second] = [await submitted(), await submitted()];
    const results = () =>
      api.send<{ code: string; detail: string }>("GET", `/v1/bulk-jobs/${first.id}/results`, {
        key: team.liveKey,
      });
    const early = await results();
    assert.deepEqual([early.status, early.body.code], [409, "no_results"]);
    assert.match(early.body.detail, /not been read yet/);
    const cancelled = await cancel(first.id);
    const late = await results();
    assert.deepEqual([late.status, late.body.code], [409, "no_results"]);
    assert.match(late.body.detail, /cancelled/);
    assert.deepEqual(
      [cancelled.status, cancelled.body.status, cancelled.body.results, cancelled.body.rows.total],
      [200, "cancelled", null, 0],
    );
    const removed = await api.send("DELETE", `/v1/bulk-jobs/${second.id}`, { key: team.session });
    assert.equal(removed.status, 204);
  });

  it("is seen to be, is cancelled at once, and keeps neither worker nor quota nor file", async () => {
    const worker = await deployment.startBulk({ S3_ENDPOINT: held.endpoint });
    const job = await submitted();
    const { started_at, rows, progress, eta_seconds, results } = await analyzing(job.id);
    assert.ok(started_at !== null);
    assert.deepEqual([rows.total, progress, eta_seconds, results], [0, 0, null, null]);
    const cancelled = await cancel(job.id);
    assert.deepEqual([cancelled.status, cancelled.body.status], [200, "cancelled"]);
    assert.deepEqual(await ledgerState(deployment, team.id), { used: 0, held: 0, leased: 0 });
    assert.equal((await cancel(job.id)).status, 409);
    await worker.stop();
  });

  it("goes to another worker when its own stops, and is answered once", async () => {
    const worker = await deployment.startBulk({
      S3_ENDPOINT: held.endpoint,
      SHUTDOWN_GRACE_MS: "2000",
    });
    const job = await submitted();
    const begun = await analyzing(job.id);
    await worker.stop();
    assert.equal((await jobOf(api, team.liveKey, job.id)).status, "analyzing");
    await deployment.startBulk();
    const done = await ended(api, team.liveKey, job.id);
    assert.deepEqual([done.status, done.started_at], ["completed", begun.started_at]);
    assert.deepEqual([done.verdicts.valid, done.verdicts.invalid], [1, 1]);
    assert.deepEqual(await ledgerState(deployment, team.id), { used: 2, held: 0, leased: 0 });
  });
});
