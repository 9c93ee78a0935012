import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { TYPES_OF_API, typesHead } from "../../../scripts/build/api-types.ts";
import { PortTakenError, withFreePort } from "../../../scripts/embedded/ports.ts";
import { type ClientProgram, clientExamples, createClientProgram } from "../../support/client-examples.ts";
import { createDeployment, type Team, type TestApi } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/** The examples of the client library's README, as programs of a user who has installed it. */
const examples = clientExamples();
const closing = createClosing();
let program: ClientProgram;
let api: TestApi;
let team: Team;
let env: Record<string, string>;

before(async () => {
  program = createClientProgram(examples);
  closing.after(() => program.close());
  const deployment = await createDeployment();
  closing.after(() => deployment.stop());
  [api, team] = await Promise.all([
    deployment.startApi(),
    deployment.team("enterprise"),
    deployment.startRelay(),
    deployment.startBulk(),
  ]);
  env = { RCPT_URL: api.url, RCPT_API_KEY: team.testKey, RCPT_LIVE_KEY: team.liveKey };
  const rows = [
    "name,email",
    "Ann,valid@example.com",
    "Bob,Bob <catch-all@example.com>",
    "Eve,invalid@example.com",
    "",
  ];
  writeFileSync(join(program.folder, "customers.csv"), rows.join("\n"));
});
after(closing.close);

/** Asserts that the output contains the texts, in their order. */
function holdsInOrder(output: string, texts: readonly string[]): void {
  let at = 0;
  for (const text of texts) {
    const found = output.indexOf(text, at);
    assert.ok(found >= 0, `${text}\nis not, in this order, in\n${output}`);
    at = found + text.length;
  }
}

/** The example that receives webhooks, once it listens. @throws PortTakenError when it ends instead */
async function startReceiver(at: number, port: number) {
  const url = `http://127.0.0.1:${port}/`;
  const { status, body } = await api.send("POST", "/v1/webhooks", { key: team.testKey, body: { url } });
  assert.equal(status, 201);
  const child = program.start(at, { WEBHOOK_SECRET: String(body.secret), PORT: String(port) });
  closing.after(() => void child.kill());
  const forged = () =>
    fetch(url, { method: "POST", body: "{}" }).then(
      (answer) => answer.status,
      () => null,
    );
  await until("the receiver listens", async () => child.exitCode !== null || (await forged()) === 401);
  if (child.exitCode !== null) throw new PortTakenError(await child.output);
  return child;
}

describe("packages/client/README.md", () => {
  assert.ok(examples.length >= 8);
  for (const [at, { heading, code, prints }] of examples.entries()) {
    if (code.includes("createServer")) continue;
    it(`${heading}: prints what it says`, async () => {
      const child = program.start(at, env);
      holdsInOrder(await child.output, prints);
      await until("the example has ended", () => child.exitCode !== null);
      assert.equal(child.exitCode, 0);
    });
  }

  it("leaves the results on the disk", () => {
    const csv = readFileSync(join(program.folder, "results.csv"), "utf8");
    assert.match(csv, /^name,email,rcpt_verdict/);
    assert.match(csv, /^Eve,invalid@example\.com,invalid/m);
  });

  it("receives webhooks: what the service sends is genuine, and nothing else", async () => {
    const at = examples.findIndex(({ code }) => code.includes("createServer"));
    const child = await withFreePort((port) => startReceiver(at, port));
    let printed = "";
    child.stdout?.on("data", (piece: Buffer) => {
      printed += piece;
    });
    const list = { emails: ["valid@example.com"] };
    await api.send("POST", "/v1/verify/bulk", { key: team.testKey, body: list });
    await until("the event comes", () => printed.includes(examples[at]?.prints[0] ?? assert.fail()));
  });

  it("is of use to pages: bundlers and compilers find nothing of Node.js in it", async () => {
    const code = await program.bundleForPages();
    assert.match(code, /pages cannot read files/);
    assert.doesNotMatch(code, /node:/);
  });

  it("has the types of the service that runs", async () => {
    const document = await (await fetch(`${api.url}/openapi.json`)).text();
    const head = typesHead(JSON.stringify(JSON.parse(document)));
    for (const path of TYPES_OF_API) assert.ok(readFileSync(path, "utf8").startsWith(head), path);
  });
});
