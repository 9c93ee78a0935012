import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, mixed, NOT_FOUND, VALID, wrongly } from "../../support/engine-scenario.ts";

/** Servers that take no mail in clear, and sites where we do not want it. */
const settings = {
  SHAPING: JSON.stringify({
    sites: {
      "tls.test": { tls: "required" },
      "plain.test": { tls: "required" },
      "lockstep.test": { tls: "never" },
    },
  }),
};
const scenario = engineScenario({ bulk: true, settings });

describe("TLS that the server requires", () => {
  it("is used: each command behind EHLO and STARTTLS goes in secret", async () => {
    const { told } = await scenario.job(mixed(20, "t", "tls-required.test"));
    assert.deepEqual(wrongly(told), []);
    const { commands, tlsHandshakes, connections } = scenario.host("mx.tls-required.test").account;
    assert.equal(tlsHandshakes, connections);
    for (const { tls, line } of commands) assert.equal(tls || /^(EHLO \S+|STARTTLS)$/.test(line), true, line);
    assert.ok(
      commands.some(({ tls, line }) => tls && line.startsWith("EHLO")),
      "EHLO again, RFC 3207 §4.2",
    );
  });

  it("and that is broken leaves the mailbox unknown, by the server's refusal in clear", async () => {
    const end = await scenario.ask("missing@tls-broken-required.test");
    assert.equal(brief(end), "unknown refused_by_policy their_server");
    assert.deepEqual([end.stage, end.code], ["mail", 530]);
  });
});

describe("TLS that our shaping requires", () => {
  it("is used where it works", async () => {
    assert.deepEqual(await scenario.askAll(["exists@tls.test", "missing@tls.test"]), [VALID, NOT_FOUND]);
    const { commands } = scenario.host("mx.tls.test").account;
    assert.ok(commands.filter(({ line }) => /^(MAIL|RCPT)/.test(line)).every(({ tls }) => tls));
  });

  it("and that is not offered: no recipient is named in clear, none is invalid", async () => {
    const end = await scenario.ask("missing@plain.test");
    assert.equal(brief(end), "unknown smtp_protocol_error their_server");
    assert.equal(end.stage, "starttls");
    assert.equal(scenario.host("mx.plain.test").account.transactions, 0);
    assert.equal(brief(await scenario.ask("exists@lockstep.test")), VALID);
  });
});
