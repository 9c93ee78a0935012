import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { parse } from "csv-parse/sync";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import {
  ended,
  jobOf,
  ledgerState,
  resultLines,
  resultsText,
  submit,
  submitted,
} from "../../support/bulk.ts";
import { submitAs, uploaded } from "../../support/bulk-files.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/** Jobs with `split_cells`: cells with several addresses, from submission to the results. */
const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;
let team: Team;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  const waits = { DEFERRAL_FIRST_S: "1", DEFERRAL_MAX_S: "60" };
  [api] = await Promise.all([deployment.startApi(), deployment.startRelay(), deployment.startBulk(waits)]);
  team = await deployment.team("enterprise");
});
after(closing.close);

/**
 * A line of the results: its row, and for each address the verified text, the row whose result it copies, and its
 * verdict.
 */
interface SplitLine {
  row: number;
  input: string;
  columns?: string[];
  verdict?: string;
  parts?: { input: string; email: string; duplicate_of: number | null; verdict: string }[];
}

const linesOf = async (id: string, query = "", key = team.liveKey) =>
  (await resultLines(api, key, id, query)) as unknown as SplitLine[];
const shown = ({ row, verdict, parts }: SplitLine) => [
  row,
  parts?.map((part) => [part.input, part.duplicate_of, part.verdict]) ?? verdict,
];

const LIST = [
  "name;email;note",
  'A;"exists-s1@plain.test, missing-s2@plain.test; greylisted-s3@plain.test";"x; ""y"""',
  "B;exists-s4@plain.test;C:\\temp",
  "C;exists-s1@PLAIN.test exists-s5@plain.test exists-s1@plain.test;",
  "D;;",
  "E;no address;",
  'F;"greylisted-s3@plain.test\r\nmissing-s2@plain.test";"é',
  '"',
  "",
].join("\r\n");
const ROWS = { total: 10, processed: 10, deferred: 0, duplicates: 3, malformed: 1, empty: 1 };
const ANSWERS = [
  [
    1,
    [
      ["exists-s1@plain.test", null, "valid"],
      ["missing-s2@plain.test", null, "invalid"],
      ["greylisted-s3@plain.test", null, "valid"],
    ],
  ],
  [2, "valid"],
  [
    3,
    [
      ["exists-s1@PLAIN.test", 1, "valid"],
      ["exists-s5@plain.test", null, "valid"],
    ],
  ],
  [4, "unknown"],
  [5, "invalid"],
  [
    6,
    [
      ["greylisted-s3@plain.test", 1, "valid"],
      ["missing-s2@plain.test", 1, "invalid"],
    ],
  ],
];

function withoutWaiting([row, parts]: unknown[]): unknown[] {
  return [
    row,
    Array.isArray(parts) ? parts.filter(([input]) => !String(input).startsWith("greylisted")) : parts,
  ];
}

/** Our first two columns and the address, of each row. */
const OURS = [
  ["valid;invalid;valid", "exists-s1@plain.test;missing-s2@plain.test;greylisted-s3@plain.test"],
  ["valid", "exists-s4@plain.test"],
  ["valid;valid", "exists-s1@plain.test;exists-s5@plain.test"],
  ["unknown", ""],
  ["invalid", "no address"],
  ["valid;invalid", "greylisted-s3@plain.test;missing-s2@plain.test"],
];

function csvOf(text: string): string[][] {
  const [, ...records] = parse(text, { delimiter: ";" }) as string[][];
  return records;
}

