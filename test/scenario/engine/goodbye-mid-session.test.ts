import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { engineScenario, mixed, NOT_FOUND, VALID, wrongly } from "../../support/engine-scenario.ts";
import { sayAndClose } from "../../support/mail-world/action.ts";
import type { MailHost } from "../../support/mail-world/host.ts";
import type { Moment } from "../../support/mail-world/profile.ts";

/** A server that says 421 and leaves while further transactions are pipelined behind the one in turn. */
/** An upper bound: the length that a session reached is remembered, and may end later ones earlier. */
const GOODBYES = 2;
const settings = { SHAPING: JSON.stringify({ default: { maxConnections: 1 } }) };
const scenario = engineScenario({ bulk: true, settings });

/** Closes some sessions by 421 while further transactions are pipelined. */
function leaves(host: MailHost, moment: Moment, behind: number): { goodbyes: number } {
  const seen = { goodbyes: 0 };
  const goodbye = () => {
    seen.goodbyes += 1;
    return sayAndClose("421 4.3.2 Service closing, come again");
  };
  host.setBehaviour(moment, (dialogue) =>
    seen.goodbyes < GOODBYES && dialogue.behind > behind ? goodbye() : null,
  );
  return seen;
}

describe("a server that leaves in mid-session, others pipelined behind", () => {
  for (const [moment, behind] of [
    ["mail", 4],
    ["rcpt", 3],
  ] as const)
    it(`at ${moment.toUpperCase()}: the one in turn and all behind have their true verdicts`, async () => {
      const host = scenario.site(`${moment}.test`, "mx.plain.test");
      const seen = leaves(host, moment, behind);
      const { told } = await scenario.job(mixed(60, "g", `${moment}.test`));
      host.setBehaviour(moment, null);
      assert.deepEqual(wrongly(told), []);
      assert.ok(seen.goodbyes >= 1, "it has left");
      assert.ok(host.account.connections > seen.goodbyes, "a new session after each");
    });

  it("each time, for as long as anybody is pipelined behind: a job still ends, all of it true", async () => {
    const { told } = await scenario.job(mixed(24, "w", "goodbye.test"));
    assert.deepEqual(wrongly(told), []);
    assert.ok(scenario.host("mx.goodbye.test").account.connections > 2);
  });

  it("does so to single requests too, which wait for each other at one connection", async () => {
    const addresses = mixed(12, "s", "goodbye.test");
    const wanted = addresses.map((address) => (address.startsWith("exists") ? VALID : NOT_FOUND));
    assert.deepEqual(await scenario.askAll(addresses), wanted);
    await scenario.spent(addresses.length);
  });
});
