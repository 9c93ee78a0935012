import assert from "node:assert/strict";
import { it } from "node:test";
import { ListObjectsV2Command, PutObjectCommand } from "@aws-sdk/client-s3";
import { systemClock } from "../../../src/platform/time/clock.ts";
import { createObjectStore } from "../../../src/stores/objects/objects.ts";
import { testObjects } from "../../support/embedded.ts";

it("an object is deleted though XML cannot carry its name", async (t) => {
  const { endpoint, region, bucket, ...credentials } = await testObjects();
  const store = createObjectStore(
    { endpoint, publicEndpoint: endpoint, region, bucket, credentials },
    systemClock,
  );
  t.after(() => store.stop());
  await store.client.send(new PutObjectCommand({ Bucket: bucket, Key: "teams/a/\u0001", Body: "x" }));
  assert.equal(await store.deleteBelow("teams/a/"), true);
  const left = await store.client.send(new ListObjectsV2Command({ Bucket: bucket }));
  assert.equal(left.KeyCount, 0);
});
