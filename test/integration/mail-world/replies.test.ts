import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { createMailWorld, type MailWorld } from "../../support/mail-world/world.ts";
import { dial, type RawClient } from "./raw-client.ts";

let world: MailWorld;
const open: RawClient[] = [];
before(async () => {
  world = await createMailWorld({ dripIntervalMs: null });
});
afterEach(() => {
  for (const client of open.splice(0)) client.close();
  world.relent(false);
  world.resetCounters();
});
after(() => world.close());

function visit(host: string): RawClient {
  const client = dial(world, host);
  open.push(client);
  return client;
}

/** Greeting, EHLO, MAIL, then the replies to RCPT of each address in a transaction of its own. */
async function rcpt(host: string, ...addresses: string[]): Promise<string[]> {
  const client = visit(host);
  assert.match(await client.reply(), /^220/);
  assert.match((await client.ask("EHLO probe.test")).join(), /^250/);
  const replies: string[] = [];
  for (const address of addresses) {
    assert.match((await client.ask("MAIL FROM:<>")).join(), /^250/);
    replies.push(...(await client.ask(`RCPT TO:<${address}>`)));
    if (["closed", "reset"].includes(replies.at(-1) ?? "") || replies.at(-1)?.startsWith("421")) break;
    await client.ask("RSET");
  }
  return replies;
}

/** Every address whose RCPT has one reply, with that reply; the MX host is `mx.` and the domain. */
const RCPT_REPLIES: [address: string, reply: RegExp][] = [
  ["exists@plain.test", /^250 2\.1\.5/],
  ["exists17@plain.test", /^250 2\.1\.5/],
  ["Exists-a@plain.test", /^250 2\.1\.5/],
  ["existsx@plain.test", /^550 5\.1\.1 .*User unknown/],
  ['"exists"@plain.test', /^250 2\.1\.5/],
  ["postmaster@plain.test", /^250/],
  ["info@plain.test", /^250/],
  ["missing@plain.test", /^550 5\.1\.1/],
  ["toString@plain.test", /^550 5\.1\.1/],
  ["disabled@plain.test", /^550 5\.2\.1/],
  ["full@plain.test", /^452 4\.2\.2/],
  ["full-hard@plain.test", /^552 5\.2\.2/],
  ["greylisted@plain.test", /^450 4\.2\.0/],
  ["ratelimited@limited.test", /^451 4\.7\.1/],
  ["ratelimited-421@limited.test", /^421 4\.7\.0/],
  ["tempfail@plain.test", /^451 4\.3\.0/],
  ["storage@plain.test", /^452 4\.3\.1/],
  ["policy@plain.test", /^550 5\.7\.1 .*content policy/],
  ["blocked-ip@blocked.test", /^550 5\.7\.1 .*127\.0\.0\.1/],
  ["blocked-helo@blocked.test", /^550 5\.7\.1 .*probe\.test/],
  ["blocked-dnsbl@blocked.test", /^554 5\.7\.1 .*127\.0\.0\.1.*zen\.spamhaus\.org/],
  ["drop@rude.test", /^closed$/],
  ["reset@rude.test", /^reset$/],
  ["garbage@rude.test", /^ÿþ/],
  ["oddcode@rude.test", /^999/],
  ["mixedcodes@rude.test", /^250-.*\n550 /],
  ["intermediate@rude.test", /^354/],
  ["bare@rude.test", /^550$/],
  ["multiline@plain.test", /^550-5\.1\.1.*\n550-5\.1\.1.*\n550 5\.1\.1/],
  ["jürgen@plain.test", /^553 5\.6\.7/],
  ["random-xyz@catchall.test", /^250/],
  ["exists@catchall-tempfail.test", /^250/],
  ["random-xyz@catchall-tempfail.test", /^451 4\.3\.0/],
  ["missing@catchall-tempfail.test", /^550/],
  ["random-xyz@catchall-drop.test", /^closed$/],
  ["exists@greylist.test", /^450 4\.2\.0/],
  ["random-xyz@greylist.test", /^450 4\.2\.0/],
  ["exists@dnsbl-rcpt.test", /^554 5\.7\.1 .*127\.0\.0\.1.*barracuda/],
  ["missing@no-enhanced.test", /^550 Unrouteable address$/],
  ["random-xyz@no-enhanced.test", /^550 Unrouteable address$/],
  ["full@no-enhanced.test", /^552 [A-Z]/],
  ["exists@no-enhanced.test", /^250/],
  ["missing@german.test", /Empf\u00c3\u00a4nger/],
  ["missing@french-latin1.test", /bo\u00eete/],
  ["exists@french-latin1.test", /^250/],
  ["exists@multiline.test", /^250-.*\n250 /],
  ["missing", /^501/],
];

