import assert from "node:assert/strict";
import { test } from "node:test";
import { askBurst, burstAddresses, burstFaults, renderBursts } from "../../../../scripts/mta/burst.ts";
import type { ServiceAnswer } from "../../../../scripts/mta/comparison.ts";
import { parseReply } from "../../../../scripts/mta/dialogue.ts";
import type { Burst } from "../../../../scripts/mta/mail-server.ts";

const BURST: Burst = {
  situation: "wrong recipients in a session",
  limit: "wrong",
  domain: "a.test",
  missing: 6,
  existing: 2,
};
const NOTHING_READ = { sessions: 3, mostRejections: 8, wornOut: 0, limited: 0 };

const answer = (verdict: string, reason: string): ServiceAnswer => ({
  verdict,
  reason,
  code: 550,
  enhancedCode: null,
  mxHost: "mx.a.test",
  stage: "rcpt",
  rule: "some.rule",
});
const truth = (address: string) =>
  address.startsWith("keeper") ? answer("valid", "accepted_mailbox") : answer("invalid", "mailbox_not_found");

test("a burst has each address once, those that exist among those that do not", () => {
  const asks = burstAddresses(BURST);
  assert.equal(new Set(asks.map(({ address }) => address)).size, 8);
  assert.equal(asks.map(({ kind }) => kind[0]).join(""), "emmmemmm");
});

test("a burst answered as it is has nothing wrong", async () => {
  const outcome = await askBurst("postfix", BURST, async (address) => truth(address));
  assert.equal(outcome.wrong, 0);
  assert.deepEqual([...outcome.counts].sort(), [
    ["existing: valid/accepted_mailbox", 2],
    ["missing: invalid/mailbox_not_found", 6],
  ]);
});

test("a wrongly invalid address, one not found, and one without an answer are wrong", async () => {
  const outcome = await askBurst("postfix", BURST, async (address) => {
    if (address === "keeper0@a.test") return answer("invalid", "mailbox_not_found");
    if (address === "nobody0@a.test") return answer("unknown", "rate_limited_by_server");
    if (address === "nobody1@a.test") throw new Error(`${address}: HTTP 503`);
    return truth(address);
  });
  assert.equal(outcome.wrong, 3);
  assert.equal(outcome.counts.get("existing: invalid/mailbox_not_found (550 by some.rule)"), 1);
  assert.equal(outcome.counts.get("missing: unknown/rate_limited_by_server (550 by some.rule)"), 1);
  assert.equal(outcome.counts.get("missing: …: HTTP 503"), 1);
});

test("the table has the limit that we met, the sessions, and the answers", async () => {
  const answers = await askBurst("postfix", BURST, async (address) => truth(address));
  const worn = { asked: 20, last: parseReply(["421 4.7.0 too many errors"]), ms: 10_040 };
  const lines = renderBursts([{ ...answers, reading: NOTHING_READ }], new Map([[BURST, worn]]));
  assert.match(
    lines[1] ?? "",
    /^postfix .* 421 after 20, in 10\.0 s .* 6 missing, 2 existing .* 3 .* 8 .* 0 .* ok$/,
  );
  assert.deepEqual(lines.slice(2), [
    "    2 existing: valid/accepted_mailbox",
    "    6 missing: invalid/mailbox_not_found",
  ]);
});

test("a limit that is not met is said so, and wrong answers are counted", async () => {
  const answers = await askBurst("postfix", BURST, async () => answer("unknown", "timeout"));
  const worn = { asked: 60, last: null, ms: 100 };
  const [, line = ""] = renderBursts([{ ...answers, reading: NOTHING_READ }], new Map([[BURST, worn]]));
  assert.match(line, /never, in 60/);
  assert.match(line, /FAIL: 8 wrong$/);
});

test("a session that ended for its wrong recipients is a fault, also when all answers were right", async () => {
  const answers = await askBurst("postfix", BURST, async (address) => truth(address));
  const faults = (reading: object) => burstFaults({ ...answers, reading: { ...NOTHING_READ, ...reading } });
  assert.deepEqual(faults({}), []);
  assert.deepEqual(faults({ limited: 3 }), []);
  assert.deepEqual(faults({ limited: 3, wornOut: 1 }), ["1 sessions ended for wrong recipients"]);
});
