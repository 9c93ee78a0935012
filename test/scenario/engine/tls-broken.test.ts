import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, NOT_FOUND, VALID } from "../../support/engine-scenario.ts";

/** STARTTLS that is offered and fails: the probe goes on in clear text if the shaping allows that, otherwise it ends. */
const settings = {
  SHAPING: JSON.stringify({
    sites: Object.fromEntries(
      ["tls-refused", "tls-drop"].map((name) => [`${name}.test`, { tls: "required" }]),
    ),
  }),
};
const scenario = engineScenario({ settings });

const inClear = (name: string) =>
  scenario.host(name).account.commands.filter(({ tls, line }) => !tls && /^(MAIL|RCPT)/.test(line)).length;

describe("TLS that is broken", () => {
  it("where it is no duty, costs one connection, and the truth is learnt in clear", async () => {
    const answers = await scenario.askAll(["exists@tls-broken.test", "missing@tls-broken.test"]);
    assert.deepEqual(answers, [VALID, NOT_FOUND]);
    assert.ok(inClear("mx.tls-broken.test") > 0);
    const { connections } = scenario.host("mx.tls-broken.test").account;
    assert.equal(brief(await scenario.ask("exists-later@tls-broken.test")), VALID);
    const later = scenario.host("mx.tls-broken.test").account.connections;
    assert.ok(later - connections <= 1, "it is remembered: no second handshake is tried");
  });

  it("where it is required, refused or cut off, no recipient is named in clear", async () => {
    for (const domain of ["tls-refused.test", "tls-drop.test"]) {
      const end = await scenario.ask(`missing@${domain}`);
      assert.equal(brief(end), "unknown smtp_protocol_error their_server", domain);
      assert.equal(end.stage, "starttls", domain);
      assert.equal(inClear(`mx.${domain}`), 0);
    }
  });

  it("replies in clear behind the 220 of STARTTLS count for nothing (command injection)", async () => {
    const addresses = ["missing@tls-injection.test", "exists@tls-injection.test"];
    assert.deepEqual(await scenario.askAll(addresses), [NOT_FOUND, VALID]);
    assert.equal(inClear("mx.tls-injection.test"), 0);
    await scenario.spent(5);
  });
});
