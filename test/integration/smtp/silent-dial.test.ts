import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createSocksServer, type SocksServer } from "../../support/socks-server.ts";
import { until } from "../../support/until.ts";
import { createPoolFixture, type PoolFixture, summary } from "./fixture.ts";
import { createScriptedServer, type ScriptedServer } from "./scripted-server.ts";

const { silentMs } = LIMITS.network;
const { sweepMs } = LIMITS.smtp;

let server: ScriptedServer;
let socks: SocksServer;
before(async () => {
  [server, socks] = await Promise.all([createScriptedServer(), createSocksServer()]);
});
after(async () => {
  await Promise.all([server.close(), socks.close()]);
});

/** Silence is reported after the sockets have been polled. */
const looked = () => new Promise((resolve) => setImmediate(resolve));

/** A pool behind a proxy. A proxy that never answers a request to connect looks like a network without answers. */
function pool(): PoolFixture {
  const proxy = { host: "127.0.0.1", port: socks.port, credentials: null, heloName: "probe.test" };
  return createPoolFixture(server.port, { proxies: [proxy] });
}

describe("a dial without an answer", () => {
  it("is reported once, when it has been silent for long enough, and goes on", async () => {
    socks.behaviour = "silent_connect";
    const fixture = pool();
    const before = socks.asked.length;
    const pending = fixture.rcpt("a@x.test", { site: "x.test", published: false });
    await until("the proxy has its order", () => socks.asked.length > before);
    const beganMs = fixture.clock.now();
    fixture.clock.advance(silentMs - 1);
    await looked();
    assert.deepEqual(fixture.silences, []);
    fixture.clock.advance(sweepMs + 1);
    await looked();
    const path = `proxy:127.0.0.1:${socks.port}`;
    const told = { kind: "silent", site: "x.test", address: "127.0.0.1", path, published: false, beganMs };
    assert.deepEqual(fixture.silences, [told]);
    fixture.clock.advance(1_000);
    await looked();
    assert.equal(fixture.silences.length, 1);
    fixture.clock.advance(LIMITS.smtp.connectTimeoutMs);
    assert.equal(summary(await pending), "connect timeout");
    await fixture.end();
  });

  it("is abandoned by jobs that must not wait for it any more, within a sweep", async () => {
    socks.behaviour = "silent_connect";
    const fixture = pool();
    const before = socks.asked.length;
    let down = false;
    const pending = fixture.rcpt("a@x.test", { cancelled: () => down });
    await until("the proxy has its order", () => socks.asked.length > before);
    down = true;
    fixture.clock.advance(sweepMs);
    assert.equal(summary(await pending), "connect cancelled");
    fixture.clock.advance(LIMITS.smtp.connectTimeoutMs);
    await fixture.end();
  });

  it("is not one that was answered, however long the dialogue takes", async () => {
    socks.behaviour = "serve";
    const fixture = pool();
    const pending = fixture.rcpt("a@x.test");
    assert.equal(summary(await pending), "rcpt 250");
    fixture.clock.advance(silentMs * 3);
    await looked();
    assert.deepEqual(fixture.silences, []);
    await fixture.end();
  });
});
