import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, numbered, VALID } from "../../support/engine-scenario.ts";
import { say } from "../../support/mail-world/action.ts";
import { LATER } from "../../support/mail-world/mailboxes.ts";

/** Servers that give a temporary reply first, and accept the second attempt. */
const scenario = engineScenario({ bulk: true, settings: { DEFERRAL_MAX_S: "30" } });

describe("a temporary reply in a job", () => {
  it("is asked again, whatever its code and words: the address is valid in the end", async () => {
    const addresses = Object.keys(LATER).map((name) => `${name}@later.test`);
    const { told, job } = await scenario.job(addresses);
    assert.deepEqual(
      Object.fromEntries([...told].map(([address, end]) => [address, brief(end)])),
      Object.fromEntries(addresses.map((address) => [address, VALID])),
    );
    assert.equal(job.verdicts.valid, addresses.length);
  });

  it("to the catch-all probe is asked again too, for all addresses of the domain", async () => {
    const host = scenario.site("triplets.test", "mx.lockstep.test");
    const met = new Set<string>();
    host.setBehaviour("rcpt", (_, { local }) => {
      if (met.has(local)) return null;
      met.add(local);
      return say("451 4.3.0 Temporary lookup failure");
    });
    const { told } = await scenario.job(numbered(12, (i) => `exists-t${i}@triplets.test`));
    assert.deepEqual([...new Set([...told.values()].map(brief))], [VALID]);
    host.setBehaviour("rcpt", null);
  });
});

describe("a temporary reply to a single request", () => {
  it("says when to ask again, and never a time that is past", async () => {
    for (const name of ["tempfail", "full", "ratelimited"]) {
      const { retry_at, reason } = await scenario.send(`${name}@limited.test`);
      assert.ok(retry_at !== null && Date.parse(retry_at) > Date.now(), `${name}: ${reason}, ${retry_at}`);
    }
  });
});
