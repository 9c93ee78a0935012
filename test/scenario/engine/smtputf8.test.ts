import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, mixed, NOT_FOUND, VALID, wrongly } from "../../support/engine-scenario.ts";

/** Local parts beyond ASCII: asked where SMTPUTF8 is offered, and nowhere else (RFC 6531). */
const scenario = engineScenario({ bulk: true });

describe("SMTPUTF8", () => {
  it("offered: such mailboxes are asked about like all others, each MAIL saying so", async () => {
    const { told } = await scenario.job([
      "jürgen@utf8.test",
      "jürgen-2@utf8.test",
      "ömer@utf8.test",
      ...mixed(12, "u", "utf8.test"),
    ]);
    assert.deepEqual(
      ["jürgen@utf8.test", "jürgen-2@utf8.test", "ömer@utf8.test"].map((address) =>
        brief(told.get(address) ?? assert.fail(address)),
      ),
      [VALID, VALID, NOT_FOUND],
    );
    for (const address of [...told.keys()]) if (!/^[ -~]+$/.test(address)) told.delete(address);
    assert.deepEqual(wrongly(told), []);
    const { commands } = scenario.host("mx.utf8.test").account;
    const rcpts = commands.flatMap(({ session, line }, i) =>
      /^RCPT.*[^ -~]/.test(line)
        ? [
            {
              session,
              mail: commands
                .slice(0, i)
                .findLast((earlier) => earlier.session === session && earlier.line.startsWith("MAIL")),
            },
          ]
        : [],
    );
    assert.equal(rcpts.length, 3);
    for (const { mail } of rcpts) assert.match(mail?.line ?? "", / SMTPUTF8$/);
  });

  it("not offered: the server is never asked about them, and they are unknown; their neighbours are served", async () => {
    const { told } = await scenario.job([
      "jürgen@plain.test",
      "ömer@plain.test",
      ...mixed(12, "u", "plain.test"),
    ]);
    for (const address of ["jürgen@plain.test", "ömer@plain.test"]) {
      const end = told.get(address) ?? assert.fail(address);
      assert.equal(brief(end), "unknown refused_by_policy their_server");
      assert.equal(end.rule, "failure.smtputf8_missing");
      told.delete(address);
    }
    assert.deepEqual(wrongly(told), []);
    const { commands } = scenario.host("mx.plain.test").account;
    assert.ok(commands.every(({ line }) => /^[ -~]*$/.test(line)));
  });
});
