import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ended, ledgerState, resultLines, submitted } from "../../support/bulk.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";

/**
 * The address read from a text is the same for a single request and in a list, and it is the one verified, cached and
 * charged.
 */
let deployment: TestDeployment;
let api: TestApi;
let team: Team;

before(async () => {
  deployment = await createDeployment();
  [api] = await Promise.all([deployment.startApi(), deployment.startRelay(), deployment.startBulk()]);
  team = await deployment.team("enterprise", { dailyQuota: 100 });
});
after(() => deployment.stop());

const ADDRESS = "exists+read@plain.test";
const TEXTS = [`Jane <${ADDRESS}>`, `\u00a0${ADDRESS}\u200b`, `mailto:${ADDRESS}?subject=Hi`, `'${ADDRESS}`];

describe("a single request", () => {
  it("is answered for the address in the text, from one cache entry, and says what was given", async () => {
    const { body: plain } = await api.verify(team.liveKey, ADDRESS);
    assert.deepEqual([plain.email, plain.verdict, "input" in plain], [ADDRESS, "valid", false]);
    for (const text of [...TEXTS, ...TEXTS]) {
      const { status, body } = await api.verify(team.liveKey, text);
      assert.deepEqual([status, body], [200, { ...plain, cached: true, input: text }]);
    }
    const { body: again } = await api.verify(team.liveKey, ADDRESS);
    assert.deepEqual(again, { ...plain, cached: true });
  });

  it("with a test key does as the address in the text says", async () => {
    const { body } = await api.verify(team.testKey, "Jane <full@plain.test>");
    assert.deepEqual([body.email, body.reason], ["full@plain.test", "mailbox_full"]);
    assert.equal(body.input, "Jane <full@plain.test>");
  });

  for (const [text, verdict, reason, didYouMean] of [
    ["a@plain.test, b@plain.test", "invalid", "several_addresses", null],
    ["\u00a0", "unknown", "empty", null],
    ["jane@gmail.com”", "invalid", "invalid_format", "jane@gmail.com"],
    ["jane @gmail.com", "invalid", "invalid_format", "jane@gmail.com"],
  ] as const)
    it(`of ${JSON.stringify(text)} is ${verdict}, ${reason}`, async () => {
      const { status, body } = await api.verify(team.liveKey, text);
      assert.deepEqual([status, body.verdict, body.reason], [200, verdict, reason]);
      assert.equal(body.did_you_mean, didYouMean);
      assert.equal(body.addresses, reason === "several_addresses" ? 2 : undefined);
    });
});

describe("an inline list", () => {
  it("reads the same: repeats, malformed and empty rows are free", async () => {
    const own = await deployment.team("enterprise", { dailyQuota: 100 });
    const emails = [ADDRESS, ...TEXTS, "a@plain.test; b@plain.test", "", "\u00a0", "no address"];
    const job = await submitted(api, own.liveKey, emails);
    const done = await ended(api, own.liveKey, job.id);
    assert.deepEqual(done.rows, {
      total: 9,
      processed: 9,
      deferred: 0,
      duplicates: 4,
      malformed: 2,
      empty: 2,
    });
    assert.deepEqual(done.verdicts, { valid: 5, invalid: 2, risky: 0, unknown: 2 });
    assert.deepEqual(await ledgerState(deployment, own.id), { used: 1, held: 0, leased: 0 });
    const lines = await resultLines(api, own.liveKey, job.id);
    assert.deepEqual(
      lines.map(({ input }) => input),
      emails,
    );
    assert.deepEqual(
      lines.map(({ reason }) => reason),
      [
        ...Array.from({ length: 5 }, () => "accepted_mailbox"),
        ...["several_addresses", "empty", "empty", "invalid_format"],
      ],
    );
    assert.ok(lines.slice(0, 5).every(({ email }) => email === ADDRESS));
    assert.equal(lines[5]?.addresses, 2);
  });
});
