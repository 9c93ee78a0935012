import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import * as s3 from "@aws-sdk/client-s3";
import { createS3Server } from "../../../scripts/embedded/s3/server.ts";
import { until } from "../../support/until.ts";

const Bucket = "rcpt";
const credentials = { accessKeyId: "test", secretAccessKey: "secret" };
const MB = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), "rcpt-s3-"));
let server: Server;
let client: s3.S3Client;

async function start(): Promise<void> {
  server = createS3Server({ folder, bucket: Bucket, region: "us-east-1", ...credentials, now: Date.now });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  client = new s3.S3Client({
    endpoint,
    region: "us-east-1",
    credentials,
    forcePathStyle: true,
    maxAttempts: 1,
  });
}

async function stop(): Promise<void> {
  client.destroy();
  server.close();
  server.closeAllConnections();
  await once(server, "close");
}

async function read(Key: string, Range?: string): Promise<Buffer> {
  const { Body } = await client.send(new s3.GetObjectCommand({ Bucket, Key, ...(Range ? { Range } : {}) }));
  return Buffer.from((await Body?.transformToByteArray()) ?? []);
}

const put = (Key: string, Body: string) => client.send(new s3.PutObjectCommand({ Bucket, Key, Body }));

before(start);
after(async () => {
  await stop();
  rmSync(folder, { recursive: true });
});

describe("multipart", () => {
  const Key = "big";

  async function upload(bodies: Buffer[]) {
    const { UploadId } = await client.send(
      new s3.CreateMultipartUploadCommand({ Bucket, Key, ContentType: "text/csv" }),
    );
    const Parts: s3.CompletedPart[] = [];
    for (const [i, Body] of bodies.entries()) {
      const input = { Bucket, Key, UploadId, PartNumber: i + 1, Body };
      const { ETag } = await client.send(new s3.UploadPartCommand(input));
      Parts.push({ PartNumber: i + 1, ETag });
    }
    return { UploadId, Parts };
  }

  test("parts become one object, with the ETag of S3's own making", async () => {
    const bodies = [randomBytes(5 * MB), randomBytes(5 * MB), randomBytes(7)];
    const { UploadId, Parts } = await upload(bodies);
    const listed = await client.send(new s3.ListPartsCommand({ Bucket, Key, UploadId }));
    assert.deepEqual(
      listed.Parts?.map(({ Size }) => Size),
      [5 * MB, 5 * MB, 7],
    );
    const done = await client.send(
      new s3.CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }),
    );
    const ofParts = Parts.map(({ ETag = "" }) => Buffer.from(ETag.replaceAll('"', ""), "hex"));
    assert.equal(done.ETag, `"${createHash("md5").update(Buffer.concat(ofParts)).digest("hex")}-3"`);
    assert.ok((await read(Key)).equals(Buffer.concat(bodies)));
    await assert.rejects(client.send(new s3.ListPartsCommand({ Bucket, Key, UploadId })), {
      name: "NoSuchUpload",
    });
  });

  test("an object of parts is read from anywhere, after a restart too, and as it was while it is replaced", async () => {
    const bodies = [randomBytes(5 * MB), randomBytes(6 * MB), randomBytes(100)];
    const whole = Buffer.concat(bodies);
    const { UploadId, Parts } = await upload(bodies);
    await client.send(
      new s3.CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }),
    );
    await stop();
    await start();
    for (const [first, last] of [
      [5 * MB - 3, 5 * MB + 3],
      [0, 0],
      [11 * MB - 1, 11 * MB + 50],
      [11 * MB + 99, 11 * MB + 99],
    ] as const)
      assert.ok((await read(Key, `bytes=${first}-${last}`)).equals(whole.subarray(first, last + 1)));
    const { Body } = await client.send(new s3.GetObjectCommand({ Bucket, Key }));
    await put(Key, "another");
    assert.ok(Buffer.from((await Body?.transformToByteArray()) ?? []).equals(whole));
    assert.equal(String(await read(Key)), "another");
    await until("the parts are gone", () => readdirSync(join(folder, "assembled")).length === 0);
  });

  test("parts and uploads in progress are listed, a page at a time", async () => {
    const { UploadId } = await upload([randomBytes(10), randomBytes(11), randomBytes(12)]);
    const sizes: (number | undefined)[] = [];
    for await (const page of s3.paginateListParts({ client, pageSize: 2 }, { Bucket, Key, UploadId }))
      sizes.push(...(page.Parts ?? []).map(({ Size }) => Size));
    assert.deepEqual(sizes, [10, 11, 12]);
    const list = async (Prefix: string) => {
      const { Uploads = [] } = await client.send(new s3.ListMultipartUploadsCommand({ Bucket, Prefix }));
      return Uploads.map((listed) => [listed.Key, listed.UploadId]);
    };
    assert.deepEqual(await list("bi"), [[Key, UploadId]]);
    assert.deepEqual(await list("bih"), []);
    await client.send(new s3.AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
    assert.deepEqual(await list(""), []);
  });

  test("small, foreign and disordered parts are refused; an aborted upload is gone", async () => {
    const { UploadId, Parts } = await upload([randomBytes(10), randomBytes(10)]);
    const complete = (parts: s3.CompletedPart[]) =>
      client.send(
        new s3.CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts: parts } }),
      );
    await assert.rejects(complete(Parts), { name: "EntityTooSmall" });
    await assert.rejects(complete([{ PartNumber: 1, ETag: '"00"' }]), { name: "InvalidPart" });
    const [first = {}, second = {}] = Parts;
    await assert.rejects(complete([second, first]), /EntityTooSmall|InvalidPartOrder/);
    await client.send(new s3.AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
    await assert.rejects(complete(Parts), { name: "NoSuchUpload" });
  });
});
