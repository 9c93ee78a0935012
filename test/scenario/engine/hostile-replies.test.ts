import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { engineScenario, mixed, numbered, wrongly } from "../../support/engine-scenario.ts";
import { repeat, sayBytes } from "../../support/mail-world/action.ts";

/** Replies that are floods, garbage or out of bounds, in one job with mailboxes of the same server that are answered well. */
const scenario = engineScenario({ bulk: true });
const TEN_MB = 10_485_760;
const HOSTILE = ["flood", "endless", "garbage", "oddcode", "mixedcodes", "intermediate", "drop", "reset"];

describe("hostile replies", () => {
  it("end unknown at no cost, each of them; the mailboxes pipelined around them have their own verdicts", async () => {
    const good = mixed(48, "h", "rude.test");
    const addresses = good.flatMap((address, i) => {
      const bad = HOSTILE[i / 6];
      return bad === undefined ? [address] : [address, `${bad}@rude.test`];
    });
    const { told } = await scenario.job(addresses);
    for (const name of HOSTILE) {
      const end = told.get(`${name}@rude.test`) ?? assert.fail(name);
      assert.deepEqual(
        [end.verdict, end.reason, end.fault],
        ["unknown", "smtp_protocol_error", "their_server"],
        name,
      );
      assert.equal(end.stage, "rcpt", name);
      told.delete(`${name}@rude.test`);
    }
    assert.deepEqual(wrongly(told), []);
  });

  it("with control bytes and line ends in their text count for no other recipient, and come out clean", async () => {
    const host = scenario.host("mx.german.test");
    const texts = ["550 5.1.1 \u0007User\u0000 unknown\u001b[2J", "550 5.1.1 User unknown\r250 2.1.5 Ok"];
    let next = 0;
    host.setBehaviour("rcpt", (_, { local }) =>
      local.startsWith("odd") ? sayBytes(Buffer.from(`${texts[next++ % texts.length]}\r\n`, "latin1")) : null,
    );
    for (const address of numbered(4, (i) => `odd${i}@german.test`)) {
      const body = await scenario.send(address);
      assert.notEqual(body.verdict, "valid", JSON.stringify(body));
      assert.doesNotMatch(body.evidence?.reply ?? "", /[\u0000-\u001f\u007f]/);
    }
    host.setBehaviour("rcpt", null);
  });

  it("of 10 MB at each stage make no address invalid, and do not affect the server's other answers", async () => {
    const host = scenario.host("mx.utf8.test");
    for (const moment of ["greeting", "ehlo", "mail", "rcpt"] as const) {
      await scenario.sees("nobody is connected", () => host.account.open === 0);
      host.setBehaviour(moment, () => repeat("550 5.1.1 ".padEnd(65_536, "x"), TEN_MB));
      const end = await scenario.ask(`missing-${moment}@utf8.test`);
      assert.deepEqual([end.verdict, end.reason], ["unknown", "smtp_protocol_error"], moment);
      assert.equal(end.stage, moment);
      host.setBehaviour(moment, null);
    }
    const { told } = await scenario.job(mixed(9, "after", "utf8.test"));
    assert.deepEqual(wrongly(told), []);
  });
});
