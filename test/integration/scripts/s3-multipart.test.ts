import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import * as s3 from "@aws-sdk/client-s3";
import { until } from "../../support/until.ts";
import { Bucket, useStorage } from "./s3-storage.ts";

const MB = 1024 * 1024;
const storage = await useStorage();
const { folder, read, put } = storage;

describe("multipart", () => {
  const Key = "big";

  async function upload(bodies: Buffer[]) {
    const { UploadId } = await storage.client.send(
      new s3.CreateMultipartUploadCommand({ Bucket, Key, ContentType: "text/csv" }),
    );
    const Parts: s3.CompletedPart[] = [];
    for (const [i, Body] of bodies.entries()) {
      const input = { Bucket, Key, UploadId, PartNumber: i + 1, Body };
      const { ETag } = await storage.client.send(new s3.UploadPartCommand(input));
      Parts.push({ PartNumber: i + 1, ETag });
    }
    return { UploadId, Parts };
  }

  test("parts become one object, with the ETag of S3's own making", async () => {
    const bodies = [randomBytes(5 * MB), randomBytes(5 * MB), randomBytes(7)];
    const { UploadId, Parts } = await upload(bodies);
    const listed = await storage.client.send(new s3.ListPartsCommand({ Bucket, Key, UploadId }));
    assert.deepEqual(
      listed.Parts?.map(({ Size }) => Size),
      [5 * MB, 5 * MB, 7],
    );
    const done = await storage.client.send(
      new s3.CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }),
    );
    const ofParts = Parts.map(({ ETag = "" }) => Buffer.from(ETag.replaceAll('"', ""), "hex"));
    assert.equal(done.ETag, `"${createHash("md5").update(Buffer.concat(ofParts)).digest("hex")}-3"`);
    assert.ok((await read(Key)).equals(Buffer.concat(bodies)));
    await assert.rejects(storage.client.send(new s3.ListPartsCommand({ Bucket, Key, UploadId })), {
      name: "NoSuchUpload",
    });
  });

  test("an object of parts is read from anywhere, after a restart too, and as it was while it is replaced", async () => {
    const bodies = [randomBytes(5 * MB), randomBytes(6 * MB), randomBytes(100)];
    const whole = Buffer.concat(bodies);
    const { UploadId, Parts } = await upload(bodies);
    await storage.client.send(
      new s3.CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }),
    );
    await storage.restart();
    for (const [first, last] of [
      [5 * MB - 3, 5 * MB + 3],
      [0, 0],
      [11 * MB - 1, 11 * MB + 50],
      [11 * MB + 99, 11 * MB + 99],
    ] as const)
      assert.ok((await read(Key, `bytes=${first}-${last}`)).equals(whole.subarray(first, last + 1)));
    const { Body } = await storage.client.send(new s3.GetObjectCommand({ Bucket, Key }));
    await put(Key, "another");
    assert.ok(Buffer.from((await Body?.transformToByteArray()) ?? []).equals(whole));
    assert.equal(String(await read(Key)), "another");
    await until("the parts are gone", () => readdirSync(join(folder, "assembled")).length === 0);
  });

  test("parts and uploads in progress are listed, a page at a time", async () => {
    const { UploadId } = await upload([randomBytes(10), randomBytes(11), randomBytes(12)]);
    const sizes: (number | undefined)[] = [];
    for await (const page of s3.paginateListParts(
      { client: storage.client, pageSize: 2 },
      { Bucket, Key, UploadId },
    ))
      sizes.push(...(page.Parts ?? []).map(({ Size }) => Size));
    assert.deepEqual(sizes, [10, 11, 12]);
    const list = async (Prefix: string) => {
      const { Uploads = [] } = await storage.client.send(
        new s3.ListMultipartUploadsCommand({ Bucket, Prefix }),
      );
      return Uploads.map((listed) => [listed.Key, listed.UploadId]);
    };
    assert.deepEqual(await list("bi"), [[Key, UploadId]]);
    assert.deepEqual(await list("bih"), []);
    await storage.client.send(new s3.AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
    assert.deepEqual(await list(""), []);
  });

  test("small, foreign and disordered parts are refused; an aborted upload is gone", async () => {
    const { UploadId, Parts } = await upload([randomBytes(10), randomBytes(10)]);
    const complete = (parts: s3.CompletedPart[]) =>
      storage.client.send(
        new s3.CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts: parts } }),
      );
    await assert.rejects(complete(Parts), { name: "EntityTooSmall" });
    await assert.rejects(complete([{ PartNumber: 1, ETag: '"00"' }]), { name: "InvalidPart" });
    const [first = {}, second = {}] = Parts;
    await assert.rejects(complete([second, first]), /EntityTooSmall|InvalidPartOrder/);
    await storage.client.send(new s3.AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
    await assert.rejects(complete(Parts), { name: "NoSuchUpload" });
  });
});
