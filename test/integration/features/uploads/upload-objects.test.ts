import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { request } from "node:http";
import { describe, it, type TestContext } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createUploadObjects } from "../../../../src/features/uploads/upload-objects.ts";
import { systemClock } from "../../../../src/platform/time/clock.ts";
import { createObjectStreams, MissingObject } from "../../../../src/stores/objects/object-streams.ts";
import { createObjectStore } from "../../../../src/stores/objects/objects.ts";
import { testObjects } from "../../../support/embedded.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const KEY = "teams/t/uploads/upl_1";
const own = { bucket: null, key: KEY };
const HOUR_MS = 3_600_000;
const PART_MIN_BYTES = 5_242_880;

async function open(t: TestContext, publicEndpoint?: string) {
  const { endpoint, region, bucket, ...credentials } = await testObjects();
  const settings = { endpoint, publicEndpoint: publicEndpoint ?? endpoint, region, bucket, credentials };
  const store = createObjectStore(settings, systemClock);
  // Timers of the system's clock do not keep the process alive.
  const awake = setInterval(() => undefined, HOUR_MS);
  t.after(() => {
    clearInterval(awake);
    store.stop();
  });
  return {
    store,
    settings,
    uploads: createUploadObjects(store, settings, systemClock),
    streams: createObjectStreams(store, systemClock),
    endpoint,
  };
}

/** As `curl` would send it; @param host instead of the URL's */
function put(url: string, body: Buffer, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "PUT", agent: false, headers }, (res) => {
      res.resume();
      resolve(res.statusCode ?? 0);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

describe("presigned uploads", () => {
  it("hold no longer than the credentials that sign them", async (t) => {
    const { store, settings } = await open(t);
    const clock = createFakeClock();
    const signedBy = (expiration?: Date) => {
      const temporary = { ...settings.credentials, ...(expiration === undefined ? {} : { expiration }) };
      return createUploadObjects(store, { ...settings, credentials: temporary }, clock);
    };
    const inMs = (ms: number) => signedBy(new Date(clock.now() + ms)).validMs(12 * HOUR_MS);
    assert.equal(await signedBy().validMs(12 * HOUR_MS), 12 * HOUR_MS);
    assert.equal(await inMs(HOUR_MS), HOUR_MS);
    assert.equal(await inMs(24 * HOUR_MS), 12 * HOUR_MS);
    assert.equal(await inMs(-HOUR_MS), 1_000);
  });

  it("take a body of any size where none was signed, with no header of ours", async (t) => {
    const { uploads, streams } = await open(t);
    const { url, headers } = await uploads.presignPut(KEY, null, HOUR_MS);
    assert.deepEqual(headers, {});
    const { status } = await fetch(url, { method: "PUT", body: "email\na@b.example\n" });
    assert.equal(status, 200);
    assert.equal((await streams.head(own))?.bytes, 18);
  });

  it("take the signed size only, by plain fetch too, and for the signed key and host only", async (t) => {
    const { uploads, streams } = await open(t);
    const { url, headers } = await uploads.presignPut(KEY, 5, HOUR_MS);
    assert.equal(await put(url, Buffer.from("123456")), 403);
    assert.equal(await put(url, Buffer.from("1234")), 403);
    assert.equal(await put(url.replace("upl_1", "upl_2"), Buffer.from("12345")), 403);
    assert.equal(await put(url, Buffer.from("12345"), { host: "elsewhere.example" }), 403);
    assert.equal(await streams.head(own), null);
    assert.equal((await fetch(url, { method: "PUT", headers, body: "12345" })).status, 200);
    assert.equal((await streams.head(own))?.bytes, 5);
  });

  it("are of the public endpoint and say how long they hold", async (t) => {
    const { uploads } = await open(t, "https://files.example.com");
    const { url } = await uploads.presignPut(KEY, null, HOUR_MS);
    const parsed = new URL(url);
    assert.equal(parsed.origin, "https://files.example.com");
    assert.equal(parsed.searchParams.get("X-Amz-Expires"), "3600");
    assert.ok(![...parsed.searchParams.keys()].some((name) => /checksum/i.test(name)), url);
  });

  it("have the origin that the portal's policy names, also of the region's own endpoint", async (t) => {
    const { store, settings } = await open(t);
    for (const publicEndpoint of ["https://files.example.com:8443/some/path", settings.endpoint, null]) {
      const own = { ...settings, publicEndpoint, region: "eu-central-1" };
      const uploads = createUploadObjects(store, own, systemClock);
      const { url } = await uploads.presignPut(KEY, null, HOUR_MS);
      const parts = await uploads.presignParts(
        KEY,
        "id",
        [1, 2].map((number) => ({ number, bytes: 1 })),
        HOUR_MS,
        "team_1",
      );
      const origin = await uploads.origin();
      assert.deepEqual(
        [url, ...parts].map((each) => new URL(each).origin),
        [origin, origin, origin],
      );
    }
  });

  it("of many parts are signed in turns, which take a part of the event loop's time", async (t) => {
    const { store, settings } = await open(t);
    const { partsAtOnce, partsLoopPart } = LIMITS.uploads;
    let elapsedMs = 0;
    const pauses: number[] = [];
    const clock = {
      ...systemClock,
      // Each look at it takes a millisecond.
      monotonic: () => ++elapsedMs,
      after(ms: number, callback: () => void) {
        pauses.push(ms);
        return systemClock.after(0, callback);
      },
    };
    const sizes = Array.from({ length: 3 * partsAtOnce + 1 }, (_, i) => ({ number: i + 1, bytes: 1 }));
    const urls = await createUploadObjects(store, settings, clock).presignParts(
      KEY,
      "id",
      sizes,
      HOUR_MS,
      "team_1",
    );
    assert.equal(new Set(urls).size, sizes.length);
    const wait = 1 / partsLoopPart - 1;
    assert.deepEqual(pauses, [wait, wait, wait, wait]);
  });

  it("in parts: each of its size, told by the store, then one object", async (t) => {
    const { uploads, streams } = await open(t);
    const id = await uploads.startMultipart(KEY);
    const bodies = [randomBytes(PART_MIN_BYTES), randomBytes(1_000)];
    const sizes = bodies.map((body, i) => ({ number: i + 1, bytes: body.length }));
    const urls = await uploads.presignParts(KEY, id, sizes, HOUR_MS, "team_1");
    for (const [i, body] of bodies.entries()) {
      const url = urls[i] ?? "";
      // Few bytes: of many the refusal, which comes at once, could be lost with the connection.
      assert.equal(await put(url, body.subarray(0, 500)), 403);
      assert.equal(await put(url, body), 200);
    }
    const parts = await uploads.listParts(KEY, id, "team_1");
    assert.deepEqual(
      parts.map(({ number, bytes }) => [number, bytes]),
      bodies.map((body, i) => [i + 1, body.length]),
    );
    const { etag } = await uploads.completeMultipart(KEY, id, parts);
    assert.deepEqual(await streams.head(own), { bytes: PART_MIN_BYTES + 1_000, etag });
    await assert.rejects(uploads.listParts(KEY, id, "team_1"), MissingObject);
    // Some stores (S3, versitygw) accept the repetition, others no longer have such an upload.
    const again = await uploads.completeMultipart(KEY, id, parts).catch((error: unknown) => error);
    if (!(again instanceof MissingObject)) assert.deepEqual(again, { etag });
  });
});
