import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import {
  isNearlyExhausted,
  isSetUpExpensive,
  type LimitHit,
  parseNamedLimit,
  SessionLimits,
} from "../../../../src/smtp/session/session-limits.ts";

const POLICY = {
  maxConnections: 1,
  transactionsPerSession: 100,
  rejectionsPerSession: 50,
  tls: "never",
  pipelineDepthMax: 10,
} as const;

const met = (transactions: number, rejections: number, more: Partial<LimitHit> = {}): LimitHit => ({
  transactions,
  rejections,
  written: 1,
  reason: null,
  ...more,
});

const learnt = (...meetings: LimitHit[]) => {
  const limits = new SessionLimits();
  for (const meeting of meetings) limits.recordHit(meeting, 0);
  return [limits.transactions, limits.rejections];
};

describe("the limits of sessions", () => {
  it("are learnt when two in a row end at the same count: of what stays the same", () => {
    assert.deepEqual(learnt(met(3, 1)), [Infinity, Infinity]);
    assert.deepEqual(learnt(met(3, 1), met(3, 2)), [3, Infinity]);
    assert.deepEqual(learnt(met(30, 20), met(45, 20)), [Infinity, 20]);
    assert.deepEqual(learnt(met(20, 20), met(20, 20)), [Infinity, 20], "rejections where all were");
    assert.deepEqual(learnt(met(20, 7), met(20, 7)), [20, Infinity]);
    assert.deepEqual(learnt(met(20, 0), met(11, 0), met(17, 4)), [Infinity, Infinity]);
  });

  it("are accepted at once when the server names them", () => {
    assert.deepEqual(learnt(met(30, 20, { reason: "rejections" })), [Infinity, 20]);
    assert.deepEqual(learnt(met(30, 20, { reason: "transactions" })), [30, Infinity]);
  });

  it("are not what a session's first transaction ends with", () => {
    assert.deepEqual(learnt(met(0, 0), met(0, 0)), [Infinity, Infinity]);
  });

  it("are distinguished from a write that held too much: equal writes at equal counts prove nothing", () => {
    assert.deepEqual(learnt(met(3, 0, { written: 3 }), met(3, 0, { written: 3 })), [Infinity, Infinity]);
    assert.deepEqual(learnt(met(3, 0, { written: 3 }), met(3, 0, { written: 2 })), [3, Infinity]);
  });

  it("are of rejections where answers become late twice at the same count of them", () => {
    const slow = (transactions: number, rejections: number) =>
      met(transactions, rejections, { reason: "slow" });
    assert.deepEqual(learnt(slow(12, 9)), [Infinity, Infinity]);
    assert.deepEqual(learnt(slow(12, 9), slow(30, 9)), [Infinity, 9]);
    assert.deepEqual(learnt(slow(12, 9), slow(30, 8)), [Infinity, Infinity]);
    assert.deepEqual(learnt(slow(12, 2), slow(12, 2)), [Infinity, Infinity], "by chance");
  });

  it("are tried again by one session at a time, and forgotten when they are gone", () => {
    const limits = new SessionLimits();
    limits.recordHit(met(3, 3, { reason: "rejections" }), 0);
    let now = LIMITS.learned.holdMs - 1;
    assert.deepEqual(limits.takeTrialAllowance(now), { transactions: 0, rejections: 0 });
    now++;
    assert.deepEqual(limits.takeTrialAllowance(now), { transactions: 0, rejections: 4 });
    assert.deepEqual(limits.takeTrialAllowance(now), { transactions: 0, rejections: 0 });
    limits.recordSuccess(9, 4, POLICY, now);
    now += LIMITS.learned.stepMs;
    for (let sessions = 0; limits.isKnown; sessions++, now += LIMITS.learned.stepMs) {
      assert.ok(sessions < 10);
      const { rejections } = limits.takeTrialAllowance(now);
      limits.recordSuccess(60, Math.min(rejections, POLICY.rejectionsPerSession), POLICY, now);
    }
  });
});

describe("a session that is worn", () => {
  const wornAt = (most: number, depth: number) =>
    Array.from({ length: most }, (_, refused) => refused).filter((refused) =>
      isNearlyExhausted(refused, most, depth),
    );
  it("has as many refusals left as a quarter of what a write may hold, or fewer", () => {
    assert.deepEqual(wornAt(8, 10), [6, 7]);
    assert.deepEqual(wornAt(8, 5), [7]);
    assert.deepEqual(wornAt(20, 10), [18, 19]);
    assert.deepEqual(wornAt(4, 10), [3]);
  });
  it("is none that is new, nor one where each write is of one or three", () => {
    assert.deepEqual(wornAt(1, 10), []);
    assert.deepEqual(wornAt(3, 10), []);
    assert.deepEqual(wornAt(8, 1), []);
    assert.deepEqual(wornAt(8, 3), []);
  });
});

describe("a session whose beginning was dear", () => {
  it("took longer than what another one would bring by then", () => {
    assert.equal(isSetUpExpensive(300, 10, 60, 6), false);
    assert.equal(isSetUpExpensive(301, 10, 60, 6), true);
    assert.equal(isSetUpExpensive(61, 10, 12, 6), true, "the more are refused, the sooner");
    assert.equal(isSetUpExpensive(0, 0, 6, 6), false);
  });
});

describe("what a server says it counts", () => {
  const of = (text: string) => parseNamedLimit({ code: 421, enhanced: null, lines: [text] });
  it("is read from its words", () => {
    for (const text of [
      "4.7.0 mx.example.com Error: too many errors",
      "Too many invalid recipients",
      "too many unrecognized commands",
      "4.7.0 Too many failed recipients in this session",
    ])
      assert.equal(of(text), "rejections", text);
    for (const text of [
      "4.7.0 Too many messages in this session",
      "Maximum messages per connection reached",
      "Too many nonmail commands",
    ])
      assert.equal(of(text), "transactions", text);
    for (const text of [
      "4.3.2 Service closing",
      "Too many connections",
      "4.7.0 Too many messages from your host",
      "4.7.28 Our system has detected an unusual rate",
      '4.7.0 <"too many errors"@x.test>: try again later',
      'Mail to "messages in this session"@x.test is put off',
      "",
    ])
      assert.equal(of(text), null, text);
  });
});
