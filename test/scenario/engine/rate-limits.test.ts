import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, mixed, wrongly } from "../../support/engine-scenario.ts";
import { type Action, say, sayAndClose } from "../../support/mail-world/action.ts";
import type { Moment } from "../../support/mail-world/profile.ts";

/**
 * Servers that limit our rate: single requests report it, rows of jobs are retried until they are accepted. They wait a
 * second or more each time, and rows that are never accepted eight: the duration of this file.
 */
const scenario = engineScenario({ bulk: true });
const LIMITED = "unknown rate_limited_by_server their_server";
const TOO_MANY = "too many messages from your address, slow down";
const PATIENCE = 12;

const HABITS: [what: string, moment: Moment, action: Action][] = [
  ["451 at RCPT", "rcpt", say(`451 4.7.1 ${TOO_MANY}`)],
  ["451 at MAIL", "mail", say(`451 4.7.1 ${TOO_MANY}`)],
  ["421 at RCPT", "rcpt", sayAndClose(`421 4.7.0 ${TOO_MANY}`)],
  ["421 at MAIL", "mail", sayAndClose(`421 4.7.0 ${TOO_MANY}`)],
];

describe("rate limits", () => {
  for (const [i, [what, moment, action]] of HABITS.entries())
    it(`${what}: a request is answered so, a job waits; in the end each row has its true verdict`, async () => {
      const host = scenario.host("mx.limited.test");
      const domain = `limit${i}.test`;
      scenario.world.dns.set(`mx.${domain}`, { a: [host.address] });
      scenario.world.dns.set(domain, { mx: [[10, `mx.${domain}`]] });
      let refused = 0;
      host.setBehaviour(moment, () => (refused++ < PATIENCE ? action : null));
      const end = await scenario.ask(`missing@${domain}`);
      assert.deepEqual([brief(end), end.stage], [LIMITED, moment]);
      const { told } = await scenario.job(mixed(20, "r", domain));
      host.setBehaviour(moment, null);
      assert.ok(refused >= PATIENCE);
      assert.deepEqual(wrongly(told), []);
    });

  it("that do not end: unknown, none invalid, none charged, neighbours served", async () => {
    const limited = ["ratelimited@limited.test", "ratelimited-421@limited.test"];
    const { told } = await scenario.job([...limited, ...mixed(9, "n", "plain.test")]);
    for (const address of limited) {
      assert.equal(brief(told.get(address) ?? assert.fail(address)), LIMITED);
      told.delete(address);
    }
    assert.deepEqual(wrongly(told), []);
    await scenario.spent(0);
  });
});
