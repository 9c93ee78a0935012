import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { before, describe, test } from "node:test";
import * as s3 from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { Bucket, credentials, region, useStorage } from "./s3-storage.ts";

const MB = 1024 * 1024;
const storage = await useStorage();
const { folder, read, put } = storage;

async function* pieces(count: number, bytes: number) {
  for (let i = 0; i < count; i++) yield Buffer.alloc(bytes, i);
}

/** Status and body of a plain request, as `curl` would make it. */
async function plain(
  method: string,
  url: string,
  headers: Record<string, string>,
  body: string | Buffer = "",
) {
  const req = request(url, { method, headers, agent: false });
  req.end(body);
  const [res] = await once(req, "response");
  return { status: res.statusCode as number, body: (await buffer(res)).toString() };
}

describe("objects, with the SDK's default settings", () => {
  test("what is put is got: buffer, empty, strange keys, metadata", async () => {
    for (const Key of ["a", "dir/ü ñ+&=?#%.csv", "a//b/../c", "x".repeat(1_000), "quote'()*!~"]) {
      const body = randomBytes(1_000);
      const { ETag } = await put(Key, body, { ContentType: "text/csv", Metadata: { team: "t1" } });
      assert.match(ETag ?? "", /^"[0-9a-f]{32}"$/);
      assert.deepEqual(await read(Key), body);
      const head = await storage.client.send(new s3.HeadObjectCommand({ Bucket, Key }));
      assert.equal(head.ETag, ETag);
      assert.equal(head.ContentLength, 1_000);
      assert.equal(head.ContentType, "text/csv");
      assert.deepEqual(head.Metadata, { team: "t1" });
      assert.equal(head.ContentEncoding, undefined);
    }
    // For an empty text the SDK sends no length, and warns about it.
    await put("empty", Buffer.alloc(0));
    assert.equal((await read("empty")).length, 0);
  });

  test("a stream goes as aws-chunked with a CRC32 trailer, and is stored without the framing", async () => {
    const ContentLength = 40 * 100_000;
    await put("stream", Readable.from(pieces(40, 100_000)), { ContentLength });
    const got = await read("stream");
    assert.equal(got.length, ContentLength);
    assert.equal(got[39 * 100_000], 39);
  });

  test("ranges", async () => {
    await put("digits", "0123456789");
    assert.equal(String(await read("digits", "bytes=2-4")), "234");
    assert.equal(String(await read("digits", "bytes=7-")), "789");
    assert.equal(String(await read("digits", "bytes=-2")), "89");
    assert.equal(String(await read("digits", "bytes=8-100")), "89");
    await assert.rejects(read("digits", "bytes=10-"), { name: "InvalidRange" });
  });

  test("a missing key, a missing bucket", async () => {
    await assert.rejects(read("nothing"), { name: "NoSuchKey" });
    await assert.rejects(storage.client.send(new s3.HeadObjectCommand({ Bucket, Key: "nothing" })), {
      name: "NotFound",
    });
    const Key = "a";
    await assert.rejects(storage.client.send(new s3.GetObjectCommand({ Bucket: "other", Key })), {
      name: "NoSuchBucket",
    });
    await storage.client.send(new s3.HeadBucketCommand({ Bucket }));
    await assert.rejects(storage.client.send(new s3.CreateBucketCommand({ Bucket })), {
      name: "BucketAlreadyOwnedByYou",
    });
  });

  test("of many writers with If-None-Match one wins", async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, (_, i) => put("once", `writer ${i}`, { IfNoneMatch: "*" })),
    );
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
    for (const result of results)
      if (result.status === "rejected") assert.equal(result.reason.name, "PreconditionFailed");
    await assert.rejects(put("once", "x", { IfMatch: '"0"' }), { name: "PreconditionFailed" });
  });

  test("reading with If-Match gives the object that is meant, or nothing", async () => {
    const { ETag } = await put("matched", "0123");
    const get = (IfMatch: string | undefined) =>
      storage.client.send(new s3.GetObjectCommand({ Bucket, Key: "matched", IfMatch, Range: "bytes=1-2" }));
    assert.equal(await (await get(ETag)).Body?.transformToString(), "12");
    await put("matched", "4567");
    await assert.rejects(get(ETag), { name: "PreconditionFailed" });
    await assert.rejects(
      storage.client.send(new s3.HeadObjectCommand({ Bucket, Key: "matched", IfMatch: ETag })),
      (error: s3.S3ServiceException) => error.$metadata.httpStatusCode === 412,
    );
  });

  test("an object replaced while it is read is read as it was", async () => {
    await put("replaced", Buffer.alloc(3 * MB, "a"));
    const { Body } = await storage.client.send(new s3.GetObjectCommand({ Bucket, Key: "replaced" }));
    await put("replaced", Buffer.alloc(MB, "b"));
    const old = Buffer.from((await Body?.transformToByteArray()) ?? []);
    assert.ok(old.equals(Buffer.alloc(3 * MB, "a")));
    assert.ok((await read("replaced")).equals(Buffer.alloc(MB, "b")));
  });

  test("delete, one and many", async () => {
    for (const key of ["d1", "d2", "d&<3>"]) await put(key, key);
    await storage.client.send(new s3.DeleteObjectCommand({ Bucket, Key: "d1" }));
    const Objects = [{ Key: "d2" }, { Key: "d&<3>" }, { Key: "never" }];
    const { Deleted } = await storage.client.send(
      new s3.DeleteObjectsCommand({ Bucket, Delete: { Objects } }),
    );
    assert.deepEqual(
      Deleted?.map(({ Key }) => Key),
      ["d2", "d&<3>", "never"],
    );
    const { KeyCount } = await storage.client.send(
      new s3.ListObjectsV2Command({ Bucket, Prefix: "d", Delimiter: "/" }),
    );
    assert.equal(KeyCount, 2, "digits and the folder dir/ are left");
  });
});

