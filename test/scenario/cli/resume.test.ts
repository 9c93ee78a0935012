import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { runRcpt, startRcptInTerminal } from "../../support/rcpt-command.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { createTcpGate, type TcpGate, throughGate } from "../../support/tcp-gate.ts";

/** `rcpt bulk` whose connection to object storage breaks, and the same command again. */
const MB = 1_048_576;
/** Four parts of 16 MiB, of which three are sent at once. */
const LIST_MB = 50;
const LAST_PART = "partNumber=4";

const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;
let gate: TcpGate;
let key: string;
let folder: string;
let list: string;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  const storage = deployment.settings.S3_ENDPOINT ?? "";
  gate = await createTcpGate(storage);
  closing.after(() => gate.close());
  api = await deployment.startApi({ S3_PUBLIC_ENDPOINT: throughGate(storage, gate) });
  folder = mkdtempSync(join(tmpdir(), "rcpt-cli-"));
  list = join(folder, "list.csv");
  const rows = Array.from({ length: LIST_MB }, () => `exists@plain.test,${"x".repeat(MB)}`);
  writeFileSync(list, `email,notes\n${rows.join("\n")}\n`);
});
after(async () => {
  await closing.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  key = (await deployment.team("pro_plus")).liveKey;
  gate.open();
});

const env = () => ({ RCPT_URL: api.url, RCPT_API_KEY: key, XDG_STATE_HOME: folder, XDG_CONFIG_HOME: folder });
const remembered = () => readdirSync(join(folder, "rcpt", "uploads"));

interface Entry {
  id: string;
  source: { upload_id?: string };
}
const listOf = async (path: string) => (await api.send<{ data: Entry[] }>("GET", path, { key })).body.data;

/** Interrupts an upload when some parts are stored and the last one is in transit. */
async function sendSome(): Promise<void> {
  const stalled = gate.stallAt(LAST_PART);
  const terminal = startRcptInTerminal(["bulk", list, "--detach"], { env: env() });
  await stalled;
  await terminal.shows(/ [1-9]\d*\/\d+ bytes sent/);
  terminal.type("\u0003");
  assert.equal(await terminal.ended, 130, terminal.screen());
  assert.match(terminal.screen(), /rcpt: the same command goes on where the upload has stopped$/);
  assert.equal(remembered().length, 1);
  gate.open();
}

describe("rcpt bulk that was interrupted while it sent a list", () => {
  it("sends what is missing, as one upload and one job", async () => {
    await sendSome();
    const [begun] = await listOf("/v1/uploads");
    const parts = await api.send<{ data: { sent: boolean }[] }>("GET", `/v1/uploads/${begun?.id}/parts`, {
      key,
    });
    const sent = parts.body.data.filter((part) => part.sent).length;
    assert.ok(sent >= 1 && sent < 4, String(sent));
    const again = await runRcpt(["bulk", list, "--detach"], { env: env() });
    assert.equal(again.stderr, "rcpt: this list was being sent before: sending what is missing\n");
    assert.match(again.stdout, /^job_\w+\n$/);
    const [job, ...others] = await listOf("/v1/bulk-jobs");
    assert.deepEqual([job?.id, others], [again.stdout.trim(), []]);
    assert.deepEqual(
      (await listOf("/v1/uploads")).map(({ id }) => id),
      [begun?.id],
    );
    assert.deepEqual(remembered(), []);
  });

  it("begins anew where the service does not keep the upload any more", async () => {
    await sendSome();
    const [begun] = await listOf("/v1/uploads");
    assert.equal((await api.send("DELETE", `/v1/uploads/${begun?.id}`, { key })).status, 204);
    const again = await runRcpt(["bulk", list, "--detach"], { env: env() });
    assert.match(again.stderr, /rcpt: the service does not keep what was sent: sending all of it\n$/);
    assert.match(again.stdout, /^job_\w+\n$/);
    assert.deepEqual(remembered(), []);
  });

  it("sends all of it through the service on request", async () => {
    await sendSome();
    const again = await runRcpt(["bulk", list, "--detach", "--via", "service"], { env: env() });
    assert.deepEqual([again.code, again.stderr], [0, ""]);
    assert.deepEqual(remembered(), []);
  });

  it("begins anew with a list that has changed", async () => {
    await sendSome();
    writeFileSync(list, "email\nexists@plain.test\n");
    const again = await runRcpt(["bulk", list, "--detach"], { env: env() });
    assert.deepEqual([again.code, again.stderr], [0, ""]);
    assert.equal((await listOf("/v1/bulk-jobs")).length, 1);
  });

  it("sends a list from a home that cannot be written to", async () => {
    const run = await runRcpt(["bulk", list, "--detach"], { env: { ...env(), XDG_STATE_HOME: list } });
    assert.deepEqual([run.code, run.stderr], [0, ""]);
  });
});