describe("replies to RCPT", () => {
  for (const [address, expected] of RCPT_REPLIES) {
    it(address, async () => {
      const domain = address.includes("@") ? address.slice(address.indexOf("@") + 1) : "plain.test";
      const [reply = ""] = await rcpt(`mx.${domain}`, address);
      assert.match(reply, expected);
    });
  }

  it("greylisting ends when the world relents, or at the second attempt", async () => {
    assert.match((await rcpt("mx.plain.test", "greylisted-once@plain.test")).join(), /^450/);
    assert.match((await rcpt("mx.plain.test", "greylisted-once@plain.test")).join(), /^250/);
    assert.match((await rcpt("mx.greylist.test", "exists@greylist.test")).join(), /^450/);
    world.relent();
    assert.match((await rcpt("mx.greylist.test", "exists@greylist.test")).join(), /^250/);
    assert.match((await rcpt("mx.greylist.test", "missing@greylist.test")).join(), /^550/);
    assert.match((await rcpt("mx.plain.test", "greylisted@plain.test")).join(), /^250/);
  });

  it("each host of the provider knows its own customer only", async () => {
    const replies = await rcpt("mx-a.provider.test", "exists@alpha.test", "exists@beta.test");
    assert.match(replies.join("|"), /^250.*\|550 5\.1\.1/);
    const others = await rcpt("mx-b.provider.test", "exists@alpha.test", "exists@beta.test");
    assert.match(others.join("|"), /^550 5\.1\.1.*\|250/);
  });

  it("SMTPUTF8 is honoured where offered and refused where not", async () => {
    const client = visit("mx.utf8.test");
    await client.reply();
    const replies = await client.ask("EHLO a", "MAIL FROM:<> SMTPUTF8", "RCPT TO:<jürgen@utf8.test>");
    assert.match(replies.join("|"), /SMTPUTF8.*\|250.*\|250/s);
    const plain = visit("mx.plain.test");
    await plain.reply();
    assert.match((await plain.ask("EHLO a", "MAIL FROM:<> SMTPUTF8")).join("|"), /\|555 5\.5\.4/);
  });
});

describe("limits within a session", () => {
  it("421 at the fourth transaction", async () => {
    const client = visit("mx.busy.test");
    await client.reply();
    await client.ask("EHLO a");
    for (let i = 0; i < 3; i++) await client.ask("MAIL FROM:<>", "RCPT TO:<exists@busy.test>", "RSET");
    assert.match((await client.ask("MAIL FROM:<>")).join(), /^421/);
    assert.equal(await client.reply(), "closed");
  });

  it("421 after 20 refused recipients", async () => {
    const addresses = Array.from({ length: 22 }, (_, i) => `missing${i}@error-limit.test`);
    const replies = await rcpt("mx.error-limit.test", ...addresses);
    assert.equal(replies.length, 21);
    assert.match(replies[19] ?? "", /^550/);
    assert.match(replies[20] ?? "", /^421 4\.7\.0/);
    assert.equal(world.host("mx.error-limit.test").account.maxRejectionsPerSession, 21);
  });

  it("452 4.5.3 to a second recipient of one transaction, not to one in the next", async () => {
    const client = visit("mx.one-recipient.test");
    await client.reply();
    const to = "RCPT TO:<exists@one-recipient.test>";
    const replies = await client.ask("EHLO a", "MAIL FROM:<>", to, to, "RSET", "MAIL FROM:<>", to);
    assert.deepEqual(
      replies.slice(1).map((reply) => reply.slice(0, 9)),
      ["250 2.1.0", "250 2.1.5", "452 4.5.3", "250 2.0.0", "250 2.1.0", "250 2.1.5"],
    );
  });

  it("421 to the third connection at once, and not once one has gone", async () => {
    const host = world.host("mx.connection-limit.test");
    const clients = [visit(host.name), visit(host.name)];
    for (const client of clients) assert.match(await client.reply(), /^220/);
    const third = visit(host.name);
    assert.match(await third.reply(), /^421 4\.7\.0/);
    assert.equal(await third.reply(), "closed");
    clients[0]?.close();
    await world.until(() => host.account.open === 1);
    assert.match(await visit(host.name).reply(), /^220/);
    assert.equal(host.account.maxOpen, 3);
  });

  it("commands out of order are refused", async () => {
    const client = visit("mx.plain.test");
    await client.reply();
    const replies = await client.ask(
      "MAIL FROM:<>",
      "RCPT TO:<a@b.test>",
      "DATA",
      "EHLO a",
      "MAIL FROM:<>",
      "MAIL FROM:<>",
    );
    assert.deepEqual(
      replies.map((reply) => reply.slice(0, 3)),
      ["503", "503", "502", "250", "250", "503"],
    );
  });
});

