import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { uploadKey } from "../../../src/features/uploads/upload-sql.ts";
import { systemClock } from "../../../src/platform/time/clock.ts";
import { createObjectStreams, type ObjectStreams } from "../../../src/stores/objects/object-streams.ts";
import { createObjectStore, type ObjectStore } from "../../../src/stores/objects/objects.ts";
import { drained } from "../../support/drained.ts";
import { createProcesses } from "../../support/processes.ts";
import { type FaultyS3, type PassingRequest, startFaultyS3 } from "../../support/s3-faults.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";
import { listBelow } from "../../support/uploads.ts";

/** Files uploaded through the API or directly to object storage: stored completely or not at all, in bounded memory. */
const MIB = 1_048_576;
/** The default. */
const RETENTION_DAYS = 30;
const closing = createClosing();
const processes = createProcesses();
let deployment: TestDeployment;
let api: TestApi;
let team: Team;
let store: ObjectStore;
let streams: ObjectStreams;
let faulty: FaultyS3;
/** Awaited before parts are passed on to object storage; null: not awaited. */
let parts: Promise<void> | null = null;

const isPart = ({ method, url }: PassingRequest) => method === "PUT" && url.includes("partNumber=");

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  closing.after(() => processes.close());
  const { S3_ENDPOINT, S3_REGION, S3_BUCKET, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY } =
    deployment.settings as Record<string, string>;
  const endpoint = S3_ENDPOINT ?? "";
  faulty = await startFaultyS3(endpoint, (passing) =>
    parts !== null && isPart(passing) ? { until: parts } : null,
  );
  closing.after(() => faulty.close());
  store = createObjectStore(
    {
      endpoint,
      publicEndpoint: endpoint,
      region: S3_REGION ?? "",
      bucket: S3_BUCKET ?? "",
      credentials: { accessKeyId: S3_ACCESS_KEY_ID ?? "", secretAccessKey: S3_SECRET_ACCESS_KEY ?? "" },
    },
    systemClock,
  );
  closing.after(() => store.stop());
  streams = createObjectStreams(store, systemClock);
  [api] = await Promise.all([deployment.startApi(), deployment.startRelay()]);
  team = await deployment.team("enterprise");
});
after(closing.close);

/** `curl -T`, its body still to be sent. */
function beginPut(
  url: string,
  name: string,
  { key = team.liveKey, ...headers }: { key?: string; [name: string]: string } = {},
): ClientRequest {
  return request(`${url}/v1/uploads/${encodeURIComponent(name)}`, {
    method: "PUT",
    agent: false,
    headers: { authorization: `Bearer ${key}`, expect: "100-continue", ...headers },
  });
}

async function answerOf(req: ClientRequest) {
  const [res] = (await once(req, "response")) as [IncomingMessage];
  return { status: res.statusCode, body: JSON.parse(await text(res)) as Record<string, unknown> };
}

/** Sends pieces as fast as they are taken. @returns their hash, and how many bytes have been handed over so far */
function pour(req: ClientRequest, totalBytes: number) {
  const hash = createHash("sha256");
  const progress = { sent: 0 };
  const done = (async () => {
    while (progress.sent < totalBytes && !req.destroyed) {
      const piece = randomBytes(Math.min(MIB, totalBytes - progress.sent));
      hash.update(piece);
      progress.sent += piece.length;
      if (!req.write(piece)) await drained(req);
    }
    return hash;
  })();
  return { progress, done };
}

async function hashOf(key: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of streams.openRead({ bucket: null, key })) hash.update(piece);
  return hash.digest("hex");
}

const rowsOf = (filename: string) =>
  deployment.sql<{ id: string; status: string; hidden: boolean }[]>`
    select id, status, removed_at is not null as hidden from uploads
    where team_id = ${team.id} and filename = ${filename}`;

/** Resident memory of a process, in bytes. */
function residentBytes(pid: number): number {
  const [, kib = "0"] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib) * 1_024;
}

