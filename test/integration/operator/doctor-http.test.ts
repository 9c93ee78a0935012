import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { after, before, describe, it } from "node:test";
import { diagnoseConfig } from "../../../src/config/config.ts";
import type { DoctorFinding } from "../../../src/operator/doctor/finding.ts";
import { HTTP_GROUP } from "../../../src/operator/doctor/http.ts";
import { systemClock } from "../../../src/platform/time/clock.ts";
import { type Harness, startServer } from "../api/harness.ts";

/** A proxy that hands on bytes, and writes each request's first line anew. */
async function startProxy(targetPort: number, version: "1.0" | "1.1"): Promise<Server> {
  const proxy = createServer((client) => {
    const upstream = connect(targetPort, "127.0.0.1");
    client.once("data", (head) =>
      upstream.write(head.toString("latin1").replace(/ HTTP\/1\.1\r\n/, ` HTTP/${version}\r\n`), "latin1"),
    );
    upstream.pipe(client);
    for (const socket of [client, upstream]) {
      socket.on("error", () => undefined);
      socket.on("close", () => {
        client.destroy();
        upstream.destroy();
      });
    }
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return proxy;
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

describe("the doctor asks by way of PUBLIC_URL", () => {
  let service: Harness;
  const proxies: Server[] = [];
  before(async () => {
    service = await startServer();
  });
  after(async () => {
    for (const proxy of proxies) proxy.close();
    await service.close();
  });

  async function examine(settings: Record<string, string>): Promise<DoctorFinding> {
    const diagnosis = diagnoseConfig({
      DATABASE_URL: "postgres://u:p@db/rcpt",
      REDIS_URL: "redis://c",
      HOST: "127.0.0.1",
      PORT: String(service.port),
      ...settings,
    });
    const found: DoctorFinding[] = [];
    const subject = { diagnosis, config: diagnosis.config, clock: systemClock, online: false };
    await HTTP_GROUP.examine(subject, {
      note: (...some) => void found.push(...some),
      atEnd: () => undefined,
    });
    assert.equal(found.length, 1);
    return found[0] as DoctorFinding;
  }
  async function through(version: "1.0" | "1.1", path = ""): Promise<DoctorFinding> {
    const proxy = await startProxy(service.port, version);
    proxies.push(proxy);
    return examine({ PUBLIC_URL: `http://127.0.0.1:${portOf(proxy)}${path}` });
  }

  it("and is content with a proxy that speaks HTTP/1.1", async () => {
    assert.equal((await through("1.1")).state, "ok");
  });

  it("and recognises a proxy that speaks HTTP/1.0, by the server's own words", async () => {
    const finding = await through("1.0");
    assert.equal(finding.state, "fail");
    assert.match(finding.seen, /answers 505.*speaks HTTP\/1\.0 to us/);
    assert.match(finding.advice, /proxy_http_version 1\.1;/);
  });

  it("and recognises an answer that is not ours", async () => {
    const finding = await through("1.1", "/elsewhere");
    assert.equal(finding.state, "fail");
    assert.match(finding.seen, /answers 404/);
  });

  it("and reports when no server listens there, or the answer is not HTTP", async () => {
    const gone = await startProxy(service.port, "1.1");
    const port = portOf(gone);
    gone.close();
    await once(gone, "close");
    const refused = await examine({ PUBLIC_URL: `http://127.0.0.1:${port}` });
    assert.deepEqual([refused.state, /ECONNREFUSED/.test(refused.seen)], ["warn", true]);
    const inPod = { PUBLIC_URL: `http://127.0.0.1:${port}`, KUBERNETES_SERVICE_HOST: "10.0.0.1" };
    assert.equal((await examine(inPod)).state, "skipped");
    const babbler = createServer((client) => {
      client.on("error", () => undefined);
      client.end("220 mail.example.com ESMTP\r\n");
    });
    proxies.push(babbler);
    babbler.listen(0, "127.0.0.1");
    await once(babbler, "listening");
    assert.equal((await examine({ PUBLIC_URL: `http://127.0.0.1:${portOf(babbler)}` })).state, "warn");
  });

  it("and skips it where nobody asks, or the way is not known", async () => {
    assert.equal((await examine({})).state, "skipped");
    assert.equal((await examine({ ROLE: "relay", PUBLIC_URL: "http://127.0.0.1:1" })).state, "skipped");
  });
});
