import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { waitForPostgres } from "../../support/limits.ts";
import { runLoadCommand } from "../../support/load-command.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

const ROWS = 300;
const SINGLES = 200;

describe("the load generator on a real deployment", () => {
  const closing = createClosing();
  let deployment: TestDeployment;
  let api: TestApi;
  let team: Team;
  const dir = mkdtempSync(join(tmpdir(), "rcpt-load-"));

  before(async () => {
    waitForPostgres(closing);
    deployment = await createDeployment();
    closing.after(() => deployment.stop());
    [api, team] = await Promise.all([
      deployment.startApi(),
      deployment.team("enterprise"),
      deployment.startBulk(),
      deployment.startRelay(),
    ]);
  });
  after(async () => {
    await closing.close();
    rmSync(dir, { recursive: true });
  });

  it("measures singles and a job at once, and finds what the deployment itself counted", async () => {
    const emails = join(dir, "emails.csv");
    const lines = Array.from({ length: 1_000 }, (_, i) => `Person ${i};exists-load${i}@plain.test`);
    writeFileSync(emails, `name;email\n${lines.join("\n")}\n`);
    const { code, report, stdout, html } = await runLoadCommand({
      url: api.url,
      key: team.liveKey,
      argv: [
        ...["--emails", emails, "--rate", "50", "--requests", String(SINGLES), "--duration", "5m"],
        ...["--evidence", "10%", "--refresh", "5%", "--repeat", "80%", "--timeout", "5m", "--grace", "5m"],
        ...[
          "--bulk-every",
          "10m",
          "--bulk-rows",
          String(ROWS),
          "--fail-on",
          "errors<=0,bulk.failed<=0,cached>10%",
        ],
      ],
    });
    assert.ok(report, stdout);
    assert.equal(code, 0, stdout);
    const { requests, ok, verdicts, cached, bulk, kinds, faults } = report;
    assert.deepEqual([requests.sent, requests.answered, ok, faults.length], [SINGLES, SINGLES, SINGLES, 0]);
    assert.deepEqual(verdicts, { valid: SINGLES });
    assert.ok(cached.yes > 0 && cached.no > 0 && cached.yes + cached.no === SINGLES);
    for (const kind of ["repeated", "new", "evidence", "refresh"] as const)
      assert.ok(kinds[kind].counts.answered > 0, kind);
    assert.equal(bulk.length, 1);
    const [job] = bulk;
    assert.deepEqual([job?.status, job?.fault, job?.verdicts.valid], ["completed", null, ROWS]);
    assert.ok((job?.rowsPerS ?? 0) > 0 && (job?.downloadBytes ?? 0) > ROWS * 100);
    assert.match(html ?? "", /all rows accounted for/);
    await until("the deployment has counted as much", async () => {
      const { body } = await api.get("/v1/usage", team.liveKey);
      return body.single === SINGLES && body.bulk === ROWS;
    });
  });

  it("needs nothing but a test key to try", async () => {
    const { code, report, stdout } = await runLoadCommand({
      url: api.url,
      key: team.testKey,
      argv: ["--closed", "--connections", "4", "--requests", "100", "--timeout", "5m"],
    });
    assert.equal(code, 0, stdout);
    assert.deepEqual([report?.statuses, report?.requests.failed], [{ 200: 100 }, 0]);
    assert.ok(Object.keys(report?.verdicts ?? {}).length >= 3, "outcomes of every sort");
  });
});
