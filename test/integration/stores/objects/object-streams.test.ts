// Alone in its process: it measures memory.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it, type TestContext } from "node:test";
import { ListMultipartUploadsCommand, ListObjectsV2Command } from "@aws-sdk/client-s3";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { systemClock } from "../../../../src/platform/time/clock.ts";
import {
  ChangedObject,
  createObjectStreams,
  ForbiddenObject,
  MissingObject,
} from "../../../../src/stores/objects/object-streams.ts";
import { createObjectStore, isObjectsOutage } from "../../../../src/stores/objects/objects.ts";
import { testObjects } from "../../../support/embedded.ts";
import { type Fault, type PassingRequest, startFaultyS3 } from "../../../support/s3-faults.ts";

const KEY = "teams/t/object";
const own = { bucket: null, key: KEY };
const { partBytes, partsInFlight, tries } = LIMITS.objects;

async function open(t: TestContext, fault: (request: PassingRequest) => Fault = () => null) {
  const { endpoint: real, region, bucket, ...credentials } = await testObjects();
  const faulty = await startFaultyS3(real, fault);
  const { endpoint } = faulty;
  const store = createObjectStore(
    { endpoint, publicEndpoint: endpoint, region, bucket, credentials },
    systemClock,
  );
  t.after(() => faulty.close());
  t.after(() => store.stop());
  const streams = createObjectStreams(store, systemClock);
  const put = (body: Buffer) => streams.write(KEY, cut(body, body.length), "text/plain");
  return { store, streams, put, seen: faulty.seen, bucket };
}

async function* cut(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function collect(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

/** Objects, and unfinished multipart uploads. */
async function leftovers({ store }: Pick<Awaited<ReturnType<typeof open>>, "store">) {
  const { client, bucket: Bucket } = store;
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }));
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
  return { objects: Contents.map(({ Key }) => Key), uploads: Uploads.map(({ Key }) => Key) };
}

const bytesOf = (request: PassingRequest) =>
  Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);

