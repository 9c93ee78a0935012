import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { engineScenario, NOT_FOUND, numbered, VALID, wrongly } from "../../support/engine-scenario.ts";

/**
 * A provider whose customers' hosts call each other's users unknown: a session that was opened for one customer must
 * never be used for another one's mailbox, although it is open.
 */
const scenario = engineScenario({ bulk: true });
const CUSTOMERS = ["alpha.test", "beta.test"];

const both = (tag: string, first: string, second: string) =>
  numbered(40, (i) => `${i % 4 === 3 ? "missing" : "exists"}-${tag}${i}@${i % 2 === 0 ? first : second}`);

/** The domains that a host was asked about. */
function askedOf(name: string): string[] {
  const { commands } = scenario.host(name).account;
  return [...new Set(commands.flatMap(({ line }) => /^RCPT TO:<.*@(.*)>/.exec(line)?.[1] ?? []))];
}

describe("a provider whose customers' hosts refuse each other's domains", () => {
  for (const [tag, first = "", second = ""] of [
    ["ab", ...CUSTOMERS],
    ["ba", ...CUSTOMERS.toReversed()],
  ])
    it(`${first} before ${second}: all at once, and again in a job, no address is invalid by the other's host`, async () => {
      const singles = both(`s-${tag}`, first, second);
      const wanted = singles.map((address) => (address.startsWith("exists") ? VALID : NOT_FOUND));
      assert.deepEqual(await scenario.askAll(singles), wanted);
      const { told } = await scenario.job(both(`j-${tag}`, first, second));
      assert.deepEqual(wrongly(told), []);
    });

  it("one after the other, while the other's session is still open", async () => {
    for (const domain of [...CUSTOMERS, ...CUSTOMERS.toReversed()]) {
      const addresses = numbered(4, (i) => `exists-w${i}@${domain}`);
      assert.deepEqual(
        await scenario.askAll(addresses),
        addresses.map(() => VALID),
      );
    }
  });

  it("each host was asked about its own customer only", () => {
    assert.deepEqual(askedOf("mx-a.provider.test"), ["alpha.test"]);
    assert.deepEqual(askedOf("mx-b.provider.test"), ["beta.test"]);
  });
});