describe("lists", () => {
  before(async () => {
    for (const key of ["l/b/2", "l/a", "l/b/1", "l/é", "l/z", "l/b-"]) await put(key, key);
  });

  test("every page size gives all keys once, in the order of their bytes", async () => {
    for (const MaxKeys of [1, 2, 3, 6, 1_000]) {
      const keys: (string | undefined)[] = [];
      const pages = s3.paginateListObjectsV2(
        { client: storage.client, pageSize: MaxKeys },
        { Bucket, Prefix: "l/" },
      );
      for await (const page of pages) keys.push(...(page.Contents ?? []).map(({ Key }) => Key));
      assert.deepEqual(keys, ["l/a", "l/b-", "l/b/1", "l/b/2", "l/z", "l/é"]);
    }
  });

  test("common prefixes, once each, over pages", async () => {
    const seen: (string | undefined)[] = [];
    const input = { Bucket, Prefix: "l/", Delimiter: "/" };
    for await (const page of s3.paginateListObjectsV2({ client: storage.client, pageSize: 1 }, input))
      seen.push(
        ...(page.Contents ?? []).map(({ Key }) => Key),
        ...(page.CommonPrefixes ?? []).map((p) => p.Prefix),
      );
    assert.deepEqual(seen, ["l/a", "l/b-", "l/b/", "l/z", "l/é"]);
  });

  test("start-after and url encoding", async () => {
    const input = { Bucket, Prefix: "l/", StartAfter: "l/b/2", EncodingType: "url" as const };
    const { Contents } = await storage.client.send(new s3.ListObjectsV2Command(input));
    assert.deepEqual(
      Contents?.map(({ Key }) => Key),
      ["l%2Fz", "l%2F%C3%A9"],
    );
  });
});

const presigning = () =>
  new s3.S3Client({
    endpoint: storage.endpoint,
    region,
    credentials,
    forcePathStyle: true,
    requestChecksumCalculation: "WHEN_REQUIRED",
  });

describe("presigned URLs", () => {
  test("put and get by plain HTTP, with the answer's headers as asked", async () => {
    const signer = presigning();
    const up = await getSignedUrl(signer, new s3.PutObjectCommand({ Bucket, Key: "up load.csv" }));
    assert.equal((await plain("PUT", up, {}, "a,b\n")).status, 200);
    const command = new s3.GetObjectCommand({
      Bucket,
      Key: "up load.csv",
      ResponseContentDisposition: 'attachment; filename="x.csv"',
    });
    const down = await fetch(await getSignedUrl(signer, command));
    assert.equal(down.headers.get("content-disposition"), 'attachment; filename="x.csv"');
    assert.equal(await down.text(), "a,b\n");
    signer.destroy();
  });

  test("a changed, an expired and an extended one are refused", async () => {
    const signer = presigning();
    const url = await getSignedUrl(signer, new s3.GetObjectCommand({ Bucket, Key: "digits" }), {
      expiresIn: 60,
    });
    assert.equal((await plain("GET", url, {})).status, 200);
    assert.match((await plain("GET", url.replace("digits", "a"), {})).body, /SignatureDoesNotMatch/);
    assert.match((await plain("PUT", url, {}, "x")).body, /SignatureDoesNotMatch/);
    assert.match(
      (await plain("GET", url.replace("Expires=60", "Expires=6000"), {})).body,
      /SignatureDoesNotMatch/,
    );
    assert.equal((await plain("GET", url, { "x-amz-meta-more": "1" })).status, 403);
    storage.ahead.clockMs = 61_000;
    const late = await plain("GET", url, {});
    storage.ahead.clockMs = 0;
    assert.equal(late.status, 403);
    assert.match(late.body, /expired/);
    signer.destroy();
  });

  test("a presigned size is held to", async () => {
    const signer = presigning();
    const command = new s3.PutObjectCommand({ Bucket, Key: "sized", ContentLength: 5 });
    const url = await getSignedUrl(signer, command, { signableHeaders: new Set(["content-length"]) });
    assert.equal((await plain("PUT", url, {}, "123456")).status, 403);
    assert.equal((await plain("PUT", url, {}, "12345")).status, 200);
    signer.destroy();
  });
});

