import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ATTACKERS, type Attacker } from "../../../../../scripts/chaos/neighbours/attackers.ts";
import { judgeNeighbours, percentileMs } from "../../../../../scripts/chaos/neighbours/judge-neighbours.ts";
import type { Meeting } from "../../../../../scripts/chaos/neighbours/neighbours.ts";
import type { QuestionName, Suffered } from "../../../../../scripts/chaos/neighbours/victim.ts";

const attacker = ATTACKERS[0] as Attacker;

function suffered(ms: number, more: Partial<Suffered> = {}): Suffered {
  const times = Array.from({ length: 200 }, () => ms);
  const latenciesMs = { cached: times, uncached: times, usage: times, post: times };
  return { latenciesMs, failures: {}, refusals: {}, lateMs: [0.1], ...more };
}

function missed(more: Partial<Meeting>): string[] {
  const attack = { [attacker.refusals[0] ?? ""]: 3 };
  const meeting: Meeting = {
    attacker,
    alone: suffered(6),
    beside: suffered(12),
    attack,
    crashed: false,
    ...more,
  };
  return judgeNeighbours([meeting])
    .findings.filter(({ ok }) => !ok)
    .map(({ name }) => name.trim());
}

describe("the judgement of hostile neighbours", () => {
  it("lets a victim's answers take twice as long", () => assert.deepEqual(missed({}), []));

  it("misses each question that takes more than twice as long, or was never answered", () => {
    const slow = (question: QuestionName, values: number[]) => {
      const beside = suffered(12);
      beside.latenciesMs[question] = values;
      return missed({ beside });
    };
    for (const question of ["cached", "uncached", "usage", "post"] as const) {
      assert.deepEqual(slow(question, [...Array(97).fill(12), 13, 13, 13]), [`${question}, ms p50/p99`]);
      assert.deepEqual(slow(question, []), [`${question}, ms p50/p99`]);
    }
  });

  it("does not judge below the noise of a shared core", () => {
    assert.deepEqual(missed({ alone: suffered(1), beside: suffered(10) }), []);
    assert.equal(missed({ alone: suffered(1), beside: suffered(10.1) }).length, 4);
  });

  it("misses failures, refusals of the victim, an attacker that is not refused, and a crash", () => {
    assert.deepEqual(missed({ beside: suffered(12, { failures: { "post 503 overloaded": 1 } }) }), [
      "victim: 5xx or no answer",
    ]);
    assert.deepEqual(missed({ alone: suffered(6, { refusals: { "usage 429 rate_limited": 1 } }) }), [
      "victim: refused",
    ]);
    assert.deepEqual(missed({ attack: { 200: 9, "500 internal_error": 1 } }), ["attacker refused"]);
    assert.deepEqual(missed({ crashed: true }), ["crashes"]);
  });

  it("says in detail what the victim got", () => {
    const beside = suffered(12, { failures: { "post 503 overloaded": 2 } });
    const { details } = judgeNeighbours([
      { attacker, alone: suffered(6), beside, attack: {}, crashed: false },
    ]);
    assert.deepEqual(details, [`victim of ${attacker.name}: post 503 overloaded: 2`]);
  });
});

describe("a percentile", () => {
  it("is one of the values, to a tenth of a millisecond; 0 of none", () => {
    assert.equal(percentileMs([], 0.99), 0);
    assert.equal(percentileMs([1.26, 1.24, 7], 0.5), 1.3);
    assert.equal(
      percentileMs(
        Array.from({ length: 100 }, (_, i) => i),
        0.99,
      ),
      99,
    );
  });
});

describe("the attackers", () => {
  it("have each a name of their own, and requests that can be sent", () => {
    assert.equal(new Set(ATTACKERS.map(({ name }) => name)).size, ATTACKERS.length);
    for (const { request, refusals } of ATTACKERS) {
      const asked = request(0, ["key"]);
      assert.match(asked.path, /^\/v1\//);
      assert.ok(refusals.length > 0);
    }
  });

  it("send as many JSON members as fit into their bytes", () => {
    const body = attacker.request(0, ["key"]).body ?? "";
    assert.ok(body.length > 9_900_000 && body.length < 10_100_000);
    assert.ok(Object.keys(JSON.parse(String(body))).length > 600_000);
  });
});
