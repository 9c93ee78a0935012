import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { ended, jobOf, ledgerState, resultLines, resultsText } from "../../support/bulk.ts";
import { createOwnBucket, type OwnBucket, submitAs, uploaded } from "../../support/bulk-files.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/** Lists that were uploaded, or lie in a bucket of the team's: from submission to their end. */
const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;
let team: Team;
let own: OwnBucket;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  [api] = await Promise.all([deployment.startApi(), deployment.startRelay(), deployment.startBulk()]);
  team = await deployment.team("enterprise");
  own = await createOwnBucket(deployment);
  closing.after(() => own.close());
});
after(closing.close);

const LIST = [
  "name;email;note",
  'Ann;exists-f1@plain.test;"a; ""b""\r\nc"',
  "Bö;missing-f2@plain.test",
  "",
  "Cy;not an address;x;more",
  "Ann again; exists-f1@PLAIN.test ;",
  "",
].join("\r\n");

/** Asserts the answer to each row of LIST. */
async function assertAnswered(id: string): Promise<void> {
  const done = await ended(api, team.liveKey, id);
  assert.equal(done.status, "completed", JSON.stringify(done.error));
  assert.deepEqual(done.rows, { total: 4, processed: 4, deferred: 0, duplicates: 1, malformed: 1, empty: 0 });
  const lines = await resultLines(api, team.liveKey, id);
  assert.deepEqual(
    lines.map(({ row, input, duplicate_of, verdict }) => [row, input, duplicate_of, verdict]),
    [
      [1, "exists-f1@plain.test", null, "valid"],
      [2, "missing-f2@plain.test", null, "invalid"],
      [3, "not an address", null, "invalid"],
      [4, " exists-f1@PLAIN.test ", 1, "valid"],
    ],
  );
  const csv = await resultsText(api, team.liveKey, id);
  assert.ok(csv.startsWith("name;email;note;;rcpt_verdict;"), csv);
}

describe("an upload", () => {
  it("says how many jobs there are of it, and is listed apart while there are none", async () => {
    const { liveKey: key } = await deployment.team("enterprise");
    const used = await uploaded(api, key, LIST);
    const unused = await uploaded(api, key, LIST);
    await api.send("POST", "/v1/uploads", { key, body: { filename: "not sent.csv" } });
    const jobs: string[] = [];
    for (let i = 0; i < 2; i++) jobs.push((await submitAs(api, key, { upload_id: used })).body.id);
    const listed = async (query: string) => {
      type Uploads = { data: { id: string; jobs: number }[] };
      const { body } = await api.send<Uploads>("GET", `/v1/uploads?${query}`, { key });
      return body.data.map(({ id, jobs }) => [id, jobs]);
    };
    assert.deepEqual((await listed("unused=false")).slice(1), [
      [unused, 0],
      [used, 2],
    ]);
    assert.deepEqual(await listed("unused=true"), [[unused, 0]]);
    for (const id of jobs)
      assert.equal((await api.send("DELETE", `/v1/bulk-jobs/${id}`, { key })).status, 204);
    assert.deepEqual(await listed("unused=true"), [
      [unused, 0],
      [used, 0],
    ]);
  });
});

describe("a list", () => {
  it("that was uploaded is a job, analysed and answered in the background", async () => {
    const upload_id = await uploaded(api, team.liveKey, LIST, "my%20list.csv");
    const { status, headers, body } = await submitAs(api, team.liveKey, { upload_id });
    assert.equal(status, 202, JSON.stringify(body));
    assert.equal(headers.get("location"), `/v1/bulk-jobs/${body.id}`);
    const source = { type: "upload", upload_id, filename: "my list.csv", columns: null, warnings: [] };
    assert.deepEqual(body.source, source);
    assert.deepEqual([body.status, body.rows.total, body.started_at], ["queued", 0, null]);
    await assertAnswered(body.id);
    const { columns } = (await jobOf(api, team.liveKey, body.id)).source;
    assert.deepEqual(columns, {
      email: { index: 1, name: "email", chosen_by: "header" },
      others: [],
      delimiter: ";",
      has_header: true,
      encoding: "utf-8",
      escape: '"',
      skipped_lines: [],
      sheet: null,
    });
  });

  it("that lies in a granted bucket is read where it lies, compressed or not", async () => {
    await own.grant(team.id, "in/");
    await own.put("in/list.csv", LIST);
    await own.put("in/list.csv.gz", gzipSync(LIST));
    for (const key of ["in/list.csv", "in/list.csv.gz"]) {
      const source = { bucket: own.bucket, key };
      const { status, body } = await submitAs(api, team.liveKey, { s3: source });
      assert.equal(status, 202, JSON.stringify(body));
      assert.deepEqual(body.source, { type: "s3", ...source, columns: null, warnings: [] });
      await assertAnswered(body.id);
    }
  });

  it("is submitted once for one Idempotency-Key", async () => {
    const upload_id = await uploaded(api, team.liveKey, LIST);
    const headers = { "Idempotency-Key": "files-1" };
    const asked = () => submitAs(api, team.liveKey, { upload_id, metadata: { a: "b" } }, headers);
    const first = await asked();
    const second = await asked();
    assert.deepEqual([first.status, second.status, second.body.id], [202, 202, first.body.id]);
    const other = await submitAs(api, team.liveKey, { upload_id }, headers);
    assert.deepEqual([other.status, other.body.code], [422, "idempotency_mismatch"]);
  });

  it("of a test key costs nothing, and chooses its outcomes", async () => {
    const { id, testKey } = await deployment.team("enterprise");
    const upload_id = await uploaded(api, testKey, "email\nvalid@a.example\ninvalid@a.example\n");
    const job = await submitAs(api, testKey, { upload_id });
    assert.deepEqual([job.status, job.body.livemode], [202, false]);
    const done = await ended(api, testKey, job.body.id);
    assert.deepEqual([done.status, done.verdicts.valid, done.verdicts.invalid], ["completed", 1, 1]);
    assert.deepEqual(await ledgerState(deployment, id), { used: 0, held: 0, leased: 0 });
    const asking = await uploaded(api, testKey, "email\nvalid@a.example\nquota-exceeded@a.example\n");
    const refused = await submitAs(api, testKey, { upload_id: asking });
    const failed = await ended(api, testKey, refused.body.id);
    assert.deepEqual([failed.status, failed.error?.code], ["failed", "quota_exceeded"]);
  });
});

