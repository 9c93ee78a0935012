import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, mixed, wrongly } from "../../support/engine-scenario.ts";

/** Mailboxes that are there and take no mail, in one job with those that do and those that are not. */
const scenario = engineScenario({ bulk: true });
const FULL = "risky mailbox_full recipient";
const DISABLED = "invalid mailbox_disabled recipient";
const ODD: Record<string, [wanted: string, code: number]> = {
  "full@plain.test": [FULL, 452],
  "full-hard@plain.test": [FULL, 552],
  "disabled@plain.test": [DISABLED, 550],
  "full@no-enhanced.test": [FULL, 552],
  "disabled@no-enhanced.test": [DISABLED, 550],
  // A full disk of the server is not about a mailbox.
  "storage@plain.test": ["unknown smtp_protocol_error their_server", 452],
};

describe("full and disabled mailboxes", () => {
  it("are distinguished from missing ones and from a full server, pipelined among others", async () => {
    const { told } = await scenario.job([
      ...mixed(30, "o", "plain.test"),
      ...Object.keys(ODD),
      ...mixed(9, "p", "no-enhanced.test"),
    ]);
    for (const [address, [wanted, code]] of Object.entries(ODD)) {
      const end = told.get(address) ?? assert.fail(address);
      assert.deepEqual([brief(end), end.code, end.stage], [wanted, code, "rcpt"], address);
      told.delete(address);
    }
    assert.deepEqual(wrongly(told), []);
  });

  it("are reported to single requests, from the cache the second time", async () => {
    for (const [address, [wanted]] of Object.entries(ODD)) {
      const end = await scenario.ask(address, "&refresh=true");
      assert.deepEqual([brief(end), end.cached], [wanted, false]);
      assert.equal((await scenario.ask(address)).cached, true);
    }
    // The one that is unknown by a failure is given back, both times.
    await scenario.spent((Object.keys(ODD).length - 1) * 2);
  });
});
