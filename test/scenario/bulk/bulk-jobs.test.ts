import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import * as v from "valibot";
import { BulkJobSchema } from "../../../src/api/schemas/bulk.ts";
import type { BulkJob } from "../../../src/features/bulk/jobs/job-view.ts";
import { newId } from "../../../src/platform/ids.ts";
import { ended, jobOf, resultLines, resultsText, submit, submitted } from "../../support/bulk.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { createTcpGate, type TcpGate, throughGate } from "../../support/tcp-gate.ts";
import { until } from "../../support/until.ts";

/** Jobs as their teams use them; two workers. */
const closing = createClosing();
let deployment: TestDeployment;
let gate: TcpGate;
let api: TestApi;
let team: Team;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  const { S3_ENDPOINT = "" } = deployment.settings;
  gate = await createTcpGate(S3_ENDPOINT);
  closing.after(() => gate.close());
  const settings = { S3_ENDPOINT: throughGate(S3_ENDPOINT, gate), CHECK_THREADS: "2" };
  [api] = await Promise.all([
    deployment.startApi(settings),
    deployment.startRelay(settings),
    deployment.startBulk(settings),
    deployment.startBulk(settings),
  ]);
  team = await deployment.team("enterprise");
});
after(closing.close);

/** Keys of a team's objects. */
async function objectsOf(teamId: string): Promise<string[]> {
  const { S3_ENDPOINT = "", S3_REGION = "", S3_BUCKET = "", ...rest } = deployment.settings;
  const credentials = {
    accessKeyId: rest.S3_ACCESS_KEY_ID ?? "",
    secretAccessKey: rest.S3_SECRET_ACCESS_KEY ?? "",
  };
  const client = new S3Client({
    endpoint: S3_ENDPOINT,
    region: S3_REGION,
    credentials,
    forcePathStyle: true,
  });
  try {
    const listed = await client.send(
      new ListObjectsV2Command({ Bucket: S3_BUCKET, Prefix: `teams/${teamId}/` }),
    );
    return (listed.Contents ?? []).map(({ Key }) => Key ?? "");
  } finally {
    client.destroy();
  }
}

describe("a test key", () => {
  it("chooses the outcomes of rows by their local parts, and costs nothing", async () => {
    const outcomes = [
      "valid",
      "invalid",
      "risky",
      "unknown",
      "catch-all",
      "disposable",
      "role",
      "full",
      "greylisted",
      "slow",
    ];
    const emails = [...outcomes.map((local) => `${local}@example.com`), "valid@example.com", "nonsense"];
    const job = await submitted(api, team.testKey, emails);
    assert.equal(job.livemode, false);
    const done = await ended(api, team.testKey, job.id);
    v.assert(BulkJobSchema, done);
    assert.deepEqual(done.verdicts, { valid: 2, invalid: 2, risky: 5, unknown: 3 });
    const lines = await resultLines(api, team.testKey, job.id);
    assert.ok(lines.every(({ livemode }) => !livemode));
    assert.deepEqual([lines[9]?.reason, lines[10]?.duplicate_of], ["deadline", 1]);
    const used = await deployment.sql`select from quota_days where team_id = ${team.id} and used > 0`;
    assert.equal(used.length, 0);
    const [event] = await deployment.sql`select livemode from events where data->>'id' = ${job.id}`;
    assert.equal(event?.livemode, false);
  });

  it("gets for the list what a test address asks for", async () => {
    for (const [local, status, code] of [
      ["quota-exceeded", 429, "quota_exceeded"],
      ["rate-limited", 429, "rate_limited"],
      ["unavailable-in-tier", 402, "unavailable_in_tier"],
    ] as const) {
      const answer = await submit(api, team.testKey, ["valid@example.com", `${local}@example.com`]);
      assert.deepEqual([answer.status, answer.body.code], [status, code]);
    }
  });
});

