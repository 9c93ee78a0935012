import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it, type TestContext } from "node:test";
import type { CorsRule } from "../../../scripts/embedded/s3/cors.ts";
import { createS3Server } from "../../../scripts/embedded/s3/server.ts";
import { lookAtObjects } from "../../../src/operator/doctor/objects-facts.ts";
import { systemClock } from "../../../src/platform/time/clock.ts";
import { createObjectStore } from "../../../src/stores/objects/objects.ts";

/** The doctor sees the CORS answers that a browser would get. */
const ORIGIN = "https://rcpt.example.com";
const PUT: CorsRule = { origins: [ORIGIN], methods: ["PUT"] };

async function corsSeen(t: TestContext, cors: CorsRule | null, portalOrigin: string | null) {
  const folder = mkdtempSync(join(tmpdir(), "rcpt-doctor-cors-"));
  const credentials = { accessKeyId: "test", secretAccessKey: "secret" };
  const place = { bucket: "rcpt", region: "us-east-1" };
  const rule = cors === null ? {} : { cors };
  const server = createS3Server({ folder, ...place, ...credentials, now: Date.now, ...rule });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const settings = { ...place, endpoint, publicEndpoint: endpoint, credentials };
  const store = createObjectStore(settings, systemClock);
  t.after(async () => {
    await store.stop();
    server.close();
    server.closeAllConnections();
    await once(server, "close");
    rmSync(folder, { recursive: true });
  });
  return (await lookAtObjects(store, settings, systemClock, portalOrigin)).cors;
}

it("a bucket whose rule names the portal's origin lets it send", async (t) => {
  assert.deepEqual(await corsSeen(t, PUT, ORIGIN), { origin: ORIGIN, allowed: true, status: 200 });
  const all = { ...PUT, origins: ["*"] };
  assert.deepEqual(await corsSeen(t, all, ORIGIN), { origin: ORIGIN, allowed: true, status: 200 });
});

it("one without a rule, or with another, does not", async (t) => {
  const refused = { origin: ORIGIN, allowed: false, status: 403 };
  assert.deepEqual(await corsSeen(t, null, ORIGIN), refused);
  assert.deepEqual(await corsSeen(t, { ...PUT, origins: ["https://other.example"] }, ORIGIN), refused);
  assert.deepEqual(await corsSeen(t, { ...PUT, methods: ["GET"] }, ORIGIN), refused);
});

it("nothing is asked for an origin that is not known", async (t) => {
  assert.equal(await corsSeen(t, PUT, null), null);
});
