import assert from "node:assert/strict";
import { test } from "node:test";
import { compare, renderTable, type ServiceAnswer } from "../../../../scripts/mta/comparison.ts";
import { parseReply } from "../../../../scripts/mta/dialogue.ts";
import type { Mailbox } from "../../../../scripts/mta/mail-server.ts";

const SERVER = { name: "postfix", host: "mx.postfix.test" };
const MISSING: Mailbox = { address: "missing@postfix.test", kind: "missing" };
const RAW = parseReply(["550 5.1.1 User unknown"]);
const RIGHT: ServiceAnswer = {
  verdict: "invalid",
  reason: "mailbox_not_found",
  code: 550,
  enhancedCode: "5.1.1",
  mxHost: "mx.postfix.test",
};

test("an answer that says what the mailbox is and what its server sent has no differences", () => {
  assert.deepEqual(compare(SERVER, MISSING, RAW, RIGHT).differences, []);
});

for (const [field, wrong, phrase] of [
  ["verdict", "unknown", "verdict unknown, not invalid"],
  ["reason", "refused_by_policy", "reason refused_by_policy, not mailbox_not_found"],
  ["code", 450, "code 450, not 550"],
  ["enhancedCode", null, "enhanced code none, not 5.1.1"],
  ["mxHost", "mx.exim.test", "MX host mx.exim.test, not mx.postfix.test"],
] as const) {
  test(`a wrong ${field} is a difference`, () => {
    assert.deepEqual(compare(SERVER, MISSING, RAW, { ...RIGHT, [field]: wrong }).differences, [phrase]);
  });
}

test("an enhanced code that the server never sent is a difference", () => {
  const { differences } = compare(SERVER, MISSING, parseReply(["550 Unrouteable address"]), RIGHT);
  assert.deepEqual(differences, ["enhanced code 5.1.1, not none"]);
});

test("the table has a line for each comparison, in columns, and says which failed", () => {
  const lines = renderTable([
    compare(SERVER, MISSING, RAW, RIGHT),
    compare(SERVER, MISSING, RAW, { ...RIGHT, verdict: "valid" }),
  ]);
  assert.equal(lines.length, 3);
  assert.match(lines[1] ?? "", /^postfix {2}missing@postfix\.test {2}550 5\.1\.1 .* ok$/);
  assert.match(lines[2] ?? "", /FAIL: verdict valid, not invalid$/);
  assert.equal(lines[0]?.indexOf("expected"), lines[1]?.indexOf("invalid (mailbox_not_found)"));
});
