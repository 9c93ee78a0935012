import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { say } from "../../support/mail-world/action.ts";
import { createMailWorld, type MailWorld } from "../../support/mail-world/world.ts";
import { dial, type RawClient } from "./raw-client.ts";

let world: MailWorld;
const open: RawClient[] = [];
before(async () => {
  world = await createMailWorld({ dripIntervalMs: null });
});
afterEach(() => {
  for (const client of open.splice(0)) client.close();
  world.resetCounters();
});
after(() => world.close());

function visit(host: string): RawClient {
  const client = dial(world, host);
  open.push(client);
  return client;
}

async function greeted(host: string): Promise<RawClient> {
  const client = visit(host);
  assert.match(await client.reply(), /^220/);
  return client;
}

/** Waits for bytes sent before this call to arrive: another session comes and goes meanwhile. */
async function settle(): Promise<void> {
  const client = await greeted("mx.plain.test");
  await client.ask("QUIT");
  assert.equal(await client.reply(), "closed");
}

describe("silence", () => {
  const TARPITS: [host: string, ...said: string[]][] = [
    ["mx.tarpit-ehlo.test", "EHLO a"],
    ["mx.tarpit-mail.test", "EHLO a", "MAIL FROM:<>"],
    ["mx.rude.test", "EHLO a", "MAIL FROM:<>", "RCPT TO:<tarpit@rude.test>"],
  ];
  for (const [host, ...said] of TARPITS) {
    it(`of ${host} after ${said.at(-1)}, until the client leaves`, async () => {
      const client = await greeted(host);
      await client.ask(...said.slice(0, -1));
      client.send(said.at(-1) ?? "", "QUIT");
      const { account } = world.host(host);
      await world.until(() => account.commandCount === said.length);
      await settle();
      assert.equal(client.rest(), "");
      assert.equal(account.open, 1);
      client.close();
      await world.until(() => account.open === 0);
    });
  }

  it("of a host that never greets", async () => {
    const client = visit("mx.tarpit-connect.test");
    await world.until(() => world.host("mx.tarpit-connect.test").account.open === 1);
    await settle();
    assert.equal(client.received(), 0);
  });

  it("of a host after ten refused recipients", async () => {
    const client = await greeted("mx.error-tarpit.test");
    await client.ask("EHLO a");
    for (let i = 0; i < 10; i++) {
      await client.ask("MAIL FROM:<>", `RCPT TO:<missing${i}@error-tarpit.test>`, "RSET");
    }
    await client.ask("MAIL FROM:<>");
    client.send("RCPT TO:<exists@error-tarpit.test>");
    await world.until(() => world.host("mx.error-tarpit.test").account.commandCount === 33);
    await settle();
    assert.equal(client.rest(), "");
  });
});

describe("a slow banner", () => {
  it("comes byte by byte on request, and the session goes on after it", async () => {
    const client = visit("mx.slow-banner.test");
    await world.until(() => world.host("mx.slow-banner.test").account.open === 1);
    world.drip(1);
    await client.until(() => client.received() === 1);
    world.drip(3);
    await client.until(() => client.received() === 4);
    assert.equal(client.rest(), "220 ");
    world.drip(1_000);
    assert.match(await client.reply(), /^220 mx\.slow-banner/);
    assert.match((await client.ask("EHLO a")).join(), /^250/);
  });

  it("comes by the clock with an interval", async () => {
    const fast = await createMailWorld({ dripIntervalMs: 1 });
    const client = dial(fast, "mx.slow-banner.test");
    try {
      assert.match(await client.reply(), /^220 mx\.slow-banner/);
    } finally {
      client.close();
      await fast.close();
    }
  });
});

describe("replies without end", () => {
  const TEN_MEGABYTES = 10 * 1_048_576;

  it("10 MB without a line end at RCPT", async () => {
    const client = await greeted("mx.rude.test");
    await client.ask("EHLO a", "MAIL FROM:<>");
    client.send("RCPT TO:<flood@rude.test>");
    const before = client.received();
    await client.until(() => client.received() - before >= TEN_MEGABYTES);
    assert.doesNotMatch(client.rest(), /\n/);
  });

  it("10 MB without a line end as a greeting", async () => {
    const client = visit("mx.flood-banner.test");
    await client.until(() => client.received() >= TEN_MEGABYTES);
    assert.doesNotMatch(client.rest(), /\n/);
  });

  for (const [host, ...said] of [
    ["mx.rude.test", "EHLO a", "MAIL FROM:<>", "RCPT TO:<endless@rude.test>"],
    ["mx.endless-ehlo.test", "EHLO a"],
  ] as const) {
    it(`lines for ever from ${host}, stopped by leaving`, async () => {
      const client = await greeted(host);
      client.send(...said);
      await client.until(() => client.received() > 1_048_576);
      assert.match(client.rest(), /\n\d{3}-[^\n]*\r\n/);
      client.close();
      await world.until(() => world.host(host).account.open === 0);
    });
  }
});

