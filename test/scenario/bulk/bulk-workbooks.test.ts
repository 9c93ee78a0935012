import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ended, resultLines, resultsBytes, resultsText } from "../../support/bulk.ts";
import { submitAs, uploaded } from "../../support/bulk-files.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { workbookOf } from "../../support/workbook.ts";

/** Workbooks that were uploaded: from submission to their results as CSV. */
const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;
let team: Team;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  [api] = await Promise.all([deployment.startApi(), deployment.startRelay(), deployment.startBulk()]);
  team = await deployment.team("enterprise");
});
after(closing.close);

const WORKBOOK = workbookOf({
  sheets: [
    { name: "Lookups", rows: [["email"], ["hidden@plain.test"]], state: "hidden" },
    {
      name: "Contacts",
      rows: [
        ["Name", "Email", "Notes"],
        ["Ann", "exists-w1@plain.test", 'says "hi", often\nand more'],
        ["Bö", "missing-w2@plain.test"],
        ["Cy", "not an address"],
      ],
    },
    { name: "Old", rows: [["Mail"], ["exists-w3@plain.test"]] },
  ],
});

async function jobOfWorkbook(bytes: Buffer, options: Record<string, unknown> = {}) {
  // The file's name does not matter.
  const upload_id = await uploaded(api, team.liveKey, bytes, "contacts.csv");
  const { status, body } = await submitAs(api, team.liveKey, { upload_id, ...options });
  assert.equal(status, 202, JSON.stringify(body));
  return ended(api, team.liveKey, body.id);
}

const bytesOf = (id: string, query?: string, range?: string) =>
  resultsBytes(api, team.liveKey, id, query, range);

const MARK = "\ufeff";

describe("results for a spreadsheet", () => {
  it("begin with a byte order mark, also those by verdict and from a range", async () => {
    const { id } = await jobOfWorkbook(WORKBOOK);
    const all = await bytesOf(id);
    assert.ok(all.toString().startsWith(`${MARK}Name,Email,Notes,rcpt_verdict,`), all.toString());
    assert.ok(all.includes("\nB\u00f6,missing-w2@plain.test,"));
    const half = all.length >> 1;
    const ranges = [await bytesOf(id, "", `bytes=0-${half}`)];
    ranges.push(await bytesOf(id, "", `bytes=${half + 1}-`));
    assert.deepEqual(Buffer.concat(ranges), all);
    const invalid = (await bytesOf(id, "?verdict=invalid")).toString();
    assert.match(invalid, /^\ufeffName,Email,[^\n]*\r\nB\u00f6,missing-w2@plain\.test,[^\n]*\r\nCy,/);
    assert.ok(!(await bytesOf(id, "?format=jsonl")).includes(MARK));
  });

  it("are those of addresses in a request whose formulas are guarded, too", async () => {
    for (const escape_formulas of [true, false]) {
      const { body } = await submitAs(api, team.liveKey, {
        emails: ["J\u00f6rg <exists@plain.test>"],
        escape_formulas,
      });
      await ended(api, team.liveKey, body.id);
      const text = (await bytesOf(body.id)).toString();
      assert.ok(text.startsWith(`${escape_formulas ? MARK : ""}email,rcpt_verdict,`), text);
    }
  });
});

describe("a workbook", () => {
  it("is verified by its first sheet that is not hidden; the results are CSV", async () => {
    const job = await jobOfWorkbook(WORKBOOK);
    assert.equal(job.status, "completed", JSON.stringify(job.error));
    assert.deepEqual(job.source.columns?.sheet, { index: 1, name: "Contacts", others: ["Lookups", "Old"] });
    const lines = await resultLines(api, team.liveKey, job.id);
    assert.deepEqual(
      lines.map(({ input, verdict }) => [input, verdict]),
      [
        ["exists-w1@plain.test", "valid"],
        ["missing-w2@plain.test", "invalid"],
        ["not an address", "invalid"],
      ],
    );
    const csv = await resultsText(api, team.liveKey, job.id);
    assert.ok(csv.startsWith("Name,Email,Notes,rcpt_verdict,"), csv);
    assert.ok(csv.includes('\nAnn,exists-w1@plain.test,"says ""hi"", often\nand more",valid,'), csv);
  });

  it("is verified by the sheet that is named", async () => {
    for (const sheet of [2, "old"]) {
      const job = await jobOfWorkbook(WORKBOOK, { sheet });
      assert.deepEqual([job.status, job.rows.total, job.verdicts.valid], ["completed", 1, 1]);
    }
  });

  it("fails for a sheet that is not there, and costs nothing", async () => {
    const job = await jobOfWorkbook(WORKBOOK, { sheet: "Leads" });
    assert.deepEqual([job.status, job.error?.code, job.rows.total], ["failed", "not_readable", 0]);
    assert.match(job.error?.detail ?? "", /no sheet "Leads".*0 "Lookups", 1 "Contacts", 2 "Old"/);
  });

  it("that is damaged fails with a sentence", async () => {
    const job = await jobOfWorkbook(WORKBOOK.subarray(0, WORKBOOK.length - 100));
    assert.deepEqual([job.status, job.error?.code], ["failed", "not_readable"]);
  });
});
