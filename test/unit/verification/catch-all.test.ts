import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type CatchAllFact,
  catchAllAnswerOf,
  catchAllKey,
  catchAllLocalPart,
  createCatchAllFacts,
} from "../../../src/verification/catch-all.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const KEY = catchAllKey("example.test", "site", "mx.example.test");

function facts() {
  const clock = createFakeClock();
  const stored = new Map<string, { answer: CatchAllFact; ttlS: number }>();
  const made = createCatchAllFacts(clock, {
    get: async (key) => stored.get(key) ?? null,
    put: (key, answer, ttlS) => void stored.set(key, { answer, ttlS }),
  });
  return { clock, stored, facts: made };
}

describe("catch-all facts", () => {
  it("are asked for once and reported to all waiters", async () => {
    const { facts: made } = facts();
    const claims = Array.from({ length: 20 }, () => made.claim(KEY));
    assert.equal(await claims[0], "ask");
    made.settle(KEY, "refused", null);
    assert.deepEqual(await Promise.all(claims.slice(1)), Array(19).fill("refused"));
  });

  it("are known by host: what a primary refuses its backup may accept", async () => {
    const { facts: made } = facts();
    await made.claim(KEY);
    made.settle(KEY, "refused", null);
    assert.equal(await made.claim(catchAllKey("example.test", "site", "backup.example.test")), "ask");
  });

  it("outlive the process when they are certain, for the time that is left and no longer", async () => {
    const first = facts();
    await first.facts.claim(KEY);
    first.facts.settle(KEY, "accepted", null);
    assert.deepEqual(first.stored.get(KEY), { answer: "accepted", ttlS: 12 * 3600 });
    const second = facts();
    second.stored.set(KEY, { answer: "refused", ttlS: 60 });
    assert.equal(await second.facts.claim(KEY), "refused");
    second.stored.clear();
    second.clock.advance(60_000);
    assert.equal(await second.facts.claim(KEY), "ask");
  });

  it("that are inconclusive stay here, and for minutes only", async () => {
    const { facts: made, stored, clock } = facts();
    await made.claim(KEY);
    made.settle(KEY, "inconclusive", null);
    assert.equal(stored.size, 0);
    assert.equal(await made.claim(KEY), "inconclusive");
    clock.advance(300_000);
    assert.equal(await made.claim(KEY), "ask");
  });

  it("that we failed to ask are forgotten at once, and delay no other check", async () => {
    const { facts: made, stored } = facts();
    await made.claim(KEY);
    const waiting = made.claim(KEY);
    made.abandon(KEY);
    assert.equal(await waiting, "not_probed");
    assert.equal(stored.size, 0);
    assert.equal(await made.claim(KEY), "ask");
  });
});

describe("catch-all addresses", () => {
  const MONDAY = Date.UTC(2026, 0, 5);

  it("are the same all week, so that greylisting lets them in, and then others", () => {
    const one = catchAllLocalPart("example.test", MONDAY, "probe.example");
    assert.equal(catchAllLocalPart("example.test", MONDAY + 3_600_000, "probe.example"), one);
    assert.notEqual(catchAllLocalPart("example.test", MONDAY + 8 * 86_400_000, "probe.example"), one);
  });

  it("differ by domain and by deployment, and are plain local parts", () => {
    const salts = ["probe.example", "probe.example.org"];
    const all = salts.flatMap((salt) =>
      ["a.test", "b.test"].map((domain) => catchAllLocalPart(domain, MONDAY, salt)),
    );
    assert.equal(new Set(all).size, 4);
    for (const local of all) assert.match(local, /^q[a-z0-9]{12,16}$/);
  });
});

describe("the meaning of a catch-all probe's reply", () => {
  it("only a refusal for the recipient's sake is one", () => {
    assert.equal(catchAllAnswerOf("accepted", false), "accepted");
    assert.equal(catchAllAnswerOf("mailbox_not_found", false), "refused");
    for (const reply of [
      "greylisted",
      "refused_by_policy",
      "sender_blocked",
      "timeout",
      "no_connect",
    ] as const)
      assert.equal(catchAllAnswerOf(reply, false), "inconclusive");
    for (const reply of ["greylisted", "smtp_protocol_error"] as const)
      assert.equal(catchAllAnswerOf(reply, true), "put_off");
  });
});
