import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { leaveBodiesUnsigned } from "../../../../src/stores/objects/object-client.ts";

const BODY = Buffer.from("a,b\r\n");
const SIGNED = createHash("sha256").update(BODY).digest("hex");

type Headers = Record<string, string>;

/** The headers of an object that is put, as they would go out. */
async function headersAt(endpoint: string): Promise<Headers> {
  let sent: Headers = {};
  const client = new S3Client({
    region: "us-east-1",
    forcePathStyle: true,
    endpoint,
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
    requestHandler: {
      handle: async ({ headers }: { headers: Headers }) => {
        sent = headers;
        return { response: { statusCode: 200, headers: {} } };
      },
    } as never,
  });
  leaveBodiesUnsigned(client);
  await client.send(new PutObjectCommand({ Bucket: "bucket", Key: "key", Body: BODY }));
  client.destroy();
  return sent;
}

describe("an object that is written", () => {
  const unsigned = [
    ...["https://s3.example.com", "https://10.0.0.1:9000"],
    ...["http://127.0.0.1:9000", "http://127.1.2.3", "http://[::1]:9000", "http://localhost:9000"],
  ];
  for (const endpoint of unsigned)
    it(`has a checksum, and no part in the signature, at ${endpoint}`, async () => {
      const headers = await headersAt(endpoint);
      assert.equal(headers["x-amz-content-sha256"], "UNSIGNED-PAYLOAD");
      assert.ok(headers["x-amz-checksum-crc32"]);
      assert.match(headers.authorization ?? "", /^AWS4-HMAC-SHA256 /);
    });

  const signed = [
    ...["http://s3.example.com", "http://10.0.0.1:9000", "http://minio:9000"],
    ...["http://127.0.0.1.example.com", "http://localhost.example.com"],
  ];
  for (const endpoint of signed)
    it(`is signed too on a connection that an attacker may alter: ${endpoint}`, async () => {
      const headers = await headersAt(endpoint);
      assert.equal(headers["x-amz-content-sha256"], SIGNED);
      assert.ok(headers["x-amz-checksum-crc32"]);
    });
});