describe("reading", () => {
  it("gives all, or what is asked for of it", async (t) => {
    const { streams, put } = await open(t);
    const body = randomBytes(300_000);
    const { bytes, etag } = await put(body);
    assert.equal(bytes, body.length);
    assert.deepEqual(await streams.head(own), { bytes, etag });
    assert.ok((await collect(streams.openRead(own))).equals(body));
    const some = await collect(streams.openRead({ ...own, etag }, { firstByte: 1_000, bytes: 70_000 }));
    assert.ok(some.equals(body.subarray(1_000, 71_000)));
    const rest = await collect(streams.openRead(own, { firstByte: 299_000 }));
    assert.ok(rest.equals(body.subarray(299_000)));
    const over = await streams.readRange({ ...own, etag }, { firstByte: 299_999, bytes: 100 });
    assert.ok(over.equals(body.subarray(299_999)));
    assert.equal((await collect(streams.openRead(own, { firstByte: 5, bytes: 0 }))).length, 0);
  });

  it("an empty object is empty, not missing", async (t) => {
    const { streams, put } = await open(t);
    await put(Buffer.alloc(0));
    assert.equal((await streams.head(own))?.bytes, 0);
    assert.equal((await collect(streams.openRead(own))).length, 0);
  });

  it("distinguishes a missing object, a changed one, and one without access", async (t) => {
    const { streams, put } = await open(t, ({ url }) =>
      url.startsWith("/foreign") ? { status: 403, code: "AccessDenied" } : null,
    );
    assert.equal(await streams.head(own), null);
    await assert.rejects(collect(streams.openRead(own)), MissingObject);
    const { etag } = await put(Buffer.from("first"));
    await assert.rejects(collect(streams.openRead(own, { firstByte: 5 })), MissingObject);
    await put(Buffer.from("second"));
    await assert.rejects(collect(streams.openRead({ ...own, etag })), ChangedObject);
    await assert.rejects(streams.readRange({ ...own, etag }, { firstByte: 0, bytes: 1 }), ChangedObject);
    await assert.rejects(streams.head({ ...own, etag }), ChangedObject);
    const foreign = { bucket: "foreign", key: "k" };
    await assert.rejects(streams.head(foreign), ForbiddenObject);
    await assert.rejects(collect(streams.openRead(foreign)), ForbiddenObject);
    assert.equal(await streams.head({ bucket: "nowhere-at-all", key: "k" }), null);
  });

  it("goes on where a connection broke, in the same object, more often than it tries in a row", async (t) => {
    const body = randomBytes(900_000);
    let cuts = 0;
    const { streams, put, seen } = await open(t, ({ method }) => {
      if (method !== "GET" || cuts >= tries + 2) return null;
      cuts++;
      return { afterBytes: 100_000, ending: "cut" };
    });
    const { etag } = await put(body);
    assert.ok((await collect(streams.openRead(own))).equals(body));
    const gets = seen.filter(({ method }) => method === "GET");
    assert.equal(gets.length, tries + 3);
    assert.deepEqual(
      gets.slice(1).map(bytesOf),
      gets.slice(1).map((_, i) => (i + 1) * 100_000),
    );
    for (const get of gets.slice(1)) assert.equal(get.headers["if-match"], etag);
  });

  it("goes on where a connection fell silent", async (t) => {
    const body = randomBytes(300_000);
    let silences = 0;
    const { streams, put } = await open(t, ({ method }) =>
      method === "GET" && silences++ === 0 ? { afterBytes: 100_000, ending: "silence" } : null,
    );
    await put(body);
    assert.ok((await collect(streams.openRead(own))).equals(body));
    assert.equal(silences, 2);
  });

  it("does not go on in another object", async (t) => {
    let first = true;
    const { streams, put } = await open(t, ({ method }) => {
      if (method !== "GET" || !first) return null;
      first = false;
      return { afterBytes: 1_000, ending: "cut" };
    });
    await put(Buffer.alloc(200_000, 1));
    const reading = streams.openRead(own)[Symbol.asyncIterator]();
    assert.equal((await reading.next()).value[0], 1);
    await put(Buffer.alloc(200_000, 2));
    await assert.rejects(async () => {
      while ((await reading.next()).done !== true);
    }, ChangedObject);
  });

  it("is an outage when it gets no further", async (t) => {
    const { streams, put, seen } = await open(t, ({ method, url, headers }) =>
      method === "GET" && !url.includes("?uploads")
        ? { afterBytes: headers.range === undefined ? 50 : 0, ending: "cut" }
        : null,
    );
    await put(Buffer.alloc(1_000));
    const error = await collect(streams.openRead(own)).catch((thrown: unknown) => thrown);
    assert.ok(isObjectsOutage(error), String(error));
    assert.equal(seen.filter(({ method }) => method === "GET").length, tries);
  });

  it("holds no more than a connection's buffers when the reader takes nothing", async (t) => {
    const { streams, put, store, bucket } = await open(t);
    const body = Buffer.alloc(64 * 1_048_576, 7);
    await put(body);
    const before = process.memoryUsage().arrayBuffers;
    const reading = streams.openRead(own)[Symbol.asyncIterator]();
    await reading.next();
    // A request of its own takes long enough for a reader that does not stop to read everything.
    for (let i = 0; i < 50; i++)
      await store.client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: KEY }));
    const held = process.memoryUsage().arrayBuffers - before;
    await reading.return?.();
    assert.ok(held < 16 * 1_048_576, `${held} bytes`);
  });

  it("ends at once with the reason of its cancellation", async (t) => {
    const { streams, put } = await open(t, ({ method }) =>
      method === "GET" ? { afterBytes: 10, ending: "silence" } : null,
    );
    await put(Buffer.alloc(1_000));
    const controller = new AbortController();
    const reading = streams.openRead(own, {}, controller.signal)[Symbol.asyncIterator]();
    assert.equal((await reading.next()).value.length, 10);
    const next = reading.next();
    const reason = new Error("not wanted");
    controller.abort(reason);
    await assert.rejects(next, reason);
    await assert.rejects(collect(streams.openRead(own, {}, controller.signal)), reason);
  });
});

