import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createMailWorld, type MailWorld } from "../../support/mail-world/world.ts";
import { createPoolFixture, summary } from "./fixture.ts";
import { createScriptedServer } from "./scripted-server.ts";

/** Host of the world, mailbox, where the dialogue ends and how. */
const ENDS: [host: string, mailbox: string, end: string][] = [
  ["mx.plain.test", "exists@plain.test", "rcpt 250"],
  ["mx.plain.test", "missing@plain.test", "rcpt 550"],
  ["mx.plain.test", "full@plain.test", "rcpt 452"],
  ["mx.plain.test", "multiline@plain.test", "rcpt 550"],
  ["mx.plain.test", "jürgen@plain.test", "mail smtputf8_missing"],
  ["mx.utf8.test", "jürgen@utf8.test", "rcpt 250"],
  ["mx.limited.test", "ratelimited-421@limited.test", "rcpt 421"],
  ["mx.dnsbl-connect.test", "a@x.test", "greeting 554"],
  ["mx.busy-connect.test", "a@x.test", "greeting 421"],
  ["mx.drop-connect.test", "a@x.test", "greeting closed"],
  ["mx.drop-banner.test", "a@x.test", "ehlo closed"],
  ["mx.flood-banner.test", "a@x.test", "greeting reply_too_long"],
  ["mx.garbage-banner.test", "a@x.test", "greeting protocol"],
  ["mx.double-banner.test", "a@x.test", "ehlo protocol"],
  ["mx.endless-ehlo.test", "a@x.test", "ehlo reply_too_long"],
  ["mx.helo-blocked.test", "a@x.test", "ehlo 550"],
  ["mx.helo-only.test", "exists@helo-only.test", "rcpt 250"],
  ["mx.dnsbl-mail.test", "a@x.test", "mail 550"],
  ["mx.rate-mail.test", "a@x.test", "mail 451"],
  ["mx.rude.test", "drop@rude.test", "rcpt closed"],
  ["mx.rude.test", "reset@rude.test", "rcpt closed"],
  ["mx.rude.test", "flood@rude.test", "rcpt reply_too_long"],
  ["mx.rude.test", "endless@rude.test", "rcpt reply_too_long"],
  ["mx.rude.test", "garbage@rude.test", "rcpt protocol"],
  ["mx.rude.test", "oddcode@rude.test", "rcpt protocol"],
  ["mx.rude.test", "mixedcodes@rude.test", "rcpt protocol"],
  ["mx.rude.test", "intermediate@rude.test", "rcpt protocol"],
  ["mx.out-of-step.test", "missing@out-of-step.test", "rcpt protocol"],
  ["mx.lockstep.test", "exists@lockstep.test", "rcpt 250"],
  ["mx.lockstep.test", "missing@lockstep.test", "rcpt 550"],
  ["mx.multiline.test", "exists@multiline.test", "rcpt 250"],
];

describe("where a dialogue ends", () => {
  let world: MailWorld;
  before(async () => {
    world = await createMailWorld({ dripIntervalMs: null });
  });
  after(() => world.close());

  for (const [name, mailbox, end] of ENDS) {
    it(`${mailbox} at ${name}: ${end}`, async () => {
      const host = world.host(name);
      const fixture = createPoolFixture(world.smtpPort);
      const outcome = await fixture.rcpt(mailbox, { host: name, address: host.address });
      assert.equal(summary(outcome), end);
      assert.deepEqual([outcome.host, outcome.address], [name, host.address]);
      await fixture.end();
    });
  }

  it("at connect, when no server listens", async () => {
    const server = await createScriptedServer();
    await server.close();
    const fixture = createPoolFixture(server.port);
    assert.equal(summary(await fixture.rcpt("a@x.test")), "connect refused");
    await fixture.end();
  });
});

describe("silence at a stage is a timeout there", () => {
  const { greetingTimeoutMs, commandTimeoutMs } = LIMITS.smtp;
  const silences: [stage: string, command: string, afterMs: number][] = [
    ["greeting", "", greetingTimeoutMs],
    ["ehlo", "EHLO", commandTimeoutMs],
    ["mail", "MAIL", commandTimeoutMs],
    ["rcpt", "RCPT", commandTimeoutMs],
  ];
  for (const [stage, command, afterMs] of silences) {
    it(`${stage}, after ${afterMs} ms`, async () => {
      let silent = false;
      const server = await createScriptedServer((line) => {
        if (silent || (command === "" ? line === "" : line.startsWith(command))) {
          silent = true;
          return null;
        }
        return undefined;
      });
      const fixture = createPoolFixture(server.port);
      let outcome: string | null = null;
      const done = fixture.rcpt("a@x.test").then((value) => {
        outcome = summary(value);
      });
      await server.until(() => silent);
      await fixture.clock.advanceAsync(afterMs - 1);
      assert.equal(outcome, null);
      await fixture.clock.advanceAsync(1);
      // The stage's time runs from the client's side of the dialogue, which may have come a moment later.
      while (outcome === null) await fixture.clock.advanceAsync(afterMs);
      await done;
      assert.equal(outcome, `${stage} timeout`);
      await fixture.end();
      await server.close();
    });
  }

  it("also when the greeting trickles in byte by byte", async () => {
    const world = await createMailWorld({ dripIntervalMs: null });
    const { address } = world.host("mx.slow-banner.test");
    const fixture = createPoolFixture(world.smtpPort);
    let outcome: string | null = null;
    void fixture.rcpt("a@x.test", { address }).then((value) => {
      outcome = summary(value);
    });
    for (let seconds = 0; outcome === null && seconds < 60; seconds++) {
      world.drip(1);
      await fixture.clock.advanceAsync(1_000);
    }
    assert.match(String(outcome), /^(connect|greeting) timeout$/);
    await fixture.end();
    await world.close();
  });
});