describe("a file that is streamed through", () => {
  it("is there, byte for byte, when the answer comes; two of one name are two", async () => {
    const bytes = 40 * MIB + 123;
    const sendOne = async (headers: Record<string, string>) => {
      const req = beginPut(api.url, "ma liste №1.csv", headers);
      const answered = answerOf(req);
      req.flushHeaders();
      await once(req, "continue");
      const hash = await pour(req, bytes).done;
      req.end();
      const { status, body } = await answered;
      assert.equal(status, 201, JSON.stringify(body));
      assert.deepEqual([body.filename, body.status, body.bytes], ["ma liste №1.csv", "stored", bytes]);
      assert.equal(await hashOf(uploadKey(team.id, String(body.id))), hash.digest("hex"));
      const got = await api.send("GET", `/v1/uploads/${body.id}`, { key: team.liveKey });
      assert.deepEqual(got.body, body);
      return body.id;
    };
    const ids = await Promise.all([sendOne({ "content-length": String(bytes) }), sendOne({})]);
    assert.equal(new Set(ids).size, 2);
  });

  it("may be empty; what it is called is bounded and shown as it is", async () => {
    const send = (name: string) =>
      fetch(`${api.url}/v1/uploads/${name}`, {
        method: "PUT",
        headers: { Authorization: `Bearer ${team.liveKey}` },
        body: "",
      });
    const empty = await send("..%20%2e");
    assert.deepEqual([empty.status, ((await empty.json()) as { bytes: number }).bytes], [201, 0]);
    for (const name of [
      "a%2Fb.csv",
      "a%5Cb",
      "%00",
      "a%0Ab",
      "%7F",
      "x".repeat(LIMITS.uploads.filenameChars + 1),
    ]) {
      const refused = await send(name);
      assert.equal(refused.status, 400, name);
      await refused.arrayBuffer();
    }
  });

  it("is refused by tier and size before it comes, and as soon as it is too large", async () => {
    const [free, small] = [
      await deployment.team("free"),
      await deployment.team("starter", { bulkBytes: MIB }),
    ];
    for (const [key, headers, status, code] of [
      [free.liveKey, {}, 402, "unavailable_in_tier"],
      [small.liveKey, { "content-length": String(MIB + 1) }, 413, "bulk_too_large"],
      [small.liveKey, {}, 413, "bulk_too_large"],
    ] as const) {
      const req = beginPut(api.url, "large.csv", { key, ...headers });
      req.on("error", () => {});
      const answered = answerOf(req);
      // Too large by one piece; the last case announces no length.
      void pour(req, "content-length" in headers ? MIB : 2 * MIB).done.catch(() => {});
      const answer = await answered;
      assert.deepEqual([answer.status, answer.body.code], [status, code]);
      req.destroy();
    }
    assert.deepEqual(await listBelow(store, `teams/${small.id}/`), { objects: [], parts: [] });
  });

  it("is nothing when its client goes in the middle", async () => {
    const req = beginPut(api.url, "cut.csv", { "content-length": String(64 * MIB) });
    req.on("error", () => {});
    const { done } = pour(req, 30 * MIB);
    const row = await until("parts are there", async () => {
      const [found] = await rowsOf("cut.csv");
      if (found === undefined) return null;
      return (await listBelow(store, uploadKey(team.id, found.id))).parts.length > 0 ? found : null;
    });
    await done;
    req.destroy();
    await until("it is given up", async () => (await rowsOf("cut.csv"))[0]?.hidden ?? false);
    assert.deepEqual(await listBelow(store, uploadKey(team.id, row.id)), { objects: [], parts: [] });
  });
});

