import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findJob } from "../../../../src/features/bulk/jobs/job-sql.ts";
import { allValid, createRunner, queueFile, rowsBy } from "../../../support/bulk-tasks.ts";
import { createMemoryObjects } from "../../../support/memory-objects.ts";
import { useDatabase } from "../../../support/store.ts";

/** Verification, charge and answer for cells with an address in an old encoding or a wrapping. */

const { sql } = await useDatabase();

/** Analysed, verified, put together. */
async function done(content: Buffer) {
  const verified: string[] = [];
  const rows = rowsBy((emails, ...rest) => {
    verified.push(...emails);
    return allValid(emails, ...rest);
  });
  const objects = createMemoryObjects();
  const { id, teamId } = await queueFile(sql, objects, content, { livemode: true });
  const { run } = createRunner({ sql, objects, rows });
  for (const number of [-1, 0, 1]) assert.equal(await run(id, number), true);
  const job = await findJob(sql, teamId, id);
  assert.ok(job !== null);
  assert.deepEqual([job.status, job.error_code], ["completed", null]);
  const text = (format: string) => Buffer.from(objects.kept.get(`${job.results_key}.${format}`) ?? "");
  const lines = text("jsonl").toString().split("\n").slice(0, -1);
  return { job, verified, csv: text("csv"), results: lines.map((line) => JSON.parse(line)) };
}

describe("a list in windows-1252", () => {
  it("is verified for its own addresses, keeps its bytes in CSV and is text in JSONL", async () => {
    const list =
      "name,email\nJ\xf6rg \x80,jos\xe9@example.com\nZo\xeb,jos\xe8@example.com\nJ\xc3\xb6rg,jos\xc3\xa9@example.com\n";
    const { job, verified, csv, results } = await done(Buffer.from(list, "latin1"));
    assert.deepEqual(verified, ["josé@example.com", "josè@example.com"]);
    assert.deepEqual([job.charged, job.duplicates, job.malformed], [2, 1, 0]);
    assert.deepEqual(
      results.map(({ input, columns, duplicate_of }) => [input, columns[0], duplicate_of]),
      [
        ["josé@example.com", "Jörg €", null],
        ["josè@example.com", "Zoë", null],
        ["josé@example.com", "Jörg", 1],
      ],
    );
    assert.ok(csv.includes(Buffer.from("\nJ\xf6rg \x80,jos\xe9@example.com,valid,", "latin1")));
  });
});

describe("addresses in wrappings", () => {
  it("are verified and charged once, and stay in the results as they were given", async () => {
    const cells = [
      "Jane <a@example.com>",
      "a@example.com",
      " 'a@example.com'",
      "mailto:b@example.com",
      "<none>",
    ];
    const { job, verified, csv, results } = await done(Buffer.from(`contact\n${cells.join("\n")}\n`));
    assert.deepEqual(verified, [cells[0], cells[3], "<none>"]);
    assert.deepEqual([job.duplicates, job.malformed], [2, 1]);
    assert.deepEqual(
      results.map(({ input, duplicate_of }) => [input, duplicate_of]),
      cells.map((cell, i) => [cell, i === 1 || i === 2 ? 1 : null]),
    );
    assert.match(csv.toString(), /\r\nJane <a@example\.com>,valid,/);
  });
});
