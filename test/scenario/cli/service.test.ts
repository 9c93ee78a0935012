import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type CommandOutcome, runRcpt } from "../../support/rcpt-command.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/** `rcpt` against a service, in processes of its own. */
const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;
let key: string;
let folder: string;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  [api] = await Promise.all([deployment.startApi(), deployment.startBulk(), deployment.startRelay()]);
  key = (await deployment.team("pro_plus")).liveKey;
  folder = mkdtempSync(join(tmpdir(), "rcpt-cli-"));
});
after(async () => {
  await closing.close();
  rmSync(folder, { recursive: true, force: true });
});

function rcpt(
  args: string[],
  settings: Record<string, string> = {},
  onStart: (interrupt: () => void) => void = () => {},
): Promise<CommandOutcome> {
  return runRcpt(args, {
    env: {
      RCPT_URL: api.url,
      RCPT_API_KEY: key,
      XDG_CONFIG_HOME: folder,
      XDG_STATE_HOME: folder,
      ...settings,
    },
    onStart,
  });
}

describe("rcpt at a service", () => {
  it("verifies addresses, and says what the team has used", async () => {
    const verified = await rcpt([
      "verify",
      "exists@plain.test",
      "missing@plain.test",
      "--fail-on",
      "invalid",
    ]);
    assert.match(
      verified.stdout,
      /^valid +exists@plain\.test +accepted_mailbox\ninvalid +missing@plain\.test +mailbox_not_found\n$/,
    );
    assert.equal(verified.code, 3);
    const used = await rcpt(["usage"]);
    assert.match(used.stdout, /^2 of 2000000 units used, 1999998 left until /);
  });

  it("uploads a list, follows the job and writes its results; they can be had again", async () => {
    const [list, results] = [join(folder, "list.csv"), join(folder, "results.csv")];
    writeFileSync(list, "name,email\nJane,exists@plain.test\nJohn,missing@plain.test\n");
    const done = await rcpt(["bulk", list, "-o", results, "--column", "email"]);
    const [id = ""] = /^job_\w+/.exec(done.stderr) ?? [];
    assert.match(done.stderr, /"list\.csv" completed, 2 of 2 rows: 1 valid, 1 invalid\n$/);
    assert.deepEqual([done.code, done.stdout], [0, ""]);
    const rows = readFileSync(results, "utf8").split("\r\n");
    assert.match(rows[1] ?? "", /^Jane,exists@plain\.test,valid,/);
    const listed = await rcpt(["jobs"]);
    assert.ok(listed.stdout.startsWith(`${id} `), listed.stdout);
    const valid = await rcpt(["jobs", "results", id, "--verdict", "valid"]);
    assert.deepEqual(valid.stdout.trimEnd().split("\r\n"), rows.slice(0, 2));
    const watched = await rcpt(["jobs", "watch", id]);
    assert.match(watched.stdout, / completed, 2 of 2 rows/);
  });

  it("sends no list whose results could not be written", async () => {
    const list = join(folder, "unsent.csv");
    writeFileSync(list, "exists@plain.test\n");
    const jobs = async () => (await rcpt(["jobs", "--json"])).stdout;
    const before = await jobs();
    for (const output of [folder, join(folder, "absent", "results.csv")]) {
      const { code, stderr } = await rcpt(["bulk", list, "-o", output]);
      assert.equal(code, 2);
      assert.ok(stderr.startsWith(`rcpt: results cannot be written to ${output}: `), stderr);
    }
    assert.equal(await jobs(), before);
  });

  it("leaves a job running on Ctrl-C, and says how to come back", async () => {
    const list = join(folder, "slow.csv");
    writeFileSync(list, "email\ngreylisted-cli@plain.test\n");
    const { code, stderr } = await rcpt(["bulk", list], {}, async (interrupt) => {
      await until("the job waits", async () => {
        const { body } = await api.send<{ data: { status: string }[] }>("GET", "/v1/bulk-jobs", { key });
        return body.data[0]?.status === "deferred";
      });
      interrupt();
    });
    const [, id = ""] = /rcpt: the job goes on: rcpt jobs watch (job_\w+)\n$/.exec(stderr) ?? [];
    assert.equal(code, 130);
    const cancelled = await rcpt(["jobs", "cancel", id]);
    assert.match(cancelled.stdout, new RegExp(`^${id} "slow\\.csv" cancelled, 0 of 1 rows`));
  });

  it("says why a list failed, and exits so", async () => {
    const list = join(folder, "numbers.csv");
    writeFileSync(list, "a,b\n1,2\n3,4\n");
    const { code, stderr } = await rcpt(["bulk", list]);
    assert.match(stderr, / failed, 0 of 0 rows: none answered: .+ \(no_email_column\)\n/);
    assert.equal(code, 1);
  });

  it("says what is wrong with the service or the key", async () => {
    const wrong: [Record<string, string>, number, RegExp][] = [
      [{ RCPT_API_KEY: "" }, 2, /^rcpt: no key for http:\S+: rcpt login http:\S+, or RCPT_API_KEY/],
      [{ RCPT_URL: "nowhere" }, 2, /RCPT_URL is not a URL/],
      [{ RCPT_API_KEY: "rcpt_live_nobody" }, 1, /\(unauthorized\) Is your key one of this service\?/],
    ];
    for (const [settings, exit, says] of wrong) {
      const { code, stdout, stderr } = await rcpt(["usage"], settings);
      assert.match(stderr, says);
      assert.deepEqual([code, stdout], [exit, ""]);
    }
  });
});
