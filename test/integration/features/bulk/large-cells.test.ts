import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { findJob } from "../../../../src/features/bulk/jobs/job-sql.ts";
import {
  createRowVerifier,
  type RowVerifier,
  type RowVerifierDeps,
} from "../../../../src/features/bulk/run/row-verifier.ts";
import { createExaminer, type ExaminerDeps } from "../../../../src/features/verify/answer/examine.ts";
import { createTestKeys } from "../../../../src/features/verify/answer/test-keys.ts";
import { siteOf } from "../../../../src/verification/lists/site.ts";
import { answered, createRunner, queueFile, rowsBy } from "../../../support/bulk-tasks.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { createMemoryObjects } from "../../../support/memory-objects.ts";
import { useDatabase } from "../../../support/store.ts";

/** Lists with cells that no result was made for, from their analysis to their results. */

const { sql } = await useDatabase();

/** The real verifier, for addresses of test keys: no server is asked. */
function testRows(): RowVerifier {
  const clock = createFakeClock();
  return createRowVerifier({
    clock,
    examiner: createExaminer({ clock, isPromoted: () => false, lists: {} } as unknown as ExaminerDeps),
    batches: null as unknown as RowVerifierDeps["batches"],
    filler: { fill: () => null },
    testKeys: createTestKeys({ clock, slowMs: 0, isPromoted: () => false }),
    sites: { siteOf },
    roomAt: () => 1,
  });
}

/** Analysed, verified, put together. @returns the job, and its results as JSON */
async function resultsOf(content: Buffer, rows: RowVerifier, livemode: boolean) {
  const objects = createMemoryObjects();
  const { id, teamId } = await queueFile(sql, objects, content, { livemode });
  const { run } = createRunner({ sql, objects, rows });
  for (const number of [-1, 0, 1]) assert.equal(await run(id, number), true);
  const job = await findJob(sql, teamId, id);
  assert.ok(job !== null);
  const lines = String(objects.kept.get(`${job.results_key}.jsonl`) ?? "").split("\n");
  return { job, results: lines.slice(0, -1).map((line) => JSON.parse(line)) };
}

describe("a cell that is no address", () => {
  const { recordBytes } = LIMITS.bulk;
  for (const [kind, cell] of [
    ["near the longest record", "x".repeat(recordBytes - 16)],
    ["of control characters", "\u0001".repeat(recordBytes - 16)],
    ["of characters of several bytes", "ä".repeat(recordBytes / 2 - 16)],
  ] as const)
    it(`${kind} is a malformed row, with its beginning in the result and itself in the input`, async () => {
      const content = Buffer.from(`email,n\nvalid@example.com,1\n"${cell}",2\n`);
      const { job, results } = await resultsOf(content, testRows(), false);
      assert.deepEqual([job.status, job.error_code, job.malformed], ["completed", null, 1]);
      const [, large] = results;
      assert.deepEqual([large.verdict, large.reason], ["invalid", "invalid_format"]);
      assert.ok(large.input === cell && large.columns[0] === cell);
      assert.ok(cell.startsWith(large.email));
      assert.ok(Buffer.byteLength(large.email) > LIMITS.http.emailBytes - 4);
      assert.ok(Buffer.byteLength(large.email) <= LIMITS.http.emailBytes);
    });
});

describe("a result that is too large to be kept", () => {
  it("is unknown and free, and the others are what they are", async () => {
    const rows = rowsBy(async (emails) =>
      emails.map((email) => {
        const verified = answered(email, "valid");
        if (!email.startsWith("large")) return { verified };
        const reply = "x".repeat(LIMITS.results.resultBytes);
        const evidence = {
          stage: "rcpt",
          code: 250,
          enhanced_code: null,
          reply,
          rule: "test",
          mx_host: "",
        };
        return { verified: { ...verified, result: { ...verified.result, evidence } as never } };
      }),
    );
    const emails = ["a@x.example", "large@x.example", "b@x.example", "large@x.example"];
    const { job, results } = await resultsOf(Buffer.from(`email\n${emails.join("\n")}\n`), rows, true);
    assert.deepEqual([job.status, job.valid, job.unknown, job.charged], ["completed", 2, 2, 2]);
    assert.deepEqual(
      results.map(({ verdict }) => verdict),
      ["valid", "unknown", "valid", "unknown"],
    );
  });
});
