import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createVerifier, type Verifier } from "../../../src/app/verifier.ts";
import { createMailWorld, type MailWorld } from "../../support/mail-world/world.ts";

/** The engine as a library: no database, no Redis, no server. */
let world: MailWorld;
let verifier: Verifier;
let settings: Record<string, string>;

before(async () => {
  world = await createMailWorld();
  settings = {
    DNS_SERVERS: world.dnsServer,
    SMTP_PORT: String(world.smtpPort),
    SMTP_HELO_NAME: "probe.rcpt.test",
    PROBE_PRIVATE_ADDRESSES: "true",
    VERIFY_DEADLINE_MS: "30000",
    CHECK_THREADS: "1",
  };
  verifier = await createVerifier({ settings });
});
after(async () => {
  await verifier.close();
  await world.close();
});

describe("a verifier without a server", () => {
  it("answers as the service does", async () => {
    const exists = await verifier.verify("exists@plain.test");
    assert.deepEqual([exists.verdict, exists.reason, exists.livemode], ["valid", "accepted_mailbox", true]);
    const missing = await verifier.verify("missing@plain.test", { evidence: true });
    assert.deepEqual([missing.verdict, missing.reason], ["invalid", "mailbox_not_found"]);
    assert.deepEqual([missing.evidence?.stage, missing.evidence?.code], ["rcpt", 550]);
    assert.equal((await verifier.verify("exists@plain.test")).cached, true);
    assert.equal((await verifier.verify("no address")).reason, "invalid_format");
  });

  it("reads the address out of a text, and says so", async () => {
    const { email, input } = await verifier.verify("Jane <exists@plain.test>");
    assert.deepEqual([email, input], ["exists@plain.test", "Jane <exists@plain.test>"]);
  });

  it("asks no mail server where that is not wanted", async () => {
    const { account } = world.host("mx.plain.test");
    const before = account.commandCount;
    const { reason } = await verifier.verify("unasked@plain.test", { probe: false });
    assert.equal(reason, "smtp_not_requested");
    assert.equal(account.commandCount, before);
  });

  it("answers many in their order, of any iterable", async () => {
    async function* texts() {
      for (let i = 0; i < 600; i++) yield i % 3 === 0 ? `missing-${i}@plain.test` : `exists-${i}@plain.test`;
    }
    let i = 0;
    for await (const { email, verdict } of verifier.verifyAll(texts())) {
      assert.equal(email, i % 3 === 0 ? `missing-${i}@plain.test` : `exists-${i}@plain.test`);
      assert.equal(verdict, i % 3 === 0 ? "invalid" : "valid");
      i += 1;
    }
    assert.equal(i, 600);
  });

  it("ends checks without a waiter", async () => {
    const control = new AbortController();
    const waiting = verifier.verify("exists@silent.test", { signal: control.signal });
    control.abort(new Error("enough"));
    await assert.rejects(waiting);
    let read = 0;
    for await (const _ of verifier.verifyAll(
      Array.from({ length: 50 }, (_, n) => `exists-${n}@plain.test`),
    )) {
      read += 1;
      if (read === 2) break;
    }
    assert.equal(read, 2);
  });

  it("names a setting that is wrong", async () => {
    await assert.rejects(
      createVerifier({ settings: { ...settings, SMTP_PORT: "x" } }),
      /^ConfigError: SMTP_PORT/,
    );
  });

  it("is closed twice as once", async () => {
    const other = await createVerifier({ settings, preflight: false });
    await other.verify("exists@plain.test");
    await Promise.all([other.close(), other.close()]);
    await assert.rejects(other.verify("exists@plain.test"), /The verifier is closed/);
  });
});
