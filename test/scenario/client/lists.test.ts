import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import {
  type Client,
  createClient,
  RcptError,
  type UploadProgress,
} from "../../../packages/client/src/index.ts";
import { createDeployment, type Team, type TestApi } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/** The client library against the service, on mail servers. */
const MIB = 1_048_576;
const LIST = "name,email\nAnn,exists@plain.test\nBob,exists@catchall.test\nEve,missing@plain.test\n";
const closing = createClosing();
let api: TestApi;
let team: Team;
let client: Client;
let folder: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "rcpt-client-"));
  closing.after(() => rmSync(folder, { recursive: true, force: true }));
  const deployment = await createDeployment();
  closing.after(() => deployment.stop());
  // Greylisted rows wait for longer than any test.
  const deferral = { DEFERRAL_FIRST_S: "3600", DEFERRAL_MAX_S: "7200" };
  [api, team] = await Promise.all([
    deployment.startApi(),
    deployment.team("enterprise"),
    deployment.startRelay(),
    deployment.startBulk(deferral),
  ]);
  client = createClient({ url: api.url, key: team.liveKey });
  writeFileSync(join(folder, "people.csv"), LIST);
});
after(closing.close);

/** Verdicts of a job's rows, in order, when it has ended. */
async function verdictsOf(job: Awaited<ReturnType<Client["bulk"]["submit"]>>): Promise<string[]> {
  const { status, error } = await job.done();
  assert.equal(status, "completed", JSON.stringify(error));
  const found: string[] = [];
  for await (const { verdict } of job.results()) found.push(verdict);
  return found;
}

const EXPECTED = ["valid", "risky", "invalid"];

describe("an address", () => {
  it("is verified by its mail server, by DNS alone, and anew", async () => {
    const { verdict, checks } = await client.verify("exists@plain.test");
    assert.deepEqual([verdict, checks.smtp.code], ["valid", 250]);
    assert.equal((await client.verify("exists@plain.test")).cached, true);
    assert.equal((await client.verify("exists@plain.test", { refresh: true })).cached, false);
    assert.equal((await client.verify("exists-2@plain.test", { probe: false })).reason, "smtp_not_requested");
    assert.ok((client.limits.quota?.remaining ?? 0) > 0);
  });
});

describe("a list", () => {
  it("is a path, a file's URL, a Blob, a stream or an address of the web", async () => {
    const path = join(folder, "people.csv");
    const web = createServer((_, response) => void response.end(LIST));
    await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
    closing.after(() => void web.close());
    const { port } = web.address() as AddressInfo;
    const sources = [
      path,
      pathToFileURL(path),
      new File([LIST], "people.csv"),
      new Blob([LIST]).stream(),
      new URL(`http://127.0.0.1:${port}/lists/people.csv`),
    ];
    for (const source of sources) {
      const job = await client.bulk.submitFile(source, { filename: "people of today.csv" });
      assert.deepEqual(await verdictsOf(job), EXPECTED);
    }
    const { data } = await client.request("GET", "/v1/uploads", { query: { limit: 10 } });
    const sent = data.filter(({ filename }) => filename === "people of today.csv");
    assert.equal(sent.length, sources.length);
    assert.ok(sent.every(({ bytes, status }) => status === "stored" && bytes === LIST.length));
  });

  it("goes through the service where it is asked to, an empty one too", async () => {
    for (const source of [join(folder, "people.csv"), new File([LIST], "people.csv")])
      assert.deepEqual(await verdictsOf(await client.bulk.submitFile(source, { via: "service" })), EXPECTED);
    const empty = await (await client.bulk.submitFile(new Blob([]))).done();
    assert.equal(empty.error?.code, "empty_source");
  });

  it("in parts goes on where it was interrupted", async () => {
    const path = join(folder, "long.csv");
    const note = "x".repeat(12_000);
    const rows = Array.from({ length: 1_000 }, (_, i) => `valid@d${i}.example,${note}\n`);
    writeFileSync(path, `email,note\n${rows.join("")}`);
    const tester = createClient({ url: api.url, key: team.testKey });
    const control = new AbortController();
    let interrupted: UploadProgress | null = null;
    const onProgress = (progress: UploadProgress) => {
      interrupted = progress;
      if (progress.sentBytes > 0) control.abort(new Error("interrupted"));
    };
    const first = tester.bulk.submitFile(path, { partBytes: 5 * MIB, onProgress, signal: control.signal });
    await assert.rejects(first, /interrupted/);
    const { uploadId, totalBytes } = interrupted ?? assert.fail();
    const reports: number[] = [];
    const job = await tester.bulk.submitFile(path, {
      resume: uploadId ?? assert.fail(),
      onProgress: ({ sentBytes }) => void reports.push(sentBytes),
    });
    assert.ok((reports[0] ?? 0) > 0, "what was sent is not sent again");
    assert.equal(reports.at(-1), totalBytes);
    const { status, rows: counted } = await job.done();
    assert.deepEqual([status, counted.processed], ["completed", 1_000]);
    await assert.rejects(
      tester.bulk.submitFile(new Blob([LIST]), { resume: uploadId ?? "" }),
      (error) => error instanceof RcptError && error.code === "not_found",
    );
  });

  it("has its refusal as an error, with the columns to choose from", async () => {
    const { id } = await client.request("PUT", "/v1/uploads/{upload}", {
      path: { upload: "two.csv" },
      body: new Blob(["a@plain.test,b@plain.test\nc@plain.test,d@plain.test\n"]),
    });
    const preview = client.request("POST", "/v1/uploads/{upload}/preview", {
      path: { upload: id },
      body: {},
    });
    await assert.rejects(
      preview,
      (error) =>
        error instanceof RcptError &&
        error.code === "email_column_ambiguous" &&
        error.problem?.candidates?.length === 2,
    );
  });
});

describe("a job", () => {
  it("is followed, read while it runs, cancelled and removed", async () => {
    const job = await client.bulk.submit(["exists@plain.test", "exists@greylist.test", "missing@plain.test"]);
    for await (const { rows } of job.progress()) if (rows.processed === 2) break;
    const answered: number[] = [];
    for await (const { row } of job.results()) answered.push(row);
    assert.deepEqual(answered, [1, 3]);
    const invalid: string[] = [];
    for await (const { input } of job.results({ verdict: "invalid" })) invalid.push(input);
    assert.deepEqual(invalid, ["missing@plain.test"]);
    assert.equal((await job.cancel()).status, "cancelled");
    assert.equal((await job.cancel()).status, "cancelled");
    assert.equal((await client.bulk.job(job.id).done()).status, "cancelled");
    await job.remove();
    const gone = await job.read().catch((error: RcptError) => error.code);
    assert.equal(gone, "not_found");
  });

  it("has events again after a connection that was lost", async () => {
    let connections = 0;
    const losing: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (!String(input).endsWith("/events") || ++connections > 1 || response.body === null) return response;
      // So much of the first event, and then nothing more.
      const reader = response.body.getReader();
      const { value } = await reader.read();
      await reader.cancel();
      return new Response(new Blob([(value ?? new Uint8Array()).slice(0, 40)]), response);
    };
    const watched = createClient({ url: api.url, key: team.testKey, fetch: losing });
    const job = await watched.bulk.submit(["valid@example.com"]);
    assert.equal((await job.done()).status, "completed");
    await until("it has connected again", () => connections === 2);
  });
});
