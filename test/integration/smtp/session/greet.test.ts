import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Greeting, probeGreeting } from "../../../../src/smtp/session/greet.ts";
import { parseHeloName } from "../../../../src/smtp/wire/mailbox.ts";
import { createFakeClock, type FakeClock } from "../../../support/fake-clock.ts";
import { DEAD_ADDRESSES } from "../../../support/mail-world/domains.ts";
import { createMailWorld, type MailWorld } from "../../../support/mail-world/world.ts";

const HELO = parseHeloName("probe.test") ?? assert.fail("a host name");
const WITHIN_MS = 10_000;

let world: MailWorld;
before(async () => {
  world = await createMailWorld();
});
after(() => world.close());

function at(address: string, clock: FakeClock = createFakeClock()): Promise<Greeting> {
  const target = { host: "mx.test", address, port: world.smtpPort, localAddress: "127.0.0.66", proxy: null };
  return probeGreeting({ target, heloName: HELO, clock, withinMs: WITHIN_MS });
}
const of = (host: string, clock?: FakeClock) => at(world.host(host).address, clock);

describe("a greeting without a question", () => {
  it("reports the reply to EHLO, and ends with QUIT", async () => {
    const { reached, hello, tls, failure } = await of("mx.plain.test");
    assert.deepEqual([reached, tls, failure], [true, "not_offered", null]);
    assert.match(hello, /mx\.plain\.test/);
    const { account } = world.host("mx.plain.test");
    await world.until(() => account.commands.some(({ line }) => line === "QUIT"));
    assert.equal(account.transactions, 0);
  });

  const TLS: [host: string, tls: Greeting["tls"], stage: string | null][] = [
    ["mx.tls.test", "works", null],
    ["mx.tls-refused.test", "broken", null],
    ["mx.tls-broken.test", "broken", "starttls"],
    ["mx.tls-drop.test", "broken", "starttls"],
  ];
  for (const [host, tls, stage] of TLS) {
    it(`reports TLS at ${host}: ${tls}`, async () => {
      const greeting = await of(host);
      assert.deepEqual([greeting.reached, greeting.tls, greeting.failure?.stage ?? null], [true, tls, stage]);
    });
  }

  it("distinguishes a closed port from a server that refuses us", async () => {
    const closed = await at(DEAD_ADDRESSES[0]);
    assert.deepEqual(
      [closed.reached, closed.failure?.stage, closed.failure?.cause],
      [false, "connect", "refused"],
    );
    const blocked = await of("mx.dnsbl-connect.test");
    assert.deepEqual(
      [blocked.reached, blocked.failure?.stage, blocked.failure?.cause],
      [true, "greeting", "reply"],
    );
    assert.match(blocked.failure?.detail ?? "", /^554 5\.7\.1 .*zen\.spamhaus\.org/);
    const dropped = await of("mx.drop-connect.test");
    assert.deepEqual([dropped.reached, dropped.failure?.cause], [true, "closed"]);
    assert.equal((await of("mx.garbage-banner.test")).failure?.cause, "protocol");
  });

  it("ends when its time is up, wherever it stands", async () => {
    for (const host of ["mx.tarpit-connect.test", "mx.tarpit-ehlo.test"]) {
      const clock = createFakeClock();
      const { account } = world.host(host);
      const pending = of(host, clock);
      await world.until(() => (host.includes("ehlo") ? account.commandCount : account.connections) > 0);
      let done = false;
      void pending.then(() => {
        done = true;
      });
      await clock.advanceAsync(WITHIN_MS - 1);
      assert.equal(done, false);
      clock.advance(1);
      assert.equal((await pending).failure?.cause, "timeout");
    }
  });
});
