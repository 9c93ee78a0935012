import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { blocksOf, examplesOf, runByFetch, runExample, type Variables } from "../../support/guide.ts";
import { createDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";
import { startReceiver, type WebhookReceiver } from "../../support/webhook-receiver.ts";

/** The examples of docs/api.md, run in their order against a started service. */
const PAGE = readFileSync(resolve(import.meta.dirname, "../../../docs/api.md"), "utf8");
const examples = examplesOf(PAGE);
const closing = createClosing();
const cwd = mkdtempSync(join(tmpdir(), "rcpt-guide-"));
const variables: Variables = {};
let receiver: WebhookReceiver;

before(async () => {
  closing.after(() => rmSync(cwd, { recursive: true }));
  const deployment = await createDeployment();
  closing.after(() => deployment.stop());
  receiver = await startReceiver();
  closing.after(() => receiver.close());
  const [{ url }, team] = await Promise.all([
    deployment.startApi(),
    deployment.team("enterprise"),
    deployment.startRelay(),
    deployment.startBulk(),
  ]);
  Object.assign(variables, { URL: url, KEY: team.liveKey, TEST_KEY: team.testKey, HOOK_URL: receiver.url });
  const [customers, outcomes] = blocksOf(PAGE, "csv");
  writeFileSync(join(cwd, "customers.csv"), customers);
  writeFileSync(join(cwd, "outcomes.csv"), outcomes ?? assert.fail("the CSV of outcomes"));
});
after(closing.close);

describe("docs/api.md", () => {
  assert.ok(examples.length > 25);
  for (const [at, example] of examples.entries())
    it(`${at + 1}: ${example.command.replaceAll(/\s+/g, " ").slice(0, 160)}`, () =>
      runExample(example, cwd, variables));

  it("checks the signature of what its webhook is sent, and no other", async () => {
    const [delivery] = await until("the ping comes", () => receiver.received.length > 0 && receiver.received);
    const { headers, body } = delivery ?? assert.fail();
    assert.equal(JSON.parse(body).type, "ping");
    assert.equal(headers["webhook-id"], variables.EVENT);
    const file = join(cwd, "check.mjs");
    writeFileSync(file, blocksOf(PAGE, "js")[0]);
    const { isGenuine } = await import(pathToFileURL(file).href);
    const secret = variables.SECRET ?? "";
    assert.equal(isGenuine(secret, headers, body), true);
    assert.equal(isGenuine(secret, headers, `${body} `), false);
    assert.equal(isGenuine(secret, headers, body, Date.now() / 1_000 + 3_600), false);
    assert.equal(isGenuine(`whsec_${Buffer.alloc(32).toString("base64")}`, headers, body), false);
  });

  it("is answered alike without curl", async () => {
    const [first, , , , withHeader] = examples;
    for (const example of [first, withHeader])
      await runExample(example ?? assert.fail(), cwd, variables, runByFetch);
  });
});