describe("a list that is refused at once", () => {
  it("is none of the three, or more than one, or an inline one with what is said of files", async () => {
    const emails = ["a@plain.test"];
    const s3 = { bucket: "b", key: "k" };
    for (const [body, path] of [
      [{}, "emails"],
      [{ emails, upload_id: "upl_1" }, "upload_id"],
      [{ upload_id: "upl_1", s3 }, "s3"],
      [{ emails, s3 }, "s3"],
      [{ emails: [], s3 }, "emails"],
      [{ emails, email_column: 0 }, "email_column"],
      [{ emails, has_header: false }, "has_header"],
      [{ emails, delimiter: ";" }, "delimiter"],
      [{ upload_id: "upl_1", delimiter: '"' }, "delimiter"],
      [{ upload_id: "upl_1", delimiter: ";;" }, "delimiter"],
      [{ upload_id: "upl_1", email_column: -1 }, "email_column"],
      [{ upload_id: "upl_1", email_column: 1.5 }, "email_column"],
      [{ upload_id: "upl_1", email_column: "" }, "email_column"],
      [{ upload_id: "upl_1", escape_formulas: "yes" }, "escape_formulas"],
      [{ s3: { bucket: "b" } }, "s3.key"],
      [{ s3: { bucket: "b", key: "k".repeat(1_025) } }, "s3.key"],
      [{ s3: { ...s3, region: "x" } }, "s3.region"],
    ] as const) {
      const answer = await submitAs(api, team.liveKey, body);
      const { code, errors } = answer.body as unknown as { code: string; errors?: { path: string }[] };
      assert.deepEqual(
        [answer.status, code, errors?.[0]?.path],
        [400, "validation_failed", path],
        JSON.stringify([body, answer.body]),
      );
    }
  });

  it("is not there: 404 and 409", async () => {
    const otherTeam = await deployment.team("enterprise");
    const theirs = await uploaded(api, otherTeam.liveKey, LIST);
    await own.grant(team.id, "gone/");
    const open = await api.send<{ id: string }>("POST", "/v1/uploads", {
      key: team.liveKey,
      body: { filename: "list.csv" },
    });
    assert.equal(open.status, 201);
    const answers = [
      await submitAs(api, team.liveKey, { upload_id: "upl_none" }),
      await submitAs(api, team.liveKey, { upload_id: theirs }),
      await submitAs(api, team.liveKey, { upload_id: open.body.id }),
      await submitAs(api, team.liveKey, { s3: { bucket: own.bucket, key: "gone/list.csv" } }),
    ];
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.code]),
      [
        [404, "not_found"],
        [404, "not_found"],
        [409, "upload_missing"],
        [409, "source_missing"],
      ],
    );
  });

  it("is not granted: 403, whatever is or is not there", async () => {
    await own.put("private/list.csv", LIST);
    const ownBucket = deployment.settings.S3_BUCKET ?? "";
    // As if an operator had managed to.
    await deployment.sql`
      insert into s3_grants (team_id, bucket, prefix) values (${team.id}, ${ownBucket}, '')`;
    const upload = await uploaded(api, team.liveKey, LIST);
    for (const s3 of [
      { bucket: own.bucket, key: "private/list.csv" },
      { bucket: own.bucket, key: "private/none.csv" },
      { bucket: own.bucket, key: "in/../private/list.csv" },
      { bucket: ownBucket, key: `teams/${team.id}/uploads/${upload}` },
      { bucket: ownBucket.toUpperCase(), key: `teams/${team.id}/uploads/${upload}` },
      { bucket: `${own.bucket}/../${ownBucket}`, key: `teams/${team.id}/uploads/${upload}` },
      { bucket: `${ownBucket}/teams`, key: `${team.id}/uploads/${upload}` },
    ]) {
      const { status, body } = await submitAs(api, team.liveKey, { s3 });
      assert.deepEqual([status, body.code], [403, "s3_not_granted"], JSON.stringify(s3));
    }
  });

  it("is beyond the tier: 402 and 413", async () => {
    const free = await deployment.team("free");
    const small = await deployment.team("starter", { bulkBytes: 100 });
    await own.grant(small.id, "in/");
    await own.put("in/big.csv", "email\n".padEnd(101, "a@plain.test\n"));
    const answers = [
      await submitAs(api, free.liveKey, { upload_id: "upl_none" }),
      await submitAs(api, free.testKey, { s3: { bucket: own.bucket, key: "in/list.csv" } }),
      await submitAs(api, small.liveKey, { s3: { bucket: own.bucket, key: "in/big.csv" } }),
    ];
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.code]),
      [
        [402, "unavailable_in_tier"],
        [402, "unavailable_in_tier"],
        [413, "bulk_too_large"],
      ],
    );
  });
});

