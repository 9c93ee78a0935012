import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it, type TestContext } from "node:test";
import type { CorsRule } from "../../../scripts/embedded/s3/cors.ts";
import { createS3Server } from "../../../scripts/embedded/s3/server.ts";
import { Bucket, credentials, listenOnFreePort, region, stopServer } from "./s3-storage.ts";

/** CORS requests of a browser to the embedded object storage, and the answers. */
const ORIGIN = "https://rcpt.example.com";

async function start(t: TestContext, cors?: CorsRule): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "rcpt-s3-cors-"));
  const options = { folder, bucket: Bucket, region, ...credentials, now: Date.now };
  const server = createS3Server({ ...options, ...(cors === undefined ? {} : { cors }) });
  t.after(async () => {
    await stopServer(server);
    rmSync(folder, { recursive: true });
  });
  return `${await listenOnFreePort(server)}/${Bucket}/key`;
}

async function ask(url: string, method: string, headers: Record<string, string> = {}) {
  const answer = await fetch(url, { method, headers });
  await answer.text();
  const shown = ["origin", "methods", "headers"].map((name) =>
    answer.headers.get(`access-control-allow-${name}`),
  );
  return [answer.status, ...shown];
}

const preflight = (method: string) => ({
  Origin: ORIGIN,
  "Access-Control-Request-Method": method,
  "Access-Control-Request-Headers": "content-type",
});

it("a rule lets pages of its origins do what it names, and read what is answered, errors too", async (t) => {
  const url = await start(t, { origins: [ORIGIN], methods: ["PUT"] });
  assert.deepEqual(await ask(url, "OPTIONS", preflight("PUT")), [200, ORIGIN, "PUT", "content-type"]);
  assert.deepEqual(await ask(url, "OPTIONS", preflight("DELETE")), [403, null, null, null]);
  const other = { ...preflight("PUT"), Origin: "https://other.example" };
  assert.deepEqual(await ask(url, "OPTIONS", other), [403, null, null, null]);
  // It is not signed.
  assert.deepEqual(await ask(url, "PUT", { Origin: ORIGIN }), [403, ORIGIN, "PUT", null]);
  assert.deepEqual(await ask(url, "PUT"), [403, null, null, null]);
});

it("a rule for all origins says so", async (t) => {
  const url = await start(t, { origins: ["*"], methods: ["PUT"] });
  assert.deepEqual(await ask(url, "OPTIONS", preflight("PUT")), [200, "*", "PUT", "content-type"]);
});

it("without a rule pages of other origins are let do nothing", async (t) => {
  const url = await start(t);
  assert.deepEqual(await ask(url, "OPTIONS", preflight("PUT")), [403, null, null, null]);
  assert.deepEqual(await ask(url, "PUT", { Origin: ORIGIN }), [403, null, null, null]);
});
