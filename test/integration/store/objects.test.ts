import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { createObjectStore } from "../../../src/store/objects.ts";
import { testObjects } from "../../support/embedded.ts";

async function openStore(t: TestContext, bucketSuffix = "") {
  const { endpoint, region, bucket, ...credentials } = await testObjects();
  const store = createObjectStore({
    endpoint,
    publicEndpoint: endpoint,
    region,
    bucket: `${bucket}${bucketSuffix}`,
    credentials,
  });
  t.after(() => store.stop());
  return store;
}

describe("object storage", () => {
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
});
