import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readStatements, type Statement } from "../../../../src/verification/classify/grammar.ts";
import fc from "../../../support/properties.ts";

const said = (prose: string): Statement[] => [...readStatements(prose).statements].sort();

describe("what a sentence says of the recipient", () => {
  const cases: [prose: string, ...statements: Statement[]][] = [
    ["user unknown in virtual mailbox table", "absent"],
    ["<*@*>: recipient address rejected: no such user here", "absent"],
    ["the email account that you tried to reach does not exist", "absent"],
    ["cannot find a mailbox for this recipient", "absent"],
    ["invalid recipient", "invalid"],
    ["unknown or illegal user: *@*", "absent", "invalid"],
    ["this account has been disabled or discontinued", "shut"],
    ["mailbox for *@* is full", "full"],
    ["Конт: пользователь не найден", "absent"],
    ["该邮箱地址不存在", "absent"],
    ["utilisateur inconnu", "absent"],
  ];
  for (const [prose, ...statements] of cases) it(prose, () => assert.deepEqual(said(prose), statements));
});

describe("what it says about another party", () => {
  const cases = [
    "recipient address rejected: domain not found",
    "unknown recipient domain",
    "the domain of the recipient does not exist",
    "le domaine du destinataire n'existe pas",
    "no route to recipient found on unknown host",
    "invalid user or password",
    "your account is unknown to us",
    "mail from unknown users is refused",
    "access denied from unknown",
    "recipient rejected: invalid greeting",
    "license of account expired",
    "all relevant mx records point to non-existent hosts",
    "user unknown? the sender is",
    "domain is full of users",
    "unknown error. user",
  ];
  for (const prose of cases) it(prose, () => assert.deepEqual(said(prose), []));

  it("whether there is another subject than the recipient is known", () => {
    assert.ok(readStatements("*@*: message rejected").concernsOthers);
    assert.ok(!readStatements("*@*: recipient rejected on this server").concernsOthers);
  });

  it("of a sender, it says so", () => {
    assert.ok(readStatements("expéditeur inconnu").concernsSender);
    assert.ok(readStatements("发件人不存在").concernsSender);
    assert.ok(!readStatements("utilisateur inconnu").concernsSender);
  });
});

describe("any text", () => {
  it("has some meaning, the same each time, and none before its first word", () => {
    const word = fc.constantFrom(
      "user",
      "unknown",
      "no",
      "such",
      "domain",
      "sender",
      ".",
      ",",
      "not found",
      "is",
      "用户",
    );
    fc.assert(
      fc.property(
        fc.array(fc.oneof(word, fc.string({ unit: "binary", maxLength: 9 })), { maxLength: 60 }),
        (words) => {
          const prose = words.join(" ");
          assert.deepEqual(said(prose), said(prose));
          if (words.includes("sender")) assert.ok(!said(prose).includes("absent"));
        },
      ),
      { numRuns: 300, seed: 5321 },
    );
  });
});
