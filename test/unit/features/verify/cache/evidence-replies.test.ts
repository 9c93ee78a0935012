import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { createEvidenceCache } from "../../../../../src/features/verify/cache/evidence-cache.ts";
import type { BatchCacheLookup } from "../../../../../src/features/verify/cache/evidence-lookup.ts";
import type { RedisClient } from "../../../../../src/stores/redis.ts";
import { EVIDENCE_CODEC } from "../../../../../src/verification/evidence/model.ts";
import { evidenceWith, smtpWith } from "../../../../support/evidence.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { silentLog } from "../../../../support/store.ts";

const KEY_CHARS = 32;
const PACKED_CHARS = KEY_CHARS + 60;

/** As much of Redis as the cache uses, in a Map. */
function fakeRedis(data: Map<string, string>): RedisClient {
  const keep = (lines: string) => {
    for (const [, key = "", text = ""] of lines.matchAll(/^(\S+) \d+ (.*)$/gm)) data.set(key, text);
  };
  const redis = {
    defineCommand() {},
    mget: async (keys: string[]) => keys.map((key) => data.get(key) ?? null),
    touch: async (keys: string[]) => keys.filter((key) => data.has(key)).length,
    exists: async (key: string) => (data.has(key) ? 1 : 0),
    set: async (key: string, text: string) => void data.set(key, text),
    async rcptKeepEvidence(_: number, parts: string, lines: string, ...short: string[]) {
      keep(parts);
      keep(lines);
      for (let i = 1; i < short.length; i += 2)
        for (let packed = short[i] as string; packed !== ""; packed = packed.slice(PACKED_CHARS))
          data.set(packed.slice(0, KEY_CHARS), packed.slice(KEY_CHARS, PACKED_CHARS));
    },
  };
  return redis as unknown as RedisClient;
}

/** One tick: writes of this tick are sent, and its reads are answered. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A cache over the data, and entries of one domain whose server puts an id of its own into each reply. */
function worldOf(data: Map<string, string>, count: number) {
  const clock = createFakeClock(1_800_000_000_000);
  const open = () =>
    createEvidenceCache({
      codec: EVIDENCE_CODEC,
      redis: fakeRedis(data),
      clock,
      log: silentLog,
      maxEntries: 1_000,
    });
  const deposits = Array.from({ length: count }, (_, i) => {
    const evidence = evidenceWith({ smtp: smtpWith({ reply: `250 Ok id=1a2b3c4d${i}x`, latencyMs: i }) });
    const entry = { evidence, storedAt: clock.now(), ttlS: 36_000 };
    return { scope: "probed" as const, cacheKey: `user${i}@one.test`, shared: true, entry };
  });
  return { clock, open, deposits };
}

describe("evidence of a domain whose replies carry an id each", () => {
  it("is short in Redis also where it is kept one by one, as each has what it shares by its id", async () => {
    const data = new Map<string, string>();
    const { open, deposits } = worldOf(data, 50);
    const cache = open();
    for (const { scope, cacheKey, entry, shared } of deposits) {
      cache.store(scope, cacheKey, entry, shared);
      await turn();
    }
    const entries = [...data].filter(([key]) => key.startsWith("rcpt:ev:"));
    assert.deepEqual([entries.length, data.size - entries.length], [50, 2]);
    const found = await open().fetchMany(deposits);
    assert.deepEqual(
      found,
      deposits.map(({ entry }) => entry),
    );
  });

  it("is put back what it shares, as it was, by who has read by it", async () => {
    const data = new Map<string, string>();
    const { clock, open, deposits } = worldOf(data, 50);
    open().storeMany(deposits);
    const parts = [...data].filter(([key]) => key.startsWith("rcpt:es:"));
    assert.equal(parts.length, 2);
    const reader = open();
    const asked = deposits.slice(10, 20);
    const found = await reader.fetchMany(asked);
    assert.deepEqual(
      found,
      asked.map(({ entry }) => entry),
    );
    const [one] = found;
    assert.ok(one !== undefined);
    reader.store("probed", "again@one.test", one, true);
    await turn();
    for (const [key] of parts) data.delete(key);
    clock.advance(LIMITS.evidenceCache.partRefreshMs);
    await reader.fetchMany(asked);
    await turn();
    for (const [key, text] of parts) assert.equal(data.get(key), text);
  });
});

describe("what Redis has nothing of", () => {
  it("is a miss, and so is what it could not be asked for", async () => {
    const data = new Map<string, string>();
    const redis = fakeRedis(data);
    const cache = createEvidenceCache({
      codec: EVIDENCE_CODEC,
      redis,
      clock: createFakeClock(),
      log: silentLog,
      maxEntries: 10,
    });
    const asked: BatchCacheLookup[] = [{ scope: "probed", cacheKey: "a@one.test" }];
    assert.deepEqual(await cache.fetchMany(asked), [undefined]);
    redis.mget = () => Promise.reject(new Error("the connection is closed"));
    assert.deepEqual(await cache.fetchMany(asked), [undefined]);
  });
});