describe("writing", () => {
  const isPart = ({ method, url }: PassingRequest) => method === "PUT" && url.includes("partNumber=");
  const isCompletion = ({ method, url }: PassingRequest) => method === "POST" && url.includes("uploadId=");

  it("small in one request, large in parts, of pieces of any size", async (t) => {
    const { streams, seen } = await open(t);
    for (const [bytes, piece, parts] of [
      [0, 1, 0],
      [1_000, 7, 0],
      [partBytes, 65_536, 0],
      [partBytes + 1, partBytes + 1, 2],
      [3 * partBytes, 1_000_003, 3],
    ] as const) {
      seen.length = 0;
      const body = randomBytes(bytes);
      const stored = await streams.write(KEY, cut(body, piece), "text/csv");
      assert.equal(seen.filter(isPart).length, parts);
      assert.deepEqual(stored, await streams.head(own));
      assert.equal(stored.bytes, bytes);
      assert.ok((await collect(streams.openRead({ ...own, etag: stored.etag }))).equals(body));
    }
  });

  it("what it is given may be used again", async (t) => {
    const { streams } = await open(t);
    const writer = streams.openWrite(KEY, "text/plain");
    const piece = Buffer.alloc(partBytes / 2);
    for (let i = 0; i < 5; i++) await writer.write(piece.fill(i));
    const { bytes } = await writer.end();
    assert.equal(bytes, 2.5 * partBytes);
    const body = await collect(streams.openRead(own));
    for (let i = 0; i < 5; i++) assert.equal(body[i * piece.length + 1], i);
    await writer.abort();
    assert.equal((await streams.head(own))?.bytes, bytes);
  });

  it("waits when so many parts are under way, and goes on when they are taken", async (t) => {
    let open_ = () => {};
    const gate = new Promise<void>((resolve) => {
      open_ = resolve;
    });
    const { streams, seen } = await open(t, (request) => (isPart(request) ? { until: gate } : null));
    const writer = streams.openWrite(KEY, "text/plain");
    const piece = Buffer.alloc(partBytes);
    for (let i = 0; i < partsInFlight; i++) await writer.write(piece);
    let taken = false;
    const waiting = writer.write(piece).then(() => {
      taken = true;
    });
    await streams.head(own);
    assert.equal(taken, false);
    assert.ok(seen.filter(isPart).length <= partsInFlight);
    open_();
    await waiting;
    assert.equal((await writer.end()).bytes, (partsInFlight + 1) * partBytes);
  });

  it("repeats a part that failed, and a completion whose answer was lost", async (t) => {
    let failures = 0;
    let lost = 0;
    const { streams } = await open(t, (request) => {
      if (isPart(request) && request.url.includes("partNumber=1&") && failures++ < LIMITS.objects.attempts)
        return { status: 503, code: "SlowDown" };
      return isCompletion(request) && lost++ === 0 ? "answer lost" : null;
    });
    const body = randomBytes(2 * partBytes + 5);
    const stored = await streams.write(KEY, cut(body, 500_000), "text/plain");
    assert.ok(failures > LIMITS.objects.attempts, "more often than the client does by itself");
    assert.ok(lost > 1);
    assert.deepEqual(await streams.head(own), stored);
    assert.ok((await collect(streams.openRead(own))).equals(body));
  });

  it("leaves nothing when its source fails, when it is cancelled, given up, or refused", async (t) => {
    const controller = new AbortController();
    const reason = new Error("not wanted");
    const opened = await open(t, (request) =>
      isPart(request) && request.url.includes("refused") ? { status: 403, code: "AccessDenied" } : null,
    );
    const { streams } = opened;
    async function* failing() {
      yield Buffer.alloc(2 * partBytes);
      throw reason;
    }
    await assert.rejects(streams.write(KEY, failing(), "text/plain"), reason);
    async function* cancelling() {
      yield Buffer.alloc(2 * partBytes);
      controller.abort(reason);
      yield Buffer.alloc(2 * partBytes);
    }
    await assert.rejects(streams.write(KEY, cancelling(), "text/plain", controller.signal), reason);
    const writer = streams.openWrite(KEY, "text/plain");
    await writer.write(Buffer.alloc(2 * partBytes));
    await Promise.all([writer.abort(), writer.abort()]);
    await assert.rejects(writer.write(Buffer.alloc(1)), /was aborted/);
    await assert.rejects(writer.end(), /was aborted/);
    const refused = streams.write(
      "teams/t/refused",
      cut(Buffer.alloc(2 * partBytes), 1_000_000),
      "text/plain",
    );
    await assert.rejects(refused, { name: "AccessDenied" });
    assert.deepEqual(await leftovers(opened), { objects: [], uploads: [] });
  });

  it("is an outage when object storage goes on failing, and leaves no upload when it is back", async (t) => {
    let failing = true;
    const opened = await open(t, (request) =>
      failing && isPart(request) ? { status: 500, code: "InternalError" } : null,
    );
    const body = cut(Buffer.alloc(2 * partBytes), 1_000_000);
    const error = await opened.streams.write(KEY, body, "text/plain").catch((thrown: unknown) => thrown);
    failing = false;
    assert.ok(isObjectsOutage(error), String(error));
    assert.deepEqual(await leftovers(opened), { objects: [], uploads: [] });
  });
});