describe("the opening of a session", () => {
  const GREETINGS: [domain: string, greeting: RegExp, next: RegExp][] = [
    ["dnsbl-connect.test", /^554 5\.7\.1 .*127\.0\.0\.1.*zen\.spamhaus/, /^closed$/],
    ["drop-connect.test", /^closed$/, /^closed$/],
    ["drop-banner.test", /^220/, /^closed$/],
    ["busy-connect.test", /^421 4\.3\.2/, /^closed$/],
    ["double-banner.test", /^220/, /^220/],
    ["garbage-banner.test", /SSH/, /^ÿ/],
  ];
  for (const [domain, greeting, next] of GREETINGS) {
    it(`greeting of ${domain}`, async () => {
      const client = visit(`mx.${domain}`);
      assert.match(await client.reply(), greeting);
      assert.match(await client.reply(), next);
    });
  }

  const MAIL_REPLIES: [domain: string, ehlo: RegExp, mail: RegExp][] = [
    ["plain.test", /^250-mx\.plain\.test\n250-PIPELINING\n/, /^250 2\.1\.0/],
    ["dnsbl-mail.test", /^250/, /^550 5\.7\.1 .*127\.0\.0\.1.*spamcop/],
    ["rate-mail.test", /^250/, /^451 4\.7\.1/],
    ["helo-blocked.test", /^550 5\.7\.1 <probe\.test>/, /^503/],
    ["reset-ehlo.test", /^reset$/, /^reset$/],
    ["helo-only.test", /^502 5\.5\.1/, /^503/],
    ["tls-required.test", /\n250 STARTTLS/, /^530 5\.7\.0/],
    ["tls-broken-required.test", /\n250 STARTTLS/, /^530 5\.7\.0/],
    ["multiline.test", /^250/, /^250-.*\n250 /],
  ];
  for (const [domain, ehlo, mail] of MAIL_REPLIES) {
    it(`EHLO and MAIL at ${domain}`, async () => {
      const client = visit(`mx.${domain}`);
      await client.reply();
      assert.match((await client.ask("EHLO probe.test")).join(), ehlo);
      assert.match((await client.ask("MAIL FROM:<>")).join(), mail);
    });
  }

  it("HELO does where EHLO is refused", async () => {
    const client = visit("mx.helo-only.test");
    await client.reply();
    const replies = await client.ask(
      "EHLO a",
      "HELO a",
      "MAIL FROM:<>",
      "RCPT TO:<exists@helo-only.test>",
      "QUIT",
    );
    assert.deepEqual(
      replies.map((reply) => reply.slice(0, 3)),
      ["502", "250", "250", "250", "221"],
    );
  });

  it("a host without PIPELINING counts commands that come out of turn", async () => {
    const client = visit("mx.lockstep.test");
    await client.reply();
    assert.doesNotMatch((await client.ask("EHLO a")).join(), /PIPELINING/);
    await client.ask("MAIL FROM:<>");
    assert.equal(world.host("mx.lockstep.test").account.outOfTurn, 0);
    await client.ask("RSET", "MAIL FROM:<>");
    assert.equal(world.host("mx.lockstep.test").account.outOfTurn, 1);
  });

  it("the out-of-step host says one reply too many", async () => {
    const client = visit("mx.out-of-step.test");
    await client.reply();
    await client.ask("EHLO a");
    assert.match((await client.ask("MAIL FROM:<>")).join(), /^250/);
    assert.match((await client.ask("RCPT TO:<missing@out-of-step.test>")).join(), /^250 2\.1\.5/);
    assert.match(await client.reply(), /^550/);
  });
});
