import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";

const SCRIPT = resolve(import.meta.dirname, "../../../../scripts/image/health.mjs");

async function check(env: Record<string, string>): Promise<{ code: number | null; said: string }> {
  const child = spawn(process.execPath, [SCRIPT], { env, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, said };
}

describe("the image's health check", () => {
  let server: Server;
  let port: string;
  let status = 200;

  before(async () => {
    server = createServer((request, response) => {
      response.writeHead(request.url === "/healthz" ? status : 404).end("{}");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    port = String((server.address() as AddressInfo).port);
  });
  after(() => server.close());

  it("asks at the address of the settings, on loopback for a server that listens everywhere", async () => {
    for (const host of ["127.0.0.1", "0.0.0.0", "localhost", ""])
      assert.deepEqual(await check({ METRICS_PORT: port, METRICS_HOST: host }), { code: 0, said: "" }, host);
  });

  it("reads settings out of mounted files", async () => {
    const folder = mkdtempSync(join(tmpdir(), "rcpt-health-"));
    writeFileSync(join(folder, "port"), `${port}\n`);
    const { code } = await check({ METRICS_PORT_FILE: join(folder, "port") });
    rmSync(folder, { recursive: true });
    assert.equal(code, 0);
  });

  it("says what is wrong", async () => {
    status = 500;
    assert.match((await check({ METRICS_PORT: port })).said, /unhealthy: \/healthz answered 500/);
    status = 200;
    const unknown = await check({ METRICS_PORT: "0" });
    assert.deepEqual([unknown.code, /METRICS_PORT is 0/.test(unknown.said)], [1, true]);
    // Nothing listens there.
    const gone = await check({ METRICS_PORT: "1", METRICS_HOST: "127.0.0.1" });
    assert.deepEqual([gone.code, /ECONNREFUSED/.test(gone.said)], [1, true]);
  });
});