describe("a job", () => {
  it("is verified by the team's blocklist and tier, with evidence where it is asked for", async () => {
    const pro = await deployment.team("pro");
    await api.send("POST", "/v1/blocklist", { key: pro.session, body: { domain: "lockstep.test" } });
    const emails = ["exists@plain.test", "exists@lockstep.test", "info@plain.test"];
    const job = await submitted(api, pro.liveKey, emails);
    await ended(api, pro.liveKey, job.id);
    assert.deepEqual(
      (await resultLines(api, pro.liveKey, job.id)).map(({ reason }) => reason),
      ["smtp_not_in_tier", "blocklisted_domain", "role_address"],
    );
    const shown = await submitted(api, team.liveKey, ["missing@plain.test"], { evidence: true });
    await ended(api, team.liveKey, shown.id);
    assert.equal((await resultLines(api, team.liveKey, shown.id))[0]?.evidence?.stage, "rcpt");
  });

  it("takes whatever strings a list holds, and gives them back", async () => {
    const emails = [
      "\0",
      "",
      "a\r\nb@plain.test",
      "\ud800",
      '"',
      "x".repeat(5_000),
      "exists@plain.test\n",
      "=cmd|' /C'!A0",
    ];
    const job = await submitted(api, team.testKey, emails, { metadata: { "": undefined, ünï: "\u2028" } });
    const done = await ended(api, team.testKey, job.id);
    // Nothing can be seen in the first two; the third and the last but one hold an address, which stands for `unknown`.
    assert.deepEqual([done.rows.empty, done.rows.malformed, done.verdicts.invalid], [2, 4, 4]);
    assert.deepEqual(done.metadata, { ünï: "\u2028" });
    const lines = await resultLines(api, team.testKey, job.id);
    assert.deepEqual(
      lines.map(({ input }) => input),
      // Half of a surrogate pair cannot be encoded: bytes have U+FFFD instead.
      emails.map((email) => email.replace("\ud800", "\ufffd")),
    );
    assert.ok((await resultsText(api, team.testKey, job.id)).includes('"a\r\nb@plain.test",unknown'));
  });

  it("has results as CSV and JSONL, whole or by verdict", async () => {
    const emails = ["exists@plain.test", 'odd "quoted", address', "missing@plain.test", "exists@plain.test"];
    const job = await submitted(api, team.liveKey, emails);
    const done = await ended(api, team.liveKey, job.id);
    assert.equal(done.results?.csv_url, `/v1/bulk-jobs/${job.id}/results?format=csv`);
    const csv = await resultsText(api, team.liveKey, job.id);
    assert.deepEqual(
      csv.split("\r\n").map((line) => line.split(",").slice(0, 3).join(",")),
      [
        "email,rcpt_verdict,rcpt_reason",
        "exists@plain.test,valid,accepted_mailbox",
        '"odd ""quoted"", address",invalid',
        "missing@plain.test,invalid,mailbox_not_found",
        "exists@plain.test,valid,accepted_mailbox",
        "",
      ],
    );
    const response = await fetch(`${api.url}/v1/bulk-jobs/${job.id}/results?format=jsonl`, {
      headers: { Authorization: `Bearer ${team.liveKey}` },
    });
    await response.arrayBuffer();
    assert.deepEqual(
      ["content-type", "content-disposition", "cache-control", "x-content-type-options"].map((name) =>
        response.headers.get(name),
      ),
      ["application/x-ndjson", `attachment; filename="${job.id}.jsonl"`, "no-store", "nosniff"],
    );
    const invalid = await resultsText(api, team.liveKey, job.id, "?format=csv&verdict=invalid");
    assert.equal(invalid.split("\r\n").length, 4);
    const valid = await resultLines(api, team.liveKey, job.id, "&verdict=valid");
    assert.deepEqual(
      valid.map(({ row, duplicate_of }) => [row, duplicate_of]),
      [
        [1, null],
        [4, 1],
      ],
    );
    const wrong = await api.send("GET", `/v1/bulk-jobs/${job.id}/results?format=xml`, { key: team.liveKey });
    assert.equal(wrong.status, 400);
  });

  it("is listed newest first, a page at a time", async () => {
    const lister = await deployment.team("starter");
    const first = await submitted(api, lister.testKey, ["valid@example.com"]);
    const second = await submitted(api, lister.testKey, ["valid@example.com"], { metadata: { n: "2" } });
    type Page = { data: BulkJob[]; next_cursor: string | null };
    const page = await api.send<Page>("GET", "/v1/bulk-jobs?limit=1", { key: lister.liveKey });
    assert.deepEqual([page.body.data[0]?.id, page.body.data[0]?.metadata], [second.id, { n: "2" }]);
    const next = await api.send<Page>("GET", `/v1/bulk-jobs?limit=1&cursor=${page.body.next_cursor}`, {
      key: lister.liveKey,
    });
    assert.deepEqual([next.body.data.map(({ id }) => id), next.body.next_cursor], [[first.id], null]);
  });

  it("refuses what is no list, naming the field", async () => {
    const bodies: [unknown, string][] = [
      [{}, "emails"],
      [{ emails: [] }, "emails"],
      [{ emails: ["a@b.test", 7] }, "emails.1"],
      [{ emails: ["a@b.test"], upload_id: "upl_1" }, "upload_id"],
      [{ emails: ["a@b.test"], s3: { bucket: "b", key: "k" } }, "s3"],
      [{ emails: ["a@b.test"], metadata: { a: 1 } }, "metadata.a"],
      [{ emails: ["a@b.test"], metadata: { a: "x".repeat(501) } }, "metadata.a"],
      [
        { emails: ["a@b.test"], metadata: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [i, ""])) },
        "metadata",
      ],
      [{ emails: ["a@b.test"], metadata: { [`${"k".repeat(41)}`]: "" } }, `metadata.${"k".repeat(41)}`],
      [{ emails: ["a@b.test"], metadata: { a: "\0" } }, "metadata.a"],
      [{ emails: ["a@b.test"], metadata: { a: "\ud800" } }, "metadata.a"],
      [{ emails: ["a@b.test"], webhook_url: "ftp://example.com" }, "webhook_url"],
    ];
    for (const [body, path] of bodies) {
      const answer = await api.send<{ errors: { path: string }[] }>("POST", "/v1/verify/bulk", {
        key: team.testKey,
        body,
      });
      assert.deepEqual([answer.status, answer.body.errors?.[0]?.path], [400, path], JSON.stringify(body));
    }
    const many = { emails: Array.from({ length: 9_999 }, () => 1) };
    assert.equal((await api.send("POST", "/v1/verify/bulk", { key: team.testKey, body: many })).status, 400);
  });

  it("is deleted with its objects when it is removed, or its retention is over", async () => {
    const owner = await deployment.team("enterprise");
    const jobs = await Promise.all([1, 2, 3].map(() => submitted(api, owner.testKey, ["valid@example.com"])));
    for (const { id } of jobs) await ended(api, owner.testKey, id);
    const [removed, expired, kept] = jobs.map(({ id }) => id);
    assert.equal((await api.send("DELETE", `/v1/bulk-jobs/${removed}`, { key: owner.session })).status, 204);
    assert.equal((await api.send("GET", `/v1/bulk-jobs/${removed}`, { key: owner.liveKey })).status, 404);
    assert.equal((await api.send("DELETE", `/v1/bulk-jobs/${removed}`, { key: owner.session })).status, 404);
    await deployment.sql`update jobs set completed_at = now() - interval '31 days' where id = ${expired ?? ""}`;
    // As if the rest between removal and the end of its objects were over.
    await until("the expired one is hidden", async () => {
      const { status } = await api.send("GET", `/v1/bulk-jobs/${expired}`, { key: owner.liveKey });
      return status === 404;
    });
    await deployment.sql`update jobs set removed_at = now() - interval '1 hour' where removed_at is not null`;
    await until("their objects are gone", async () => {
      const keys = await objectsOf(owner.id);
      return keys.length > 0 && keys.every((key) => key.startsWith(`teams/${owner.id}/jobs/${kept}/`));
    });
    await until("their rows are gone", async () => {
      const rows = await deployment.sql`select id from jobs where team_id = ${owner.id}`;
      return rows.length === 1;
    });
    assert.equal((await jobOf(api, owner.liveKey, kept ?? "")).status, "completed");
  });
});