describe("with slow object storage", () => {
  it("the client has to wait, the process holds no more than its parts, and all is well in the end", async () => {
    let open = () => {};
    parts = new Promise<void>((resolve) => {
      open = resolve;
    });
    const slow = processes.start({
      ...deployment.settings,
      S3_ENDPOINT: faulty.endpoint,
      ROLE: "api",
      CHECK_THREADS: "1",
    });
    const url = await slow.ready;
    const before = residentBytes(slow.pid);
    const totalBytes = 128 * MIB;
    const req = beginPut(url, "slow.csv", { "content-length": String(totalBytes) });
    const answered = answerOf(req);
    const { progress, done } = pour(req, totalBytes);
    let last = -1;
    let still = 0;
    await until("the client has to wait", () => {
      still = progress.sent > MIB && progress.sent === last ? still + 1 : 0;
      last = progress.sent;
      return still > 50;
    });
    assert.ok(progress.sent < totalBytes / 2, `${progress.sent} bytes were taken`);
    const grown = residentBytes(slow.pid) - before;
    assert.ok(grown < totalBytes / 2, `${grown} bytes of memory`);
    open();
    parts = null;
    const hash = await done;
    req.end();
    const { status, body } = await answered;
    assert.deepEqual([status, body.bytes], [201, totalBytes]);
    assert.equal(await hashOf(uploadKey(team.id, String(body.id))), hash.digest("hex"));
    slow.kill("SIGTERM");
    assert.deepEqual(await slow.exited, { code: 0, signal: null });
  });
});

describe("a process that is killed while a file comes", () => {
  it("leaves parts that the relay removes when the upload's time is over", async () => {
    const doomed = processes.start({ ...deployment.settings, ROLE: "api", CHECK_THREADS: "1" });
    const req = beginPut(await doomed.ready, "killed.csv", { "content-length": String(64 * MIB) });
    req.on("error", () => {});
    const { done } = pour(req, 30 * MIB);
    const key = await until("parts are there", async () => {
      const [found] = await rowsOf("killed.csv");
      if (found === undefined) return null;
      const below = uploadKey(team.id, found.id);
      return (await listBelow(store, below)).parts.length > 0 ? below : null;
    });
    doomed.kill("SIGKILL");
    await doomed.exited;
    await done;
    assert.deepEqual(await listBelow(store, key), { objects: [], parts: [key] });
    // Sets its times back, first past its expiry, then past the rest of a hidden upload.
    await deployment.sql`
      update uploads set expires_at = now() - interval '2 days' where team_id = ${team.id} and filename = 'killed.csv'`;
    await until("it is given up", async () => (await rowsOf("killed.csv"))[0]?.hidden ?? false);
    await deployment.sql`
      update uploads set removed_at = now() - interval '1 hour' where team_id = ${team.id} and filename = 'killed.csv'`;
    await until("its row is gone", async () => (await rowsOf("killed.csv")).length === 0);
    assert.deepEqual(await listBelow(store, key), { objects: [], parts: [] });
  });
});

