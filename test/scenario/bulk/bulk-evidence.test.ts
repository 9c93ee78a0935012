import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ended, resultLines, resultsText, submitted } from "../../support/bulk.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";

/** On request, results say what each verdict rests on. */
let deployment: TestDeployment;
let api: TestApi;
let team: Team;

before(async () => {
  deployment = await createDeployment();
  [api] = await Promise.all([deployment.startApi(), deployment.startRelay(), deployment.startBulk()]);
  team = await deployment.team("enterprise");
});
after(() => deployment.stop());

describe("evidence of a job", () => {
  it("is in both formats, where it is asked for", async () => {
    const emails = ["missing-evidence@plain.test", "no address", "exists-evidence@nowhere.test"];
    const job = await submitted(api, team.liveKey, emails, { evidence: true });
    await ended(api, team.liveKey, job.id);
    const [missing, ...others] = (await resultLines(api, team.liveKey, job.id)).map(
      ({ evidence }) => evidence,
    );
    assert.deepEqual(
      [missing?.stage, missing?.code, missing?.enhanced_code, missing?.mx_host],
      ["rcpt", 550, "5.1.1", "mx.plain.test"],
    );
    assert.match(missing?.reply ?? "", /^550 5\.1\.1 <\*@\*>: .*User unknown/);
    assert.ok(missing?.rule);
    assert.deepEqual(others, [null, null]);
    const text = await resultsText(api, team.liveKey, job.id, "?format=csv");
    const [header = "", first = "", second = "", third = ""] = text.split("\r\n");
    assert.ok(
      header.endsWith(
        ",rcpt_mx_provider,rcpt_smtp_stage,rcpt_smtp_code,rcpt_smtp_enhanced_code,rcpt_smtp_reply,rcpt_smtp_rule,rcpt_mx_host",
      ),
    );
    assert.ok(first.endsWith(`,rcpt,550,5.1.1,${missing?.reply},${missing?.rule},mx.plain.test`), first);
    const cells = header.split(",").length;
    for (const row of [second, third]) assert.equal(row.split(",").length, cells, row);
    const invalid = await resultsText(api, team.liveKey, job.id, "?format=csv&verdict=invalid");
    assert.ok(invalid.includes(first));
    const plain = await submitted(api, team.liveKey, emails);
    await ended(api, team.liveKey, plain.id);
    assert.doesNotMatch(
      await resultsText(api, team.liveKey, plain.id, "?format=csv"),
      /rcpt_smtp|User unknown/,
    );
  });
});
