// Alone in its process: it measures memory.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import type { CacheEntry } from "../../../../../src/features/verify/cache/cache-entry.ts";
import { EvidenceMemory } from "../../../../../src/features/verify/cache/evidence-memory.ts";
import { type Evidence, evidenceBut } from "../../../../../src/verification/evidence.ts";
import { evidenceWith, smtpWith } from "../../../../support/evidence.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import fc from "../../../../support/properties.ts";

const { memoryMs } = LIMITS.evidenceCache;

/** As checks tell it: what addresses of a domain have in common is one object. */
const shared = [evidenceWith(), evidenceWith({ freeProvider: true })];
const smtp = fc
  .record({
    class: fc.constantFrom("accepted" as const, "mailbox_not_found" as const),
    reply: fc.constantFrom("250 Ok", "250 Ok id=1a2b3c4d17", "550 5.1.1 no such user"),
    latencyMs: fc.constantFrom(0, 3, 7, 1.5, -1, 5_000_000_000),
    catchAll: fc.constantFrom("refused" as const, "accepted" as const),
  })
  .map(smtpWith);
const evidence: fc.Arbitrary<Evidence> = fc
  .tuple(fc.constantFrom(...shared), fc.constantFrom(null, "info"), fc.option(smtp))
  .map(([of, role, probe]) =>
    role === null && probe === null ? of : evidenceBut(of, { role, smtp: probe }),
  );

const step = fc.oneof(
  fc.record({
    deed: fc.constant("keep" as const),
    key: fc.nat(6),
    evidence,
    ttlS: fc.constantFrom(0.5, 60, 3_600),
  }),
  fc.record({ deed: fc.constantFrom("look" as const, "drop" as const, "again" as const), key: fc.nat(6) }),
  fc.record({ deed: fc.constant("wait" as const), ms: fc.constantFrom(1, 400, memoryMs / 2, memoryMs) }),
);

/** Some begin as those of the unprobed do. */
const keyOf = (n: number) => `${n % 2 === 0 ? " " : ""}user${n}@one.test`;

describe("the memory of evidence", () => {
  it("has of each address what was kept last, as entries would", () => {
    const check = (steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[]) => {
      const clock = createFakeClock();
      // It grows twice.
      const memory = new EvidenceMemory(100, clock, 2);
      const model = new Map<number, { entry: CacheEntry; seenMs: number }>();
      const seen = () => {
        for (let n = 0; n <= 6; n++) {
          const known = model.get(n);
          const { entry, seenMs = 0 } = known ?? {};
          const isAlive = entry !== undefined && entry.storedAt + entry.ttlS * 1_000 > clock.now();
          const wanted = isAlive && clock.monotonic() - seenMs < memoryMs ? entry : undefined;
          assert.deepEqual(memory.peek(keyOf(n)), wanted);
        }
      };
      for (const one of steps) {
        if (one.deed === "wait") clock.advance(one.ms);
        else if (one.deed === "look") seen();
        else if (one.deed === "drop") {
          memory.drop(keyOf(one.key));
          model.delete(one.key);
        } else if (one.deed === "again") {
          const there = memory.get(keyOf(one.key));
          assert.deepEqual(there, model.get(one.key)?.entry);
          if (there === undefined) continue;
          memory.keep(keyOf(one.key), there);
          model.set(one.key, { entry: there, seenMs: clock.monotonic() });
        } else if (one.deed === "keep") {
          const entry = { evidence: one.evidence, storedAt: clock.now(), ttlS: one.ttlS };
          memory.keep(keyOf(one.key), entry);
          model.set(one.key, { entry, seenMs: clock.monotonic() });
        }
      }
      seen();
    };
    fc.assert(fc.property(fc.array(step, { maxLength: 40 }), check), { numRuns: 300 });
  });

  const entryAt = (storedAt: number, latencyMs = 1): CacheEntry => {
    return { evidence: evidenceWith({ smtp: smtpWith({ latencyMs }) }), storedAt, ttlS: 60 };
  };

  it("returns one and the same entry, until there is another", () => {
    const clock = createFakeClock();
    const memory = new EvidenceMemory(10, clock);
    memory.keep("a", entryAt(clock.now()));
    memory.peek("a");
    const entry = memory.peek("a");
    assert.ok(entry !== undefined);
    assert.equal(memory.peek("a"), entry);
    memory.keep("a", entry);
    assert.equal(memory.peek("a"), entry, "it was found to be the newest again");
    memory.keep("a", entryAt(clock.now(), 2));
    assert.equal(memory.peek("a")?.evidence.smtp?.latencyMs, 2);
  });

  it("has nothing of what was evicted, has ended, or may not be the newest any more", () => {
    const clock = createFakeClock();
    const memory = new EvidenceMemory(2, clock);
    memory.keep("short", { ...entryAt(clock.now()), ttlS: 0.1 });
    memory.keep("a", { ...entryAt(clock.now()), ttlS: 1e9 });
    for (const key of ["short", "a"])
      assert.ok(memory.peek(key) !== undefined && memory.peek(key) !== undefined);
    clock.advance(100);
    assert.deepEqual([memory.peek("short"), memory.peek("a") === undefined], [undefined, false]);
    clock.advance(memoryMs - 100);
    assert.equal(memory.peek("a"), undefined);
    for (const key of ["c", "d", "e", "f"]) memory.keep(key, entryAt(clock.now()));
    assert.deepEqual([memory.get("a"), memory.get("short")], [undefined, undefined]);
  });

  it("has one object for evidence that is alike, however many have it", () => {
    const clock = createFakeClock();
    const memory = new EvidenceMemory(10, clock);
    for (let n = 0; n < 5; n++) memory.keep(keyOf(n), entryAt(clock.now(), n));
    const alike = Array.from({ length: 5 }, (_, n) => memory.peek(keyOf(n))?.evidence.shared());
    assert.equal(new Set(alike).size, 1);
  });

  it("has room for all entries from the start, since to make it while it is used holds all else up", () => {
    const clock = createFakeClock();
    const memory = new EvidenceMemory(20_000, clock);
    const entry = entryAt(clock.now());
    const before = process.memoryUsage().arrayBuffers;
    for (let n = 0; n < 20_000; n++) memory.keep(keyOf(n), entry);
    assert.ok(process.memoryUsage().arrayBuffers - before < 100_000);
  });

  it("stores no malformed evidence", () => {
    const clock = createFakeClock();
    const memory = new EvidenceMemory(2, clock);
    const odd = { ...entryAt(clock.now()), evidence: null as never };
    for (const key of ["a", "b", "c"]) assert.throws(() => memory.keep(key, odd), TypeError);
    assert.equal(memory.get("c"), undefined);
    memory.keep("d", entryAt(clock.now()));
    assert.equal(memory.get("d")?.ttlS, 60);
  });
});
