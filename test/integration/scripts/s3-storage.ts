import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import * as s3 from "@aws-sdk/client-s3";
import { createS3Server } from "../../../scripts/embedded/s3/server.ts";

export const Bucket = "rcpt";
export const region = "us-east-1";
export const credentials = { accessKeyId: "test", secretAccessKey: "secret" };

/** @returns the endpoint of the server on a free port */
export async function listenOnFreePort(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function stopServer(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, "close");
}

/** The embedded object storage for the tests of a file, and a client of it. Await it before the first test. */
export async function useStorage() {
  const folder = mkdtempSync(join(tmpdir(), "rcpt-s3-"));
  const ahead = { clockMs: 0 };

  async function start() {
    const now = () => Date.now() + ahead.clockMs;
    const server = createS3Server({ folder, bucket: Bucket, region, ...credentials, now });
    const endpoint = await listenOnFreePort(server);
    const client = new s3.S3Client({ endpoint, region, credentials, forcePathStyle: true, maxAttempts: 1 });
    return { server, endpoint, client };
  }

  async function stop(): Promise<void> {
    running.client.destroy();
    await stopServer(running.server);
  }

  after(() => rmSync(folder, { recursive: true }));
  let running = await start();
  after(stop);
  return {
    folder,
    /** How far the server's clock is ahead; may be changed. */
    ahead,
    get endpoint() {
      return running.endpoint;
    },
    get client() {
      return running.client;
    },
    /** On the same folder and another port. */
    async restart(): Promise<void> {
      await stop();
      running = await start();
    },
    async read(Key: string, Range?: string): Promise<Buffer> {
      const command = new s3.GetObjectCommand({ Bucket, Key, ...(Range ? { Range } : {}) });
      const { Body } = await running.client.send(command);
      return Buffer.from((await Body?.transformToByteArray()) ?? []);
    },
    put(
      Key: string,
      Body: NonNullable<s3.PutObjectCommandInput["Body"]>,
      more: Partial<s3.PutObjectCommandInput> = {},
    ) {
      return running.client.send(new s3.PutObjectCommand({ Bucket, Key, Body, ...more }));
    },
  };
}