describe("a job with split_cells", () => {
  it("verifies each address of a cell, charges each once, and gives the rows of the file", async () => {
    const { used } = await ledgerState(deployment, team.id);
    const upload_id = await uploaded(api, team.liveKey, LIST);
    const { status, body } = await submitAs(api, team.liveKey, { upload_id, split_cells: true });
    assert.equal(status, 202, JSON.stringify(body));
    // The state while one address of a row waits, and another one of it has its result.
    await until("one address waits", async () => {
      const { rows } = await jobOf(api, team.liveKey, body.id);
      return rows.processed === ROWS.total - 2 && rows.deferred > 0;
    });
    const early = await linesOf(body.id);
    assert.deepEqual(early.map(shown), ANSWERS.map(withoutWaiting));
    assert.equal(csvOf(await resultsText(api, team.liveKey, body.id))[5]?.[3], "invalid");
    deployment.world.relent(true);
    const done = await ended(api, team.liveKey, body.id);
    assert.deepEqual([done.status, done.rows], ["completed", ROWS], JSON.stringify(done.error));
    assert.deepEqual(done.verdicts, { valid: 6, invalid: 3, risky: 0, unknown: 1 });
    assert.deepEqual(done.source.columns?.email, { index: 1, name: "email", chosen_by: "header" });
    assert.deepEqual(await ledgerState(deployment, team.id), { used: used + 5, held: 0, leased: 0 });

    const given = parse(LIST, { delimiter: ";", relax_column_count: true, from_line: 2 }) as string[][];
    const lines = await linesOf(body.id);
    assert.deepEqual(lines.map(shown), ANSWERS);
    assert.deepEqual(
      lines.map(({ input, columns }) => [input, columns]),
      given.map((columns) => [columns[1], columns]),
    );
    const text = await resultsText(api, team.liveKey, body.id);
    const rows = csvOf(text);
    assert.ok(text.startsWith("name;email;note;rcpt_verdict;"));
    assert.ok(text.includes("\r\nB;exists-s4@plain.test;C:\\temp;valid;"));
    assert.deepEqual(
      rows.map((row) => row.slice(0, 3)),
      given,
    );
    assert.deepEqual(
      rows.map((row) => [row[3], row[6]]),
      OURS,
    );
  });

  it("gives of each row what has the verdict that is asked for", async () => {
    const emails = [
      "exists-v1@plain.test missing-v2@plain.test exists-v3@plain.test",
      "missing-v2@plain.test",
      "",
    ];
    const job = await submitted(api, team.liveKey, emails, { split_cells: true });
    assert.deepEqual(job.rows, {
      total: 5,
      processed: 0,
      deferred: 0,
      duplicates: 1,
      malformed: 0,
      empty: 1,
    });
    await ended(api, team.liveKey, job.id);
    const valid = await linesOf(job.id, "&verdict=valid");
    assert.deepEqual(valid.map(shown), [
      [
        1,
        [
          ["exists-v1@plain.test", null, "valid"],
          ["exists-v3@plain.test", null, "valid"],
        ],
      ],
    ]);
    assert.deepEqual((await linesOf(job.id, "&verdict=invalid")).map(shown), [
      [1, [["missing-v2@plain.test", null, "invalid"]]],
      [2, "invalid"],
    ]);
    assert.equal((await linesOf(job.id, "&verdict=risky")).length, 0);
    assert.deepEqual((await linesOf(job.id, "&reason=mailbox_not_found&limit=1")).map(shown), [
      [1, [["missing-v2@plain.test", null, "invalid"]]],
    ]);
    assert.equal((await linesOf(job.id, "&reason=mailbox_not_found&verdict=valid")).length, 0);
    const csv = await resultsText(api, team.liveKey, job.id, "?format=csv&verdict=valid");
    const [header = [], row = [], ...more] = parse(csv) as string[][];
    assert.deepEqual([header[0], more.length], ["email", 0]);
    assert.deepEqual(row.slice(0, 2), [emails[0], "valid;valid"]);
    assert.equal(row[4], "exists-v1@plain.test;exists-v3@plain.test");
  });

  it("goes by the addresses in the bounds of a request", async () => {
    const emails = Array.from({ length: 5_001 }, (_, i) => `a${i}@x.test b${i}@x.test`);
    const { status, body } = await submit(api, team.liveKey, emails, { split_cells: true });
    assert.deepEqual([status, body.code], [413, "inline_too_large"]);
    assert.ok(emails.length < LIMITS.bulk.inlineRows);
  });

  it("keeps a row together where a chunk ends within it, for test keys too", async () => {
    const cells = Array.from(
      { length: 1_700 },
      (_, i) => `valid+${i}@a.example;invalid+${i}@b.example valid+x${i}@c.example`,
    );
    const upload_id = await uploaded(
      api,
      team.testKey,
      `id,email\n${cells.map((cell, i) => `${i},${cell}\n`).join("")}`,
    );
    const { body } = await submitAs(api, team.testKey, { upload_id, split_cells: true });
    const done = await ended(api, team.testKey, body.id);
    assert.deepEqual([done.status, done.rows.total], ["completed", 5_100], JSON.stringify(done.error));
    const [{ chunks = 0 } = {}] = await deployment.sql<{ chunks: number }[]>`
      select count(*)::int as chunks from job_tasks where job_id = ${body.id} and kind = 'chunk' and row_count % 3 <> 0`;
    assert.ok(chunks > 0, "no chunk ends within a row");
    const lines = await linesOf(body.id, "", team.testKey);
    assert.deepEqual(
      lines.map(({ row, input, parts }) => [row, input, parts?.map(({ verdict }) => verdict).join(";")]),
      cells.map((cell, i) => [i + 1, cell, "valid;invalid;valid"]),
    );
  });

  it("without it a cell with several addresses is malformed", async () => {
    const upload_id = await uploaded(
      api,
      team.liveKey,
      readFileSync("test/fixtures/lists/multi-in-cell.csv"),
    );
    const { body } = await submitAs(api, team.liveKey, { upload_id });
    const done = await ended(api, team.liveKey, body.id);
    assert.deepEqual([done.status, done.rows.total, done.rows.malformed], ["completed", 5, 5]);
    const reasons = (await resultLines(api, team.liveKey, body.id)).map(({ reason }) => reason);
    assert.deepEqual([...new Set(reasons)], ["several_addresses"]);
  });
});