describe("a submission whose process died", () => {
  it("is given up in time: its hold is released, and it was never visible", async () => {
    const owner = await deployment.team("enterprise");
    const id = newId("job");
    await deployment.sql`
      insert into jobs (id, team_id, livemode, status, source, source_key, options, daily_quota, bulk_bytes, probing,
        with_evidence, metadata, created_at)
      values (${id}, ${owner.id}, true, 'submitting', '{"type":"inline"}', 'k', '{}', 5, 5, true, false, '{}',
        now() - interval '1 hour')`;
    await deployment.sql`
      insert into quota_holds (job_id, team_id, day, units) values (${id}, ${owner.id}, current_date, 5)`;
    for (const [method, path] of [
      ["GET", ""],
      ["POST", "/cancel"],
      ["DELETE", ""],
    ] as const)
      assert.equal(
        (await api.send(method, `/v1/bulk-jobs/${id}${path}`, { key: owner.session })).status,
        404,
      );
    await until("it is given up", async () => {
      const held = await deployment.sql`select from quota_holds where job_id = ${id}`;
      return held.length === 0;
    });
    const events =
      await deployment.sql`select from events where team_id = ${owner.id} and type like 'bulk.%'`;
    assert.equal(events.length, 0);
  });
});

describe("a deployment without object storage", () => {
  it("says so: 503, and 402 first where the tier has no bulk", async () => {
    const bare = await deployment.startApi({ S3_ENDPOINT: "", S3_BUCKET: "" });
    const free = await deployment.team("free");
    const answers = [
      await submit(bare, team.liveKey, ["exists@plain.test"]),
      await submit(bare, free.liveKey, ["exists@plain.test"]),
    ];
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.code]),
      [
        [503, "feature_unconfigured"],
        [402, "unavailable_in_tier"],
      ],
    );
    await bare.stop();
  });
});

