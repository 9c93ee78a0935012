import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Cell,
  compare,
  renderDetails,
  renderTable,
  type ServiceAnswer,
} from "../../../../scripts/mta/comparison.ts";
import { parseReply } from "../../../../scripts/mta/dialogue.ts";
import type { Kind } from "../../../../scripts/mta/mail-server.ts";

const MISSING: Cell = {
  server: "postfix",
  situation: "missing",
  kind: "missing",
  address: "missing@postfix.test",
  host: "mx.postfix.test",
};
const RAW = parseReply(["550 5.1.1 User unknown"]);
const RIGHT: ServiceAnswer = {
  verdict: "invalid",
  reason: "mailbox_not_found",
  code: 550,
  enhancedCode: "5.1.1",
  mxHost: "mx.postfix.test",
  stage: "rcpt",
  rule: "rcpt.unknown",
};

test("an answer that says what the mailbox is and what its server sent has no differences", () => {
  assert.deepEqual(compare(MISSING, RAW, RIGHT).differences, []);
});

for (const [field, wrong, phrase] of [
  ["verdict", "unknown", "verdict unknown, not invalid"],
  ["reason", "refused_by_policy", "reason refused_by_policy, not mailbox_not_found"],
  ["code", 450, "code 450, not 550"],
  ["enhancedCode", null, "enhanced code none, not 5.1.1"],
  ["mxHost", "mx.exim.test", "MX host mx.exim.test, not mx.postfix.test"],
] as const) {
  test(`a wrong ${field} is a difference`, () => {
    assert.deepEqual(compare(MISSING, RAW, { ...RIGHT, [field]: wrong }).differences, [phrase]);
  });
}

test("an enhanced code that the server never sent is a difference", () => {
  const { differences } = compare(MISSING, parseReply(["550 Unrouteable address"]), RIGHT);
  assert.deepEqual(differences, ["enhanced code 5.1.1, not none"]);
});

test("where we asked nothing that compares, the codes are not held against the answer", () => {
  assert.deepEqual(compare(MISSING, null, { ...RIGHT, code: 551, enhancedCode: null }).differences, []);
});

for (const [reason, phrases] of [
  ["sender_blocked", []],
  ["no_connect", []],
  ["timeout", ["reason timeout, not sender_blocked or no_connect"]],
] as const) {
  test(`of several right reasons any is right: ${reason}`, () => {
    const shut = { ...MISSING, kind: "shut" as Kind };
    assert.deepEqual(compare(shut, RAW, { ...RIGHT, verdict: "unknown", reason }).differences, phrases);
  });
}

test("the table has a line for each comparison, in columns, and says which failed", () => {
  const lines = renderTable([
    compare(MISSING, RAW, RIGHT),
    compare(MISSING, RAW, { ...RIGHT, verdict: "valid" }),
  ]);
  assert.equal(lines.length, 3);
  assert.match(lines[1] ?? "", /^postfix {2}missing {4}550 5\.1\.1 to RCPT .* ok$/);
  assert.match(lines[2] ?? "", /FAIL: verdict valid, not invalid$/);
  assert.equal(lines[0]?.indexOf("expected"), lines[1]?.indexOf("invalid/mailbox_not_found"));
});

test("the details quote all lines of a reply, and the rule", () => {
  const raw = parseReply(["550-Verification failed", "550 Sender verify failed"]);
  assert.deepEqual(renderDetails([compare(MISSING, raw, RIGHT)]), [
    "postfix, missing: <missing@postfix.test>",
    "    550-Verification failed",
    "    550 Sender verify failed",
    "    -> invalid/mailbox_not_found, by rcpt.unknown at rcpt",
  ]);
});