describe("TLS", () => {
  async function upgrade(host: string): Promise<RawClient> {
    const client = await greeted(host);
    assert.match((await client.ask("EHLO a")).join(), /STARTTLS/);
    assert.match((await client.ask("STARTTLS")).join(), /^220/);
    await client.secure();
    return client;
  }

  it("works, hides STARTTLS, and starts the dialogue afresh", async () => {
    for (const domain of ["tls.test", "tls-required.test"]) {
      const client = await upgrade(`mx.${domain}`);
      assert.match((await client.ask("MAIL FROM:<>")).join(), /^503/);
      assert.doesNotMatch((await client.ask("EHLO a")).join(), /STARTTLS/);
      const replies = await client.ask("MAIL FROM:<>", `RCPT TO:<exists@${domain}>`);
      assert.match(replies.join("|"), /^250.*\|250/);
      const { account } = world.host(`mx.${domain}`);
      assert.equal(account.tlsHandshakes, 1);
      assert.deepEqual(
        account.commands.map(({ tls }) => tls),
        [false, false, true, true, true, true],
      );
    }
  });

  it("replies injected in clear come with the 220, and the handshake still works", async () => {
    const client = await greeted("mx.tls-injection.test");
    await client.ask("EHLO a");
    assert.match((await client.ask("STARTTLS")).join(), /^220/);
    assert.match(await client.reply(), /^250 2\.1\.0/);
    assert.match(await client.reply(), /^250 2\.1\.5/);
    await client.secure();
    assert.match((await client.ask("EHLO a")).join(), /^250/);
  });

  it("broken: bytes that are no record fail the handshake", async () => {
    await assert.rejects(upgrade("mx.tls-broken.test"), /wrong version|packet length|SSL|EPROTO/i);
  });

  it("refused, dropped and silent", async () => {
    const refused = await greeted("mx.tls-refused.test");
    assert.match((await refused.ask("EHLO a", "STARTTLS", "MAIL FROM:<>")).join("|"), /\|454 4\.7\.0.*\|250/);
    const dropped = await greeted("mx.tls-drop.test");
    assert.match((await dropped.ask("EHLO a", "STARTTLS")).join("|"), /\|closed$/);
    const silent = await greeted("mx.tls-silent.test");
    await silent.ask("EHLO a", "STARTTLS");
    silent.send("EHLO again");
    await settle();
    assert.equal(silent.rest(), "");
  });

  it("a client that hangs up instead of a handshake counts as a failure", async () => {
    const client = await greeted("mx.tls.test");
    await client.ask("EHLO a", "STARTTLS");
    client.close();
    await world.until(() => world.host("mx.tls.test").account.tlsFailures === 1);
    assert.equal(world.host("mx.tls.test").account.tlsHandshakes, 0);
  });
});

describe("what a test may do to a host", () => {
  const rcpt = "RCPT TO:<exists@plain.test>";

  it("set a behaviour and take it back", async () => {
    const host = world.host("mx.plain.test");
    const client = await greeted(host.name);
    await client.ask("EHLO a", "MAIL FROM:<>");
    host.setBehaviour("rcpt", (_, { local }) => (local === "exists" ? say("550 5.7.1 not today") : null));
    assert.match(
      (await client.ask(rcpt, "RCPT TO:<missing@plain.test>")).join("|"),
      /^550 5\.7\.1.*\|550 5\.1\.1/,
    );
    host.setBehaviour("rcpt", null);
    assert.match((await client.ask(rcpt)).join(), /^250/);
  });

  it("hold answers back, see that they are owed, and release them in order", async () => {
    const host = world.host("mx.plain.test");
    const client = await greeted(host.name);
    await client.ask("EHLO a");
    host.hold("rcpt");
    client.send("MAIL FROM:<>", rcpt, "RSET", "MAIL FROM:<>", "RCPT TO:<missing@plain.test>");
    assert.match(await client.reply(), /^250 2\.1\.0/);
    await world.until(() => host.account.held === 1);
    assert.equal(client.rest(), "");
    host.release();
    const replies = [await client.reply(), await client.reply(), await client.reply(), await client.reply()];
    assert.match(replies.join("|"), /^250 2\.1\.5.*\|250 2\.0\.0.*\|250 2\.1\.0.*\|550/);
    assert.equal(host.account.held, 0);
  });

  it("a client that leaves while held is no longer held", async () => {
    const host = world.host("mx.plain.test");
    host.hold("greeting");
    const client = visit(host.name);
    await world.until(() => host.account.held === 1);
    client.close();
    await world.until(() => host.account.held === 0 && host.account.open === 0);
    host.release();
  });

  it("cut every connection", async () => {
    const client = await greeted("mx.plain.test");
    world.host("mx.plain.test").cut();
    assert.match(await client.reply(), /closed|reset/);
  });

  it("read what was said, how deep it was pipelined, and what was smuggled", async () => {
    const { account } = world.host("mx.plain.test");
    const client = await greeted("mx.plain.test");
    await client.ask("EHLO a", "MAIL FROM:<>", rcpt, rcpt, "RSET", "MAIL FROM:<>", "RSET");
    assert.deepEqual(
      [account.maxBurst, account.transactions, account.accepted, account.maxRecipientsPerTransaction],
      [7, 2, 2, 2],
    );
    assert.equal(account.malformed, 0);
    assert.deepEqual(account.commands[2], { session: account.commands[0]?.session, tls: false, line: rcpt });
    await client.ask("NOOP a\u0000NOOP b", "NOOP c");
    client.write("RCPT TO:<a@b.test>\nRSET\r\n");
    await world.until(() => account.malformed === 2);
    world.resetCounters();
    assert.deepEqual([account.commandCount, account.malformed, account.open], [0, 0, 1]);
  });
});