describe("a list that turns out to be no job", () => {
  it("fails it, costs nothing, tells its team, and can be mended and tried again", async () => {
    const poor = await deployment.team("enterprise", { dailyQuota: 2 });
    const list = "email\nexists-g1@plain.test\nexists-g2@plain.test\nexists-g3@plain.test\n";
    const upload_id = await uploaded(api, poor.liveKey, list);
    const tooLarge = await submitAs(api, poor.liveKey, { upload_id });
    const first = await ended(api, poor.liveKey, tooLarge.body.id);
    assert.deepEqual([first.status, first.error?.code], ["failed", "bulk_too_large"]);
    await deployment.sql`update teams set limits = '{"dailyQuota": 4}' where id = ${poor.id}`;
    await until("the limit is in force", async () => {
      const { body } = await api.send<{ limit: number }>("GET", "/v1/usage", { key: poor.liveKey });
      return body.limit === 4;
    });
    const taken = await submitAs(api, poor.liveKey, {
      emails: ["exists-g4@plain.test", "missing-g5@plain.test"],
    });
    assert.equal(taken.status, 202);
    await ended(api, poor.liveKey, taken.body.id);
    const short = await submitAs(api, poor.liveKey, { upload_id });
    const second = await ended(api, poor.liveKey, short.body.id);
    assert.deepEqual([second.status, second.error?.code], ["failed", "quota_exceeded"]);
    assert.match(second.error?.detail ?? "", /needs 3 units; 2 are left of the day's 4/);
    assert.deepEqual([second.results, second.verdicts.valid], [null, 0]);
    assert.deepEqual(await ledgerState(deployment, poor.id), { used: 2, held: 0, leased: 0 });
    await deployment.sql`update teams set limits = '{"dailyQuota": 5}' where id = ${poor.id}`;
    // The analysis reads the new limit; the bound on rows is the one that the API had cached.
    const third = await submitAs(api, poor.liveKey, { upload_id });
    assert.equal(third.status, 202);
    const done = await ended(api, poor.liveKey, third.body.id);
    assert.deepEqual([done.status, done.verdicts.valid], ["completed", 3]);
    assert.deepEqual(await ledgerState(deployment, poor.id), { used: 5, held: 0, leased: 0 });
    const events = await deployment.sql<{ type: string }[]>`
      select type from events where team_id = ${poor.id} and type like 'bulk.%' order by id`;
    assert.deepEqual(events.map(({ type }) => type).sort(), [
      "bulk.completed",
      "bulk.completed",
      "bulk.failed",
      "bulk.failed",
    ]);
  });

  it("says why, in words", async () => {
    for (const [content, code] of [
      ["a,b\n1,2\n", "no_email_column"],
      ["email\n", "empty_source"],
      ["PK\x03\x04", "not_readable"],
    ] as const) {
      const upload_id = await uploaded(api, team.liveKey, content);
      const { body } = await submitAs(api, team.liveKey, { upload_id });
      const failed = await ended(api, team.liveKey, body.id);
      assert.deepEqual([failed.status, failed.error?.code, failed.results], ["failed", code, null]);
      assert.ok((failed.error?.detail ?? "").length > 20);
      for (const format of ["csv", "jsonl"]) {
        const none = await api.send<{ code: string; detail: string }>(
          "GET",
          `/v1/bulk-jobs/${body.id}/results?format=${format}`,
          { key: team.liveKey },
        );
        assert.deepEqual([none.status, none.body.code], [409, "no_results"]);
        assert.ok(none.body.detail.includes(failed.error?.detail ?? "-"), none.body.detail);
      }
    }
  });
});
