import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, mixed, numbered, wrongly } from "../../support/engine-scenario.ts";

/** CNAMEs in circles, chains that are too long: an end is found, and only a circle at the exchangers is proof against an address. */
const scenario = engineScenario({ bulk: true });
/** Links of a CNAME chain: more than the resolver follows. A server sends some of them at once. */
const CHAIN = 200;

const noWay = async (address: string, wanted: string) =>
  assert.equal(brief(await scenario.ask(address)), wanted);

describe("DNS that loops", () => {
  it("at the domain: an error of theirs, found at once and with few questions", async () => {
    const { dns } = scenario.world;
    dns.resetCounters();
    await noWay("exists@cname-loop.test", "unknown dns_error their_server");
    assert.ok(dns.totals.queries < 20, `${dns.totals.queries} questions`);
  });

  it("at the only exchanger: it cannot exist, and other rows of the job are served", async () => {
    const { dns } = scenario.world;
    dns.set("mx-loop.test", { mx: [[10, "ring-a.hosts.test"]] });
    dns.set("ring-a.hosts.test", { cname: "ring-b.hosts.test" });
    dns.set("ring-b.hosts.test", { cname: "ring-a.hosts.test" });
    const looping = numbered(6, (i) => `exists-${i}@mx-loop.test`);
    const { told } = await scenario.job([...looping, ...mixed(6, "n", "plain.test")]);
    for (const address of looping) {
      const end = told.get(address) ?? assert.fail(address);
      assert.equal(brief(end), "invalid mx_unresolvable recipient");
      told.delete(address);
    }
    assert.deepEqual(wrongly(told), []);
  });

  it("a loop at the best exchanger does not keep us from the next", async () => {
    const { dns } = scenario.world;
    dns.set("ring-first.test", {
      mx: [
        [10, "ring-a.hosts.test"],
        [20, "mx.plain.test"],
      ],
    });
    await noWay("exists@ring-first.test", "valid accepted_mailbox");
    await noWay("missing@ring-first.test", "invalid mailbox_not_found recipient");
  });

  it("a chain without end is given up; short ones are followed", async () => {
    const { dns } = scenario.world;
    for (let i = 0; i < CHAIN; i++) dns.set(`chain${i}.test`, { cname: `chain${i + 1}.test` });
    dns.set(`chain${CHAIN}.test`, { mx: [[10, "mx.plain.test"]] });
    const end = await scenario.ask("missing@chain0.test");
    assert.equal(end.verdict, "unknown");
    assert.equal(end.reason, "dns_error");
    dns.set("mx-chain.test", { mx: [[10, "chain0.test"]] });
    await noWay("exists@mx-chain.test", "unknown no_connect their_server");
    await noWay(`exists@chain${CHAIN - 2}.test`, "valid accepted_mailbox");
    await noWay("exists@cname.test", "valid accepted_mailbox");
  });
});
