import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ended, submit, submitted } from "../../support/bulk.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { createTcpGate, type TcpGate, throughGate } from "../../support/tcp-gate.ts";

/** Object storage that keeps its connections and never answers: every wait ends, and nothing is lost. */
const closing = createClosing();
let deployment: TestDeployment;
let gate: TcpGate;
let api: TestApi;
let team: Team;
let settings: Record<string, string>;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  const { S3_ENDPOINT = "" } = deployment.settings;
  gate = await createTcpGate(S3_ENDPOINT);
  closing.after(() => gate.close());
  settings = { S3_ENDPOINT: throughGate(S3_ENDPOINT, gate) };
  [api] = await Promise.all([deployment.startApi(settings), deployment.startRelay(settings)]);
  team = await deployment.team("enterprise");
});
after(closing.close);

describe("while object storage is silent", () => {
  it("submissions and results are refused in time, a worker hands back as it stops, and all goes on after", async () => {
    const first = await deployment.startBulk({ ...settings, SHUTDOWN_GRACE_MS: "10000" });
    const done = await submitted(api, team.testKey, ["valid@example.com"]);
    await ended(api, team.testKey, done.id);
    const host = deployment.world.host("mx.lockstep.test");
    host.hold("rcpt");
    const job = await submitted(api, team.liveKey, ["exists@lockstep.test"]);
    await deployment.world.until(() => host.account.held >= 1);

    gate.stall();
    host.release();
    await deployment.world.until(() => host.account.accepted >= 1);
    const [submission, results] = await Promise.all([
      submit(api, team.testKey, ["valid@example.com"]),
      api.send("GET", `/v1/bulk-jobs/${done.id}/results`, { key: team.liveKey }),
      first.stop(),
    ]);
    assert.deepEqual([submission.status, submission.body.code], [503, "unavailable"]);
    assert.deepEqual([results.status, results.body.code], [503, "unavailable"]);
    const [task] = await deployment.sql`select state, deliveries from job_tasks where job_id = ${job.id}`;
    assert.deepEqual({ ...task }, { state: "emitted", deliveries: 0 });

    gate.open();
    const second = await deployment.startBulk(settings);
    const whole = await ended(api, team.liveKey, job.id);
    assert.deepEqual([whole.status, whole.verdicts.valid], ["completed", 1]);
    await second.stop();
  });
});
