import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, NOT_FOUND, numbered, VALID } from "../../support/engine-scenario.ts";
import { RESET, say } from "../../support/mail-world/action.ts";
import type { Handler } from "../../support/mail-world/profile.ts";

/** Mailboxes are accepted, and the catch-all probe gets no clear answer. */
const scenario = engineScenario({ bulk: true });
const UNCONFIRMED = "risky catch_all_unconfirmed";

const toStrangers =
  (handler: Handler): Handler =>
  (dialogue, recipient) =>
    recipient.local.startsWith("q") ? handler(dialogue, recipient) : null;

describe("a catch-all probe without an answer", () => {
  for (const domain of ["catchall-tempfail.test", "catchall-drop.test"])
    it(`at ${domain}: no row of a job is valid, and none is reported as a certain catch-all`, async () => {
      const { told } = await scenario.job(numbered(10, (i) => `exists-i${i}@${domain}`));
      for (const end of told.values()) {
        assert.equal(brief(end), UNCONFIRMED);
        assert.ok(["inconclusive", "not_probed"].includes(end.catchAll), end.catchAll);
      }
    });

  const ANSWERS: [what: string, handler: Handler][] = [
    ["is refused by policy", () => say("550 5.7.1 Message rejected due to content policy restrictions")],
    ["is greylisted", () => say("450 4.2.0 Greylisted, please try again in 300 seconds")],
    ["is met by a reset", () => RESET],
    [
      "is blocked for our sake",
      (d) => say(`550 5.7.1 Access denied: ${d.clientAddress} has a poor reputation`),
    ],
  ];
  for (const [i, [what, handler]] of ANSWERS.entries())
    it(`${what}: unconfirmed, and a mailbox that is refused stays refused`, async () => {
      const domain = `stranger${i}.test`;
      const host = scenario.host("mx.multiline.test");
      scenario.world.dns.set(domain, { mx: [[10, "mx.multiline.test"]] });
      host.setBehaviour("rcpt", toStrangers(handler));
      const end = await scenario.ask(`exists@${domain}`);
      assert.equal(brief(end), UNCONFIRMED);
      assert.notEqual(end.catchAll, "accepted");
      assert.equal(brief(await scenario.ask(`missing@${domain}`)), NOT_FOUND);
      host.setBehaviour("rcpt", null);
    });

  it("says nothing of other domains", async () => {
    assert.equal(brief(await scenario.ask("exists@no-enhanced.test")), VALID);
  });
});
