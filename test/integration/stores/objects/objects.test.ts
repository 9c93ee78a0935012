// Alone in its process: it collects garbage.
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  CreateMultipartUploadCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { systemClock } from "../../../../src/platform/time/clock.ts";
import { createObjectStore } from "../../../../src/stores/objects/objects.ts";
import { testObjects } from "../../../support/embedded.ts";
import { startFaultyS3 } from "../../../support/s3-faults.ts";
import { until } from "../../../support/until.ts";

async function openStore(t: TestContext, bucketSuffix = "") {
  const { endpoint, region, bucket, ...credentials } = await testObjects();
  const store = createObjectStore(
    { endpoint, publicEndpoint: endpoint, region, bucket: `${bucket}${bucketSuffix}`, credentials },
    systemClock,
  );
  t.after(() => store.stop());
  return store;
}

/** Returns a function that collects all garbage. */
function garbageCollector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}

describe("object storage", () => {
  it("keeps nothing of a read, however long its abort signal lives", async (t) => {
    const store = await openStore(t);
    const job = new AbortController();
    const collect = garbageCollector();
    const read = async () => new WeakRef(await store.within(async () => Buffer.alloc(1_000), job.signal));
    const results = await Promise.all(Array.from({ length: 20 }, read));
    await until("what was read is collected", () => {
      collect();
      return results.every((result) => result.deref() === undefined);
    });
    assert.equal(job.signal.aborted, false);
  });

  it("makes its bucket when it is missing, also when two processes start at once", async (t) => {
    const store = await openStore(t, "-new");
    await assert.rejects(store.ping());
    await Promise.all([store.ensureBucket(), store.ensureBucket()]);
    await store.ensureBucket();
    await store.ping();
  });

  it("keeps what is put", async (t) => {
    const { client, bucket } = await openStore(t);
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: "a/b", Body: "content" }));
    const got = await client.send(new GetObjectCommand({ Bucket: bucket, Key: "a/b" }));
    assert.equal(await got.Body?.transformToString(), "content");
  });

  it("deletes all below a prefix, a page at a time, and nothing beside it", async (t) => {
    const store = await openStore(t);
    const { client, bucket } = store;
    const put = (Key: string) => client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: "x" }));
    const names = Array.from({ length: LIMITS.objects.deletionPage + 1 }, (_, i) => `teams/a/${i}`);
    const odd = ["teams/a/ä +%2F&<>.csv"];
    const beside = ["teams/ab", "teams/a.", "teams/b/1"];
    const all = [...names, ...odd, ...beside].values();
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (const name of all) await put(name);
      }),
    );
    assert.equal(await store.deleteBelow("teams/a/"), false);
    assert.equal(await store.deleteBelow("teams/a/"), true);
    assert.equal(await store.deleteBelow("teams/a/"), true);
    const left = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
    assert.deepEqual((left.Contents ?? []).map(({ Key }) => Key).sort(), beside.sort());
  });

  it("spares the given objects, but no multipart uploads", async (t) => {
    const store = await openStore(t);
    const { client, bucket } = store;
    for (const Key of ["s/ä.a", "s/ä.b", "s/äa", "s/b", "s."])
      await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: "x" }));
    for (const Key of ["s/ä.a", "s/b"])
      await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key }));
    assert.equal(await store.deleteBelow("s/", "s/ä."), true);
    const below = { Bucket: bucket, Prefix: "s" };
    const { Contents = [] } = await client.send(new ListObjectsV2Command(below));
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand(below));
    assert.deepEqual([Contents.map(({ Key }) => Key).sort(), Uploads], [["s.", "s/ä.a", "s/ä.b"], []]);
  });

  it("ends uploads in parts below the prefix, and deletes one by one where many at once are refused", async (t) => {
    const { endpoint: real, region, bucket, ...credentials } = await testObjects();
    const faulty = await startFaultyS3(real, ({ url }) =>
      url.includes("?delete") ? { status: 501, code: "NotImplemented" } : null,
    );
    const { endpoint } = faulty;
    const settings = { endpoint, publicEndpoint: endpoint, region, bucket, credentials };
    const store = createObjectStore(settings, systemClock);
    t.after(() => faulty.close());
    t.after(() => store.stop());
    const { client } = store;
    for (const Key of ["u/1", "u/2", "u/3", "v/1"]) {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: "x" }));
      await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key }));
    }
    assert.equal(await store.deleteBelow("u/"), true);
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
    assert.deepEqual(
      [Uploads, Contents].map((all) => all.map(({ Key }) => Key)),
      [["v/1"], ["v/1"]],
    );
    assert.equal(await store.deleteBelow("v/"), true);
    assert.equal(faulty.seen.filter(({ url }) => url.includes("?delete")).length, 1);
  });

  it("ends every upload in parts, also when another has ended one of them meanwhile", async (t) => {
    const { endpoint: real, region, bucket, ...credentials } = await testObjects();
    let ended: string | null = null;
    const faulty = await startFaultyS3(real, ({ method, url }) => {
      if (method !== "DELETE" || ended !== null) return null;
      ended = url;
      return { status: 404, code: "NoSuchUpload" };
    });
    const settings = {
      endpoint: faulty.endpoint,
      publicEndpoint: real,
      region,
      bucket,
      credentials,
    };
    const store = createObjectStore(settings, systemClock);
    t.after(() => faulty.close());
    t.after(() => store.stop());
    // More than go at once.
    for (let i = 0; i < 3 * LIMITS.objects.deletionsInFlight; i++)
      await store.client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: `w/${i}` }));
    const list = new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: "w/" });
    assert.equal(await store.deleteBelow("w/"), true);
    assert.equal((await store.client.send(list)).Uploads?.length, 1);
    assert.equal(await store.deleteBelow("w/"), true);
    assert.equal((await store.client.send(list)).Uploads?.length ?? 0, 0);
  });
});
