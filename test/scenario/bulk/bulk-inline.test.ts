import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { BulkJob } from "../../../src/features/bulk/jobs/job-view.ts";
import { ended, ledgerState, resultLines, resultsText, submitted } from "../../support/bulk.ts";
import { EXPECTATIONS } from "../../support/mail-world/behaviours.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";

/** A list from submission to results, against every behaviour of the mail world. */
const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;
let team: Team;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  // Deferred rows are retried once, soon.
  const deferral = { DEFERRAL_FIRST_S: "1", DEFERRAL_MAX_S: "1", DEFERRAL_QUEUE_MAX_S: "60" };
  [api] = await Promise.all([deployment.startApi(), deployment.startRelay(), deployment.startBulk(deferral)]);
  team = await deployment.team("enterprise");
});
after(closing.close);

/** Verdict and reason of every behaviour that does not hold the client for long. */
const ASKED = EXPECTATIONS.filter((row) => row.needs === undefined && row.holds !== true);
const LET_IN_LATER = /^(?:greylisted-(?:once|briefly)|later-[a-z-]+)@/;
const FREE = [
  "timeout",
  "greylisted",
  "no_connect",
  "sender_blocked",
  "rate_limited_by_server",
  "smtp_protocol_error",
  "dns_error",
];

interface Content {
  content: Record<string, { example: unknown }>;
}
type Paths = Record<string, { post: { requestBody: Content; responses: Record<string, Content> } }>;

describe("the documented example", () => {
  it("is taken as it is, and its job has the rows that are shown", async () => {
    const { paths } = (await api.send<{ paths: Paths }>("GET", "/openapi.json")).body;
    const { requestBody, responses } = paths["/v1/verify/bulk"]?.post ?? assert.fail();
    const shown = responses["202"]?.content["application/json"]?.example as BulkJob;
    const body = requestBody.content["application/json"]?.example;
    const taken = await api.send<BulkJob>("POST", "/v1/verify/bulk", { key: team.testKey, body });
    assert.equal(taken.status, 202);
    assert.deepEqual([taken.body.rows, taken.body.metadata], [shown.rows, shown.metadata]);
    await ended(api, team.testKey, taken.body.id);
    const lines = await resultLines(api, team.testKey, taken.body.id);
    assert.deepEqual(
      lines.map(({ duplicate_of }) => duplicate_of),
      [null, null, 1, null],
    );
  });
});

describe("an inline list", () => {
  it("is answered row by row as the mail world says, in order, and charged exactly", async () => {
    const emails: string[] = [];
    const expected: string[] = [];
    for (const [
      i,
      {
        address,
        expected: { verdict, reason },
      },
    ] of ASKED.entries()) {
      // A job asks again where it was put off.
      const told = LET_IN_LATER.test(address) ? "valid accepted_mailbox" : `${verdict} ${reason}`;
      emails.push(address);
      expected.push(told);
      emails.push(
        `exists-bulk${i}@plain.test`,
        `missing-bulk${i}@plain.test`,
        `not an address ${i}`,
        address.replace(/@.*/, (domain) => domain.toUpperCase()),
      );
      expected.push("valid accepted_mailbox", "invalid mailbox_not_found", "invalid invalid_format", told);
    }
    const job = await submitted(api, team.liveKey, emails, { metadata: { campaign: "spring" } });
    assert.deepEqual([job.status, job.rows.total, job.livemode], ["queued", emails.length, true]);
    const done = await ended(api, team.liveKey, job.id);
    assert.equal(done.status, "completed");
    const lines = await resultLines(api, team.liveKey, job.id);
    assert.deepEqual(
      lines.map(({ input }) => input),
      emails,
    );
    assert.deepEqual(
      lines.map(({ row }) => row),
      emails.map((_, i) => i + 1),
    );
    const wrong = lines
      .map(({ input, verdict, reason }, i) => ({ input, got: `${verdict} ${reason}`, wanted: expected[i] }))
      .filter(({ got, wanted }) => got !== wanted);
    assert.deepEqual(wrong, []);
    const charged = lines.filter(
      ({ duplicate_of, reason }) =>
        duplicate_of === null && reason !== "invalid_format" && !FREE.includes(reason),
    ).length;
    assert.deepEqual(await ledgerState(deployment, team.id), { used: charged, held: 0, leased: 0 });
    assert.deepEqual(done.rows, {
      total: emails.length,
      processed: emails.length,
      deferred: 0,
      duplicates: ASKED.length,
      malformed: ASKED.length,
      empty: 0,
    });
    const csv = await resultsText(api, team.liveKey, job.id);
    assert.equal(csv.split("\r\n").length, emails.length + 2);
  });
});
