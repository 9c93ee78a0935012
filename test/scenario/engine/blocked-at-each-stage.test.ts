import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, VALID } from "../../support/engine-scenario.ts";
import { type Action, say, sayAndClose } from "../../support/mail-world/action.ts";
import type { Dialogue, Moment } from "../../support/mail-world/profile.ts";

/** Servers that refuse us by our address, by our name or by a list, at each stage: it is us, never the recipient. */
const scenario = engineScenario();
const WORDS: Record<string, (dialogue: Dialogue) => string> = {
  address: ({ clientAddress }) => `550 5.7.1 Access denied: ${clientAddress} has a poor reputation`,
  name: ({ heloName }) =>
    `550 5.7.1 <${heloName || "probe.rcpt.test"}>: Helo command rejected: Access denied`,
  list: ({ clientAddress }) =>
    `554 5.7.1 Service unavailable; Client host [${clientAddress}] blocked using zen.spamhaus.org`,
};
const STAGES: [stage: string, moments: Moment[], refuse: (text: string) => Action][] = [
  ["greeting", ["greeting"], sayAndClose],
  ["ehlo", ["ehlo", "helo"], say],
  ["mail", ["mail"], say],
  ["rcpt", ["rcpt"], say],
];

describe("a server that blocks us", () => {
  for (const [stage, moments, refuse] of STAGES)
    for (const [by, words] of Object.entries(WORDS))
      it(`at ${stage} by our ${by}: it is our address's fault, and the mailbox stays unknown`, async () => {
        const { world } = scenario;
        const host = scenario.host("mx.blocked.test");
        // A site of its own: several blocks in a row would open the breaker of one.
        const domain = `${stage}-${by}.test`;
        world.dns.set(`mx.${domain}`, { a: [host.address] });
        world.dns.set(domain, { mx: [[10, `mx.${domain}`]] });
        for (const moment of moments) host.setBehaviour(moment, (dialogue) => refuse(words(dialogue)));
        const end = await scenario.ask(`missing@${domain}`);
        for (const moment of moments) host.setBehaviour(moment, null);
        assert.equal(brief(end), "unknown sender_blocked our_address");
        assert.equal(end.stage, stage);
        // Once the server accepts us again, a new request gets the answer.
        assert.equal(brief(await scenario.ask(`exists@${domain}`)), VALID);
      });

  it("is not paid for", async () => {
    await scenario.spent(STAGES.length * Object.keys(WORDS).length);
  });
});
