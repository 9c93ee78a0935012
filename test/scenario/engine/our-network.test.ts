import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { DEAD_ADDRESSES } from "../../support/mail-world/domains.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createSocksServer, type SocksServer } from "../../support/socks-server.ts";
import { until } from "../../support/until.ts";

/**
 * Port 25 closed: every site fails and none succeeds. Neither their servers nor the recipients are to blame, and
 * callers are answered at once. The process itself goes on trying, and notices when the port is open again.
 */
const BIG = [
  ["one.test", "aspmx.l.google.com"],
  ["two.test", "two-test.mail.protection.outlook.com"],
] as const;

let deployment: TestDeployment;
let api: TestApi;
let key: string;

before(async () => {
  deployment = await createDeployment();
  api = await deployment.startApi();
  key = (await deployment.team("enterprise")).liveKey;
  // The exchangers of providers that are always up, at an address where nothing listens.
  const { dns } = deployment.world;
  for (const [domain, host] of BIG) {
    dns.set(domain, { mx: [[10, host]] });
    dns.set(host, { a: [DEAD_ADDRESSES[0]] });
  }
});
after(() => deployment.stop());

const reasonOf = async (address: string) => (await api.verify(key, address)).body.reason;
const isDown = async () => /^rcpt_our_network_down 1$/m.test(await api.metrics());

describe("our own network", () => {
  it("is blamed once servers that are always up are silent, and from then on at once", async () => {
    assert.equal(await isDown(), false);
    for (const [domain] of BIG) assert.equal(await reasonOf(`a@${domain}`), "no_connect");
    // The main thread spreads the state to all threads; from then on no request dials.
    let asked = 0;
    await until("it is blamed", async () => (await reasonOf(`b${asked++}@two.test`)) === "our_network");
    assert.equal(await isDown(), true);
    deployment.world.resetCounters();
    const { body } = await api.verify(key, "exists@lockstep.test", "&evidence=true");
    assert.deepEqual(
      [body.verdict, body.reason, body.checks.smtp.fault, body.cache_ttl_seconds],
      ["unknown", "our_network", "our_network", 30],
    );
    assert.equal(deployment.world.host("mx.lockstep.test").account.connections, 0);
  });

  it("is found well again by the process itself, and everybody is asked as before", async () => {
    // The previous test offered a server that is up: it is dialled, without any command.
    await deployment.world.until(() => deployment.world.host("mx.lockstep.test").account.connections > 0);
    let round = 0;
    await until("it is noticed that the way is open", async () => {
      return (await reasonOf(`exists${round++}@plain.test`)) !== "our_network";
    });
    assert.equal(await reasonOf("exists-after@plain.test"), "accepted_mailbox");
    assert.equal(await isDown(), false);
    assert.equal(await reasonOf("missing-after@plain.test"), "mailbox_not_found");
  });

  it("is not blamed for dead servers among live ones", async () => {
    for (let i = 0; i < 6; i++) {
      for (const [domain] of BIG) await reasonOf(`c${i}@${domain}`);
      assert.equal(await reasonOf(`exists-d${i}@plain.test`), "accepted_mailbox");
    }
    assert.equal(await isDown(), false);
  });
});

describe("a network that was closed before we came", () => {
  let closed: TestDeployment;
  let service: TestApi;
  let team: string;
  before(async () => {
    closed = await createDeployment();
    const { dns } = closed.world;
    for (const [i, provider] of ["gmail.com", "outlook.com"].entries()) {
      const host = i === 0 ? "gmail-smtp-in.l.google.com" : "outlook-com.olc.protection.outlook.com";
      dns.set(provider, { mx: [[5, host]] });
      dns.set(host, { a: [DEAD_ADDRESSES[i] ?? ""] });
    }
    team = (await closed.team("enterprise")).liveKey;
    service = await closed.startApi();
  });
  after(() => closed.stop());

  it("is known before the first request, which is answered without a dial", async () => {
    const isDown = async () => /^rcpt_our_network_down 1$/m.test(await service.metrics());
    await until("it is known", isDown);
    closed.world.resetCounters();
    const { body } = await service.verify(team, "exists@lockstep.test");
    assert.deepEqual([body.verdict, body.reason], ["unknown", "our_network"]);
    const listed = await fetch(`${service.metricsUrl}/preflight`).then((response) => response.text());
    assert.match(listed, /"network":"down"/);
  });

  it("is found open by an address that a caller asked for", async () => {
    let round = 0;
    await until("it is noticed that the way is open", async () => {
      const { body } = await service.verify(team, `exists${round++}@lockstep.test`);
      return body.reason === "accepted_mailbox";
    });
    assert.match(await service.metrics(), /^rcpt_our_network_down 0$/m);
  });
});

describe("one of two egress routes without a connection", () => {
  /** The proxy takes each order to connect, and no answer comes: every dial there is silent. */
  const SOURCE = "127.0.0.79";
  let world: TestDeployment;
  let socks: SocksServer;
  let service: TestApi;
  let team: string;
  let proxy: string;
  before(async () => {
    [world, socks] = await Promise.all([createDeployment(), createSocksServer()]);
    proxy = `proxy:127.0.0.1:${socks.port}`;
    const { dns } = world.world;
    const [first, second] = ["mx.multiline.test", "mx.no-enhanced.test"].map(
      (name) => world.world.host(name).address,
    );
    dns.set("gmail.com", { mx: [[5, "gmail-smtp-in.l.google.com"]] });
    dns.set("gmail-smtp-in.l.google.com", { a: [first ?? ""] });
    dns.set("outlook.com", { mx: [[5, "outlook-com.olc.protection.outlook.com"]] });
    dns.set("outlook-com.olc.protection.outlook.com", { a: [second ?? ""] });
    team = (await world.team("enterprise")).liveKey;
    service = await world.startApi({
      SMTP_SOURCE_ADDRESSES: SOURCE,
      SMTP_PROXIES: `socks5://127.0.0.1:${socks.port}`,
      SHAPING: JSON.stringify({ default: { ways: [SOURCE] }, sites: { "plain.test": { ways: [proxy] } } }),
    });
  });
  after(async () => {
    await socks.close();
    await world.stop();
  });
  const reasonBy = async (address: string) => (await service.verify(team, address)).body.reason;
  const isWayDown = async (way: string) =>
    (await service.metrics()).includes(`rcpt_way_down{way="${way}"} 1`);

  it("is used while it is open", async () => {
    assert.equal(await reasonBy("exists@plain.test"), "accepted_mailbox");
    assert.ok(socks.asked.length > 0);
  });

  it("answers callers whose dial waits there, long before a dial would end; others go on", async () => {
    socks.behaviour = "silent_connect";
    socks.cut();
    // The first may still meet a session that has just been cut: from the first silent dial on it is known.
    let asked = 0;
    await until(
      "it is known",
      async () => (await reasonBy(`missing${asked++}@plain.test`)) === "our_network",
    );
    assert.equal(await isWayDown(proxy), true);
    assert.equal(await isWayDown(SOURCE), false);
    assert.match(await service.metrics(), /^rcpt_our_network_down 0$/m);
    assert.equal(await reasonBy("exists@lockstep.test"), "accepted_mailbox");
    assert.equal(await reasonBy("missing@lockstep.test"), "mailbox_not_found");
  });

  it("comes back by itself", async () => {
    socks.behaviour = "serve";
    await until("it is open again", async () => !(await isWayDown(proxy)));
    let asked = 0;
    await until(
      "it is used again",
      async () => (await reasonBy(`missing-b${asked++}@plain.test`)) === "mailbox_not_found",
    );
  });
});
