import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, describe, it } from "node:test";
import { inspect } from "node:util";
import type { ProxyConfig } from "../../../../src/config/config.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { acceptsConnection, dialTargetKey } from "../../../../src/smtp/wire/dial.ts";
import { createEgressRoutes } from "../../../../src/smtp/wire/egress-routes.ts";
import { createMailWorld } from "../../../support/mail-world/world.ts";
import { createSocksServer, type SocksBehaviour, type SocksOptions } from "../../../support/socks-server.ts";
import { createPoolFixture, type PoolFixture, type PoolOptions, summary } from "../fixture.ts";
import { createScriptedServer } from "../scripted-server.ts";

const SECRET = "hunter2:%";

function proxyAt(port: number, credentials: ProxyConfig["credentials"] = null): ProxyConfig {
  return { host: "127.0.0.1", port, credentials, heloName: "by-proxy.test" };
}

/** Functions that close what tests opened. */
const closing: (() => Promise<unknown>)[] = [];
after(async () => {
  for (const close of closing.reverse()) await close();
});

async function start(options: SocksOptions = {}, credentials: ProxyConfig["credentials"] = null) {
  const server = await createScriptedServer();
  const socks = await createSocksServer(options);
  closing.push(
    () => server.close(),
    () => socks.close(),
  );
  const fixture = createPoolFixture(server.port, { proxies: [proxyAt(socks.port, credentials)] });
  return { server, socks, fixture };
}

/** Asks through a proxy of `behaviour` and lets the time pass that it takes to give up. */
async function endOf(fixture: PoolFixture, givenUp: () => Promise<void> = async () => {}) {
  const pending = fixture.rcpt("a@x.test");
  await givenUp();
  const outcome = await pending;
  await fixture.end();
  const detail = outcome.kind === "failure" ? outcome.detail : "";
  // `detail` is shown to tenants; the rest is stored.
  assert.doesNotMatch(detail, /127\.0\.0\.1/);
  assert.doesNotMatch(inspect(outcome), /hunter2/);
  return { end: summary(outcome), detail };
}

describe("a session through a SOCKS5 proxy", () => {
  it("is one like any other, under the HELO name of its route", async () => {
    for (const behaviour of ["serve", "serve_together"] as const) {
      const { server, socks, fixture } = await start({ behaviour, localAddress: "127.0.0.9" });
      const jobs = Array.from({ length: 30 }, (_, i) =>
        fixture.rcpt(`${i % 3 === 0 ? "missing" : "u"}${i}@x.test`),
      );
      const ends = (await Promise.all(jobs)).map(summary);
      assert.deepEqual(
        ends,
        jobs.map((_, i) => (i % 3 === 0 ? "rcpt 550" : "rcpt 250")),
      );
      assert.equal(server.connections.length, 1);
      assert.equal(server.connections[0]?.[0], "EHLO by-proxy.test");
      assert.deepEqual(socks.asked, [`127.0.0.1:${server.port}`]);
      await fixture.end();
    }
  });

  it("logs in where it is asked to, with what may stand in no URL", async () => {
    const login = { username: "us@er", password: SECRET };
    const { socks, fixture } = await start({ login }, login);
    assert.equal((await endOf(fixture)).end, "rcpt 250");
    assert.deepEqual(socks.logins, [`us@er:${SECRET}`]);
  });

  it("finds a proxy by its name", async () => {
    const { server, socks, fixture } = await start();
    await fixture.end();
    const named = createPoolFixture(server.port, {
      proxies: [{ ...proxyAt(socks.port), host: "localhost" }],
    });
    assert.equal((await endOf(named)).end, "rcpt 250");
  });

  it("is let in without a login though it has one", async () => {
    const { fixture } = await start({}, { username: "us@er", password: SECRET });
    assert.equal((await endOf(fixture)).end, "rcpt 250");
  });

  it("upgrades to TLS, and falls back to a connection in clear by the same route", async () => {
    const world = await createMailWorld();
    const socks = await createSocksServer();
    closing.push(
      () => world.close(),
      () => socks.close(),
    );
    for (const [domain, tls] of [
      ["tls.test", true],
      ["tls-drop.test", false],
    ] as const) {
      const fixture = createPoolFixture(world.smtpPort, { proxies: [proxyAt(socks.port)] });
      const { address } = world.host(`mx.${domain}`);
      const outcome = await fixture.rcpt(`exists@${domain}`, { host: `mx.${domain}`, address });
      assert.deepEqual([summary(outcome), outcome.tls], ["rcpt 250", tls]);
      await fixture.end();
    }
    assert.equal(socks.asked.length, 3);
  });

  it("never reaches a private address: only the proxy itself may be one", async () => {
    const { socks, fixture } = await start();
    await fixture.end();
    const strict = createPoolFixture(25, { proxies: [proxyAt(socks.port)], probePrivateAddresses: false });
    assert.equal((await endOf(strict)).end, "connect private_address");
    assert.equal(socks.taken, 0);
  });
});

