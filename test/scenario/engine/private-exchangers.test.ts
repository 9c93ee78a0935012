import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario } from "../../support/engine-scenario.ts";

/**
 * Exchangers at addresses that are no single public host. The mail world is on loopback, so this deployment allows private
 * ones. Addresses that must never be dialled are refused nevertheless. (Every range: private-targets.test.ts.)
 */
const scenario = engineScenario();

describe("an exchanger that may not be dialled", () => {
  it("is no connection, by the address and not by silence; behind it the next one is asked", async () => {
    const { dns } = scenario.world;
    dns.set("nobody.hosts.test", { a: ["0.0.0.0", "255.255.255.255"] });
    dns.set("nobody.test", { mx: [[10, "nobody.hosts.test"]] });
    dns.set("somebody.test", {
      mx: [
        [10, "nobody.hosts.test"],
        [20, "mx.plain.test"],
      ],
    });
    const end = await scenario.ask("exists@nobody.test");
    assert.deepEqual(
      [brief(end), end.stage, end.rule],
      ["unknown no_connect their_server", "connect", "failure.private_address"],
    );
    assert.deepEqual(await scenario.askAll(["exists@somebody.test", "missing@somebody.test"]), [
      "valid accepted_mailbox",
      "invalid mailbox_not_found recipient",
    ]);
    await scenario.spent(2);
  });
});
