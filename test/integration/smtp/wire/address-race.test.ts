import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { SilentListener } from "../../../support/silent-listener.ts";
import { until } from "../../../support/until.ts";
import { createPoolFixture, type PoolFixture, type PoolOptions, summary } from "../fixture.ts";
import { createScriptedServer, type ScriptedServer } from "../scripted-server.ts";

const { nextAddressMs, connectTimeoutMs, sweepMs } = LIMITS.smtp;
const SILENT = "127.0.0.2";
const REFUSING = "127.0.0.3";

const servers: ScriptedServer[] = [];
let silent: SilentListener;
let port: number;
before(async () => {
  const ipv4 = await createScriptedServer();
  port = ipv4.port;
  servers.push(ipv4);
  // A machine without IPv6 has no ::1; then an address of IPv4 answers in its place.
  const ipv6 = await createScriptedServer(undefined, { host: "::1", port }).catch(() => null);
  servers.push(ipv6 ?? ipv4);
  silent = await SilentListener.open(SILENT, port);
});
after(async () => {
  await silent.close();
  for (const server of new Set(servers)) await server.close();
});

const answering = () => (servers[0] === servers[1] ? "127.0.0.1" : "::1");

/** By the egress route of the first. */
function others(...addresses: string[]): PoolOptions["othersOf"] {
  return async ({ path }) => addresses.map((address) => ({ address, path }));
}

/** A pool in which the first address has been dialled. */
async function dialling(address: string, options: PoolOptions) {
  const fixture = createPoolFixture(port, options);
  const pending = fixture.rcpt("a@x.test", { address });
  await fixture.clock.advanceAsync(0);
  assert.equal(fixture.slots.stats().held, 1);
  return { fixture, pending };
}

/** Moves time on by 250 ms, and lets real sockets answer before more of it passes. */
async function answered(fixture: PoolFixture, pending: Promise<unknown>): Promise<void> {
  await fixture.clock.advanceAsync(nextAddressMs);
  await pending;
}

describe("a host with several addresses", () => {
  it("is asked at the next one when the first is silent for 250 ms, on one slot", async () => {
    const { fixture, pending } = await dialling(SILENT, { othersOf: others(answering(), "127.0.0.1") });
    await answered(fixture, pending);
    const outcome = await pending;
    assert.deepEqual([summary(outcome), outcome.address], ["rcpt 250", answering()]);
    assert.deepEqual([fixture.slots.stats().held, fixture.pool.stats().sessions], [1, 1]);
    // The session serves the next one too.
    const next = await fixture.rcpt("missing@x.test", { address: SILENT });
    assert.deepEqual([summary(next), next.address], ["rcpt 550", answering()]);
    assert.deepEqual(fixture.events, ["opened"]);
    await fixture.end();
  });

  it("is asked at the next one at once when the first refuses", async () => {
    const { fixture, pending } = await dialling(REFUSING, { othersOf: others(answering()) });
    const outcome = await pending;
    assert.deepEqual([summary(outcome), outcome.address], ["rcpt 250", answering()]);
    await fixture.end();
  });

  it("is reported with each address when none connects, within the time of one", async () => {
    const { fixture, pending } = await dialling(SILENT, { othersOf: others(REFUSING) });
    await fixture.clock.advanceAsync(nextAddressMs);
    await until("the other has refused", async () => {
      await fixture.clock.advanceAsync(sweepMs);
      return fixture.clock.monotonic() > nextAddressMs + connectTimeoutMs;
    });
    const outcome = await pending;
    assert.deepEqual([summary(outcome), outcome.address], ["connect timeout", SILENT]);
    const tried = outcome.kind === "failure" ? outcome.tried : undefined;
    assert.deepEqual(
      tried?.map(({ address, path, cause }) => [address, path, cause]),
      [[REFUSING, "direct", "refused"]],
    );
    await fixture.end();
  });

  it("is greeted by the name of the route that won, and left once that route is blocked", async () => {
    const path = { name: "other", localAddress: "127.0.0.9", proxy: null, heloName: "other.test" };
    const dialled = servers[0]?.connections ?? [];
    dialled.length = 0;
    const fixture = createPoolFixture(port, { othersOf: async () => [{ address: "127.0.0.1", path }] });
    const ask = () => fixture.rcpt("a@x.test", { address: REFUSING });
    assert.deepEqual([(await ask()).path, (await ask()).path], ["other", "other"]);
    assert.deepEqual([dialled.length, dialled[0]?.[0]], [1, "EHLO other.test"]);
    fixture.pool.holdBack("site", "other", "");
    await ask();
    assert.equal(dialled.length, 2);
    await fixture.end();
  });

  it("is dialled at one address alone where that is asked for", async () => {
    const fixture = createPoolFixture(port, { othersOf: others(answering()) });
    const outcome = await fixture.rcpt("a@x.test", { address: REFUSING, alone: true });
    assert.deepEqual([summary(outcome), outcome.address], ["connect refused", REFUSING]);
    await fixture.end();
  });

  it("never dials an address of a private network beside a public one", async () => {
    // From the loopback address the kernel itself refuses to dial a public one: no packet leaves.
    const options = {
      othersOf: others(answering()),
      sourceAddresses: ["127.0.0.1"],
      probePrivateAddresses: false,
    };
    const fixture = createPoolFixture(port, options);
    const before = servers.map(({ connections }) => connections.length);
    const outcome = await fixture.rcpt("a@x.test", { address: "8.8.8.8" });
    assert.deepEqual([summary(outcome), outcome.address], ["connect unreachable", "8.8.8.8"]);
    assert.deepEqual(
      servers.map(({ connections }) => connections.length),
      before,
    );
    await fixture.end();
  });
});