describe("what is wrong is refused", () => {
  test("no, another and a wrong secret", async () => {
    assert.equal((await plain("GET", `${storage.endpoint}/rcpt/digits`, {})).status, 403);
    for (const [wrong, name] of [
      [{ ...credentials, accessKeyId: "other" }, "InvalidAccessKeyId"],
      [{ ...credentials, secretAccessKey: "other" }, "SignatureDoesNotMatch"],
    ] as const) {
      const config = {
        endpoint: storage.endpoint,
        region,
        credentials: wrong,
        forcePathStyle: true,
        maxAttempts: 1,
      };
      const unauthorised = new s3.S3Client(config);
      await assert.rejects(unauthorised.send(new s3.HeadBucketCommand({ Bucket })), /Unknown|403/);
      await assert.rejects(unauthorised.send(new s3.GetObjectCommand({ Bucket, Key: "digits" })), { name });
      unauthorised.destroy();
    }
  });

  /** The URL of a signed chunked PUT, for bodies that no SDK would send. */
  async function chunkedPut(body: string, length: number) {
    const headers = {
      "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
      "x-amz-decoded-content-length": String(length),
      "x-amz-trailer": "x-amz-checksum-crc32",
      "content-encoding": "aws-chunked",
    };
    const command = new s3.PutObjectCommand({ Bucket, Key: "raw" });
    command.middlewareStack.add(
      (next) => (args) => {
        Object.assign((args.request as { headers: object }).headers, headers);
        return next(args);
      },
      { step: "build" },
    );
    const signer = presigning();
    const unhoistableHeaders = new Set(Object.keys(headers));
    const url = await getSignedUrl(signer, command, {
      unhoistableHeaders,
      signableHeaders: unhoistableHeaders,
    });
    signer.destroy();
    return plain("PUT", url, headers, body);
  }

  test("chunked bodies: wrong checksum, missing trailer, cut short, too long, malformed", async () => {
    const good = "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n";
    assert.deepEqual(await chunkedPut(good, 5), { status: 200, body: "" });
    assert.equal(String(await read("raw")), "hello");
    const cases: [string, number, string][] = [
      [good.replace("NhCmhg==", "AAAAAA=="), 5, "BadDigest"],
      ["5\r\nhello\r\n0\r\n\r\n", 5, "BadDigest"],
      ["5\r\nhello\r\n", 5, "IncompleteBody"],
      ["5\r\nhel", 5, "IncompleteBody"],
      [good, 6, "IncompleteBody"],
      [good, 4, "InvalidArgument"],
      [good.replace("5\r\n", "zz\r\n"), 5, "IncompleteBody"],
      [good.replace("hello\r\n", "hello\n\n"), 5, "IncompleteBody"],
      [`${"1".repeat(5_000)}\r\n`, 5, "IncompleteBody"],
    ];
    for (const [body, length, code] of cases) {
      const answer = await chunkedPut(body, length);
      assert.ok(answer.body.includes(`<Code>${code}</Code>`), `${JSON.stringify(body)}: ${answer.body}`);
    }
    assert.equal(String(await read("raw")), "hello", "no refused body became the object");
    assert.deepEqual(readdirSync(join(folder, "staging")), [], "no refused body is left on disk");
  });

  test("what is not implemented says so", async () => {
    const copy = new s3.CopyObjectCommand({ Bucket, Key: "copy", CopySource: "rcpt/digits" });
    await assert.rejects(storage.client.send(copy), { name: "NotImplemented" });
  });
});

test("everything is there after a restart", async () => {
  await put("kept", "kept", { Metadata: { a: "b" } });
  const list = async () => (await storage.client.send(new s3.ListObjectsV2Command({ Bucket }))).Contents;
  const before = await list();
  await storage.restart();
  assert.deepEqual(await list(), before);
  assert.equal(String(await read("kept")), "kept");
});