describe("what a proxy says of the target is the target's", () => {
  const replies: [number, string][] = [
    [3, "connect unreachable"],
    [4, "connect unreachable"],
    [5, "connect refused"],
    [6, "connect timeout"],
    [8, "connect unreachable"],
  ];
  for (const [code, end] of replies) {
    it(`reply ${code}: ${end}`, async () => {
      const { fixture } = await start({ behaviour: code });
      assert.equal((await endOf(fixture)).end, end);
    });
  }

  it("silence once it is to connect", async () => {
    const { socks, fixture } = await start({ behaviour: "silent_connect" });
    const { end, detail } = await endOf(fixture, () => giveUp(fixture, () => socks.asked.length > 0));
    assert.deepEqual([end, detail], ["connect timeout", "no answer at stage connect"]);
  });

  it("silence after a login too", async () => {
    const login = { username: "u", password: SECRET };
    const { socks, fixture } = await start({ behaviour: "silent_connect", login }, login);
    assert.equal(
      (await endOf(fixture, () => giveUp(fixture, () => socks.asked.length > 0))).end,
      "connect timeout",
    );
  });
});

/** Waits on the wire until `there`, then moves the clock past the dial's deadline. */
async function giveUp(fixture: PoolFixture, there: () => boolean): Promise<void> {
  while (!there()) await new Promise((resolve) => setImmediate(resolve));
  await fixture.clock.advanceAsync(LIMITS.smtp.connectTimeoutMs);
}

describe("what a proxy fails to do is our network's fault", () => {
  const behaviours: [SocksBehaviour, string][] = [
    [1, "proxy: Failure"],
    [2, "proxy: NotAllowed"],
    [7, "proxy: CommandNotSupported"],
    [9, "proxy: no reply of SOCKS5"],
    [255, "proxy: no reply of SOCKS5"],
    ["close", "proxy: closed"],
    ["close_connect", "proxy: closed"],
    ["garbage", "proxy: broken dialogue"],
    ["odd_address", "proxy: broken dialogue"],
  ];
  for (const [behaviour, detail] of behaviours) {
    it(`${behaviour}`, async () => {
      const { server, fixture } = await start({ behaviour });
      const found = await endOf(fixture);
      assert.deepEqual([found.end, found.detail], ["connect proxy", detail]);
      assert.equal(server.connections.length, 0);
    });
  }

  it("a login that is wrong, or missing", async () => {
    const login = { username: "u", password: SECRET };
    for (const given of [{ ...login, password: "hunter2" }, null]) {
      const { fixture } = await start({ login }, given);
      const { end, detail } = await endOf(fixture);
      assert.deepEqual([end, detail], ["connect proxy", "proxy: authentication failed"]);
    }
  });

  it("silence before it is to connect", async () => {
    const login = { username: "u", password: SECRET };
    for (const behaviour of ["silent", "silent_login"] as const) {
      const { socks, fixture } = await start({ behaviour, login }, login);
      const there = () => (behaviour === "silent" ? socks.taken : socks.logins.length) > 0;
      const { end, detail } = await endOf(fixture, () => giveUp(fixture, there));
      assert.deepEqual([end, detail], ["connect proxy", "proxy: silent"]);
    }
  });

  it("a proxy that is not there", async () => {
    const { socks, fixture } = await start();
    await socks.close();
    closing.pop();
    const { end, detail } = await endOf(fixture);
    assert.deepEqual([end, detail], ["connect proxy", "proxy: ECONNREFUSED"]);
  });

  it("whatever octets it says, and however they are cut", async () => {
    const dialogues = [
      [5],
      [5, 0, 5],
      [5, 0, 5, 0, 0, 1],
      [5, 2],
      [5, 0xfe],
      [4, 0],
      [5, 0, 4, 0, 0, 1, 0, 0, 0, 0, 0, 0],
    ];
    for (const octets of dialogues) {
      const server = createServer((socket) => {
        socket.on("error", () => {}).resume();
        // Each octet in a packet of its own, then the end.
        const say = ([next, ...rest]: number[]) =>
          next === undefined
            ? socket.end()
            : socket.write(Buffer.from([next]), () => setImmediate(say, rest));
        say(octets);
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as { port: number };
      const fixture = createPoolFixture(25, { proxies: [proxyAt(port)] });
      assert.equal((await endOf(fixture)).end, "connect proxy", octets.join(" "));
      await new Promise((resolve) => server.close(resolve));
    }
  });
});

describe("a trial of our network", () => {
  function trialBy(port: number, options: PoolOptions) {
    const config = {
      port,
      heloName: "probe.test",
      mailFrom: "",
      sourceAddresses: [],
      proxies: options.proxies ?? [],
      egressId: "test",
      probePrivateAddresses: options.probePrivateAddresses ?? true,
    };
    const paths = createEgressRoutes(config);
    const [path] = paths.all;
    return (address: string, name = path?.name ?? "") =>
      acceptsConnection(dialTargetKey(name, address), config, paths, LIMITS.network.trialDialMs);
  }

  it("uses the route of the probe it repeats", async () => {
    const { server, socks, fixture } = await start();
    await fixture.end();
    const trial = trialBy(server.port, { proxies: [proxyAt(socks.port)] });
    assert.equal(await trial("127.0.0.1"), true);
    assert.deepEqual(socks.asked, [`127.0.0.1:${server.port}`]);
    socks.behaviour = 5;
    assert.equal(await trial("127.0.0.1"), false);
    assert.equal(await trial("127.0.0.1", "no such way"), false);
    assert.equal(await trialBy(server.port, {})("127.0.0.1"), true);
    assert.equal(await trialBy(server.port, { probePrivateAddresses: false })("127.0.0.1"), false);
  });
});
