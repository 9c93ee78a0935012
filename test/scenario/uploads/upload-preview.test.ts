import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { UploadPreview } from "../../../src/features/uploads/read-preview.ts";
import { ledgerState } from "../../support/bulk.ts";
import { uploaded } from "../../support/bulk-files.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";

/** The preview of how an upload will be read, before there is a job. */
const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;
let team: Team;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  api = await deployment.startApi();
  team = await deployment.team("enterprise");
});
after(closing.close);

type Answer = UploadPreview & { code?: string; detail?: string; candidates: UploadPreview["candidates"] };

async function preview(list: string | Uint8Array, body: Record<string, unknown> = {}) {
  const id = await uploaded(api, team.liveKey, list);
  return api.send<Answer>("POST", `/v1/uploads/${id}/preview`, { key: team.liveKey, body });
}

const LIST = `# exported today\nName,Business Email,Owner\n${Array.from(
  { length: 300 },
  (_, n) => `Nä ${n},${n % 7 === 1 ? "" : `c${n}@example.com`},o${n % 3}@corp.example\n`,
).join("")}Total: 300\n`;

describe("a preview of an upload", () => {
  it("refuses a short file with the reason why its job would fail, wherever that is", async () => {
    const { status, body } = await preview(
      'email,note\na@example.com,fine\nb@example.com,"never\nc@example.com,x,y\n',
    );
    assert.deepEqual([status, body.code], [422, "quote_not_closed"]);
    assert.match(String(body.detail), /row 2/);
  });

  it("shows layout, candidates with their evidence, and ten rows, for nothing", async () => {
    for (const list of [LIST, gzipSync(LIST), Buffer.from(`\ufeff${LIST}`, "utf16le")]) {
      const { status, body } = await preview(list);
      assert.equal(status, 200, JSON.stringify(body));
      assert.deepEqual(body.layout.email, { index: 1, name: "Business Email", chosen_by: "header" });
      assert.deepEqual(body.layout.skipped_lines, [{ line: 1, text: "# exported today", reason: "comment" }]);
      assert.equal(body.layout.encoding, list.length > 20_000 ? "utf-16le" : "utf-8");
      assert.deepEqual(body.header, ["Name", "Business Email", "Owner"]);
      assert.deepEqual(
        body.candidates.map(({ index, addresses, distinct, score }) => [
          index,
          addresses,
          distinct,
          score > 0,
        ]),
        [
          [1, 257, 257, true],
          [2, 300, 3, false],
        ],
      );
      assert.equal(body.candidates[1]?.parts.header, -40);
      assert.equal(body.rows.length, 10);
      assert.deepEqual(body.rows[1], { row: 2, input: "", columns: ["Nä 1", "", "o1@corp.example"] });
      assert.deepEqual(body.warnings, []);
    }
    assert.deepEqual(await ledgerState(deployment, team.id), { used: 0, held: 0, leased: 0 });
  });

  it("goes by what is said of the file", async () => {
    const list = "Home;Work\na@example.com;b@example.com\n";
    const { body } = await preview(list, { email_column: "work", has_header: true, delimiter: ";" });
    assert.deepEqual(body.layout.email, { index: 1, name: "Work", chosen_by: "option" });
    assert.deepEqual(body.rows, [
      { row: 1, input: "b@example.com", columns: ["a@example.com", "b@example.com"] },
    ]);
  });

  it("is refused as a job would be", async () => {
    for (const [list, body, code] of [
      ["Home Email,Work Email\na@example.com,b@example.com\n", {}, "email_column_ambiguous"],
      ["id,name\n1,A\n", {}, "no_email_column"],
      ["email\na@example.com\n", { email_column: "mail" }, "no_email_column"],
      ["", {}, "empty_source"],
      ["%PDF-1.7", {}, "not_csv"],
      [`a@example.com${",x".repeat(3_000)}\n`, {}, "too_many_columns"],
      [gzipSync(LIST).subarray(0, 200), {}, "not_readable"],
    ] as const) {
      const answer = await preview(list, body);
      assert.deepEqual([answer.status, answer.body.code], [422, code], JSON.stringify(answer.body));
      assert.equal(answer.headers.get("content-type"), "application/problem+json");
    }
    const { body } = await preview("Home Email,Work Email\na@example.com,b@example.com\n");
    assert.deepEqual(body.candidates, [
      { index: 0, name: "Home Email", addresses: 1, distinct: 1 },
      { index: 1, name: "Work Email", addresses: 1, distinct: 1 },
    ]);
  });

  it("is of an upload of the team whose bytes are there", async () => {
    const otherTeam = await deployment.team("enterprise");
    const free = await deployment.team("free");
    const theirs = await uploaded(api, otherTeam.liveKey, LIST);
    const open = await api.send<{ id: string }>("POST", "/v1/uploads", {
      key: team.liveKey,
      body: { filename: "list.csv" },
    });
    const ask = (id: string, key: string, body: Record<string, unknown> = {}) =>
      api.send<{ code: string }>("POST", `/v1/uploads/${id}/preview`, { key, body });
    const answers = [
      await ask("upl_none", team.liveKey),
      await ask(theirs, team.liveKey),
      await ask(open.body.id, team.liveKey),
      await ask(theirs, free.liveKey),
      await ask(theirs, otherTeam.liveKey, { column: 1 }),
      await ask(theirs, "rcpt_live_none"),
    ];
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.code]),
      [
        [404, "not_found"],
        [404, "not_found"],
        [409, "upload_missing"],
        [402, "unavailable_in_tier"],
        [400, "validation_failed"],
        [401, "unauthorized"],
      ],
    );
  });

  it("cuts long cells", async () => {
    const { body } = await preview(`email,note\na@example.com,${"é".repeat(10_000)}\n`);
    assert.equal(body.rows[0]?.columns[1], "é".repeat(200));
  });
});