describe("object storage that fails", () => {
  it("refuses a list with 503, and gives back what it held", async () => {
    const owner = await deployment.team("enterprise");
    gate.shut();
    try {
      const answer = await submit(api, owner.liveKey, ["exists@plain.test"]);
      assert.deepEqual([answer.status, answer.body.code], [503, "unavailable"]);
      const held = await deployment.sql`select from quota_holds where team_id = ${owner.id}`;
      assert.equal(held.length, 0);
      const list = await api.send<{ data: BulkJob[] }>("GET", "/v1/bulk-jobs", { key: owner.liveKey });
      assert.deepEqual(list.body.data, []);
    } finally {
      gate.open();
    }
  });

  it("makes a job wait, and costs it nothing", async () => {
    const before = await submitted(api, team.testKey, ["valid@example.com"]);
    await ended(api, team.testKey, before.id);
    const host = deployment.world.host("mx.lockstep.test");
    host.hold("rcpt");
    const job = await submitted(api, team.liveKey, ["exists-storage@lockstep.test"]);
    await until(
      "it is under way",
      async () => (await jobOf(api, team.liveKey, job.id)).status === "processing",
    );
    gate.shut();
    host.release();
    const results = await api.send("GET", `/v1/bulk-jobs/${before.id}/results`, { key: team.liveKey });
    gate.open();
    assert.deepEqual([results.status, results.body.code], [503, "unavailable"]);
    const done = await ended(api, team.liveKey, job.id);
    assert.deepEqual([done.status, done.verdicts.valid], ["completed", 1]);
  });
});

describe("a job's own webhook", () => {
  it("needs the team's signing secret, and is told of the end", async () => {
    const told: string[] = [];
    const receiver = createServer((request: IncomingMessage, response) => {
      request.on("data", (chunk) => told.push(String(chunk)));
      request.on("end", () => response.end());
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    closing.after(() => new Promise((resolve) => receiver.close(() => resolve())));
    const webhook_url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/done`;
    const refused = await submit(api, team.testKey, ["valid@example.com"], { webhook_url });
    assert.equal(refused.status, 400);
    assert.match(JSON.stringify(refused.body), /POST \/v1\/team\/webhook-secret/);
    const secret = await api.send("POST", "/v1/team/webhook-secret", { key: team.session });
    assert.ok(secret.status < 300, JSON.stringify(secret.body));
    const job = await submitted(api, team.testKey, ["valid@example.com"], { webhook_url });
    const body = await until("the webhook is told", () => told.find((text) => text.includes(job.id)) ?? null);
    const event = JSON.parse(body);
    assert.deepEqual([event.type, event.data.id, event.data.status], ["bulk.completed", job.id, "completed"]);
  });
});