describe("a file that is sent to object storage", () => {
  const create = (body: unknown, headers: Record<string, string> = {}) =>
    api.send<{ id: string; url: string; headers: Record<string, string>; code?: string }>(
      "POST",
      "/v1/uploads",
      {
        key: team.liveKey,
        body,
        headers,
      },
    );

  it("is taken by a plain request of the announced size, and then by a job, which keeps it", async () => {
    const list = "email\nvalid@example.com\n";
    const { status, body: made } = await create({ filename: "list.csv", bytes: list.length });
    assert.equal(status, 201);
    const submit = () =>
      api.send("POST", "/v1/verify/bulk", { key: team.liveKey, body: { upload_id: made.id } });
    const early = await submit();
    assert.deepEqual([early.status, early.body.code], [409, "upload_missing"]);
    assert.equal((await fetch(made.url, { method: "PUT", body: `${list}x` })).status, 403);
    assert.equal((await fetch(made.url, { method: "PUT", body: list, headers: made.headers })).status, 200);
    assert.equal((await submit()).status, 202);
    const removal = await api.send("DELETE", `/v1/uploads/${made.id}`, { key: team.liveKey });
    assert.deepEqual([removal.status, removal.body.code], [409, "upload_in_use"]);
  });

  it("has an hour to begin, whole or in parts, and says so", async () => {
    type CreatedUpload = { created_at: string; expires_at: string; url?: string; parts?: { url: string }[] };
    for (const bytes of [10, 6_000_000_000]) {
      const { body } = await create({ filename: "list.csv", bytes });
      const created = body as unknown as CreatedUpload;
      assert.equal(Date.parse(created.expires_at) - Date.parse(created.created_at), 3_600_000);
      const urls = created.parts?.map(({ url }) => url) ?? [created.url ?? ""];
      assert.equal(urls.length, bytes === 10 ? 1 : 58);
      for (const url of urls) assert.equal(new URL(url).searchParams.get("X-Amz-Expires"), "3600");
    }
  });

  it("gets the same place for the same Idempotency-Key", async () => {
    const headers = { "Idempotency-Key": "upload-1" };
    const first = await create({ filename: "a.csv" }, headers);
    const again = await create({ filename: "a.csv" }, headers);
    assert.deepEqual(again.body, first.body);
    assert.equal(again.headers.get("idempotent-replayed"), "true");
  });

  it("is listed with the others of its team, newest first, and says until when it is kept", async () => {
    const lister = await deployment.team("enterprise");
    type Shown = {
      id: string;
      status: string;
      created_at: string;
      expires_at: string | null;
      kept_until: string;
    };
    const made: Shown[] = [];
    for (const filename of ["a.csv", "b.csv", "c.csv"])
      made.push(
        (await api.send<Shown>("POST", "/v1/uploads", { key: lister.liveKey, body: { filename } })).body,
      );
    const sent = await fetch(`${api.url}/v1/uploads/d.csv`, {
      method: "PUT",
      headers: { Authorization: `Bearer ${lister.liveKey}` },
      body: "email\n",
    });
    made.push((await sent.json()) as Shown);
    await api.send("DELETE", `/v1/uploads/${made[1]?.id}`, { key: lister.liveKey });
    type Page = { data: Shown[]; next_cursor: string | null };
    const page = async (query: string) =>
      (await api.send<Page>("GET", `/v1/uploads?${query}`, { key: lister.liveKey })).body;
    const first = await page("limit=2");
    const rest = await page(`limit=2&cursor=${first.next_cursor}`);
    assert.deepEqual(
      [...first.data, ...rest.data].map(({ id }) => id),
      [made[3]?.id, made[2]?.id, made[0]?.id],
    );
    assert.equal(rest.next_cursor, null);
    const [stored, open] = first.data;
    const afterMs = (from: string, to: string) => Date.parse(to) - Date.parse(from);
    assert.ok(stored !== undefined && typeof open?.expires_at === "string");
    assert.deepEqual([stored.status, stored.expires_at], ["stored", null]);
    assert.equal(afterMs(stored.created_at, stored.kept_until), RETENTION_DAYS * 86_400_000);
    assert.equal(afterMs(open.expires_at, open.kept_until), LIMITS.uploads.unfinishedMs);
  });

  it("is gone when it was deleted", async () => {
    const { body: made } = await create({ filename: "a.csv" });
    assert.equal((await api.send("DELETE", `/v1/uploads/${made.id}`, { key: team.liveKey })).status, 204);
    for (const [method, path] of [
      ["GET", ""],
      ["DELETE", ""],
      ["POST", "/complete"],
    ] as const)
      assert.equal(
        (await api.send(method, `/v1/uploads/${made.id}${path}`, { key: team.liveKey })).status,
        404,
      );
  });

  it("needs a tier that has bulk, and object storage", async () => {
    const free = await deployment.team("free");
    const refused = await api.send("POST", "/v1/uploads", { key: free.liveKey, body: { filename: "a" } });
    assert.deepEqual([refused.status, refused.body.code], [402, "unavailable_in_tier"]);
    const none = ["S3_ENDPOINT", "S3_BUCKET", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY"];
    const bare = Object.fromEntries(
      Object.entries(deployment.settings).filter(([name]) => !none.includes(name)),
    );
    const other = processes.start({ ...bare, ROLE: "api", CHECK_THREADS: "1" });
    const answer = await fetch(`${await other.ready}/v1/uploads`, {
      method: "POST",
      headers: { Authorization: `Bearer ${team.liveKey}`, "Content-Type": "application/json" },
      body: JSON.stringify({ filename: "a" }),
    });
    const body = (await answer.json()) as { code: string };
    assert.deepEqual([answer.status, body.code], [503, "feature_unconfigured"]);
    other.kill("SIGTERM");
    await other.exited;
  });
});
