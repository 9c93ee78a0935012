import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createMailWorld, type MailWorld } from "../../support/mail-world/world.ts";
import { createPoolFixture, type RcptOptions, summary } from "./fixture.ts";

describe("STARTTLS", () => {
  let world: MailWorld;
  before(async () => {
    world = await createMailWorld();
  });
  after(() => world.close());

  async function ask(name: string, mailbox: string, options: RcptOptions) {
    const fixture = createPoolFixture(world.smtpPort);
    const outcome = await fixture.rcpt(mailbox, {
      host: name,
      address: world.host(name).address,
      ...options,
    });
    await fixture.end();
    return { end: summary(outcome), tls: outcome.tls, events: fixture.events };
  }

  it("is used where it is offered, and not when the policy is never", async () => {
    const used = await ask("mx.tls.test", "exists@tls.test", { tls: "opportunistic" });
    assert.deepEqual([used.end, used.tls], ["rcpt 250", true]);
    const unused = await ask("mx.tls.test", "exists@tls.test", { tls: "never" });
    assert.deepEqual([unused.end, unused.tls], ["rcpt 250", false]);
  });

  it("required but not offered fails before MAIL", async () => {
    assert.equal((await ask("mx.plain.test", "exists@plain.test", { tls: "required" })).end, "starttls tls");
  });

  it("refused: in clear when opportunistic, the reply when required", async () => {
    const clear = await ask("mx.tls-refused.test", "exists@tls-refused.test", { tls: "opportunistic" });
    assert.deepEqual([clear.end, clear.tls], ["rcpt 250", false]);
    const end = await ask("mx.tls-refused.test", "exists@tls-refused.test", { tls: "required" });
    assert.equal(end.end, "starttls 454");
  });

  it("dropped: one new connection in clear when opportunistic, a failure when required", async () => {
    world.resetCounters();
    const clear = await ask("mx.tls-drop.test", "exists@tls-drop.test", { tls: "opportunistic" });
    assert.deepEqual([clear.end, clear.tls, clear.events], ["rcpt 250", false, ["opened", "closed"]]);
    const end = await ask("mx.tls-drop.test", "exists@tls-drop.test", { tls: "required" });
    assert.equal(end.end, "starttls closed");
  });

  it("broken where TLS is demanded: the server's own refusal in clear", async () => {
    const fixture = createPoolFixture(world.smtpPort);
    const name = "mx.tls-broken-required.test";
    const pending = fixture.rcpt("a@x.test", { host: name, address: world.host(name).address });
    let end = "";
    void pending.then((outcome) => {
      end = summary(outcome);
    });
    while (end === "") await fixture.clock.advanceAsync(LIMITS.smtp.tlsTimeoutMs / 4);
    assert.equal(end, "mail 530");
    await fixture.end();
  });

  it("is remembered as broken: the next session of the host does not try again", async () => {
    const fixture = createPoolFixture(world.smtpPort);
    const options = { host: "mx.tls-drop.test", address: world.host("mx.tls-drop.test").address };
    const recycled = { ...options, transactionsPerSession: 1 };
    world.resetCounters();
    for (let i = 0; i < 3; i++) {
      assert.equal(summary(await fixture.rcpt("exists@tls-drop.test", recycled)), "rcpt 250");
    }
    assert.equal(world.host("mx.tls-drop.test").account.connections, 4);
    await fixture.end();
  });

  it("does not let plain bytes behind the 220 pass for replies", async () => {
    const outcome = await ask("mx.tls-injection.test", "missing@tls-injection.test", { tls: "required" });
    assert.deepEqual([outcome.end, outcome.tls], ["rcpt 550", true]);
  });
});
