import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import type { CacheEntry } from "../../../../../src/features/verify/cache/cache-entry.ts";
import { EntryReader } from "../../../../../src/features/verify/cache/evidence-reader.ts";
import { EntryWriter } from "../../../../../src/features/verify/cache/evidence-writer.ts";
import { hash128 } from "../../../../../src/platform/ids.ts";
import type { RedisClient } from "../../../../../src/stores/redis.ts";
import { EVIDENCE_CODEC } from "../../../../../src/verification/evidence/model.ts";
import type { SmtpEvidence } from "../../../../../src/verification/evidence.ts";
import { evidenceWith, smtpWith } from "../../../../support/evidence.ts";
import fc from "../../../../support/properties.ts";

const NOW_MS = 1_800_000_000_000;

const PARTS = [evidenceWith().mx, { ...evidenceWith().mx, hosts: ["mx\t1.test", "ü"], preferences: [0, 7] }];
const odd = fc.oneof(
  fc.constantFrom(
    "2.1.5 OK",
    "a\tb",
    "OK 1a2b3c4d5e\nrcpt:ev:p:x 9 1 2 3 4",
    '"},{"',
    "ü…",
    "\u2028 9f8e7d6c5b",
  ),
  fc.string(),
);

const smtp: fc.Arbitrary<SmtpEvidence | null> = fc.option(
  fc
    .record({
      latencyMs: fc.oneof(
        fc.nat(3),
        fc.constantFrom(0, 9_999_999, 1e21),
        fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Object.is(value, -0)),
      ),
      reply: odd,
      enhancedCode: fc.constantFrom(null, "5.1.1"),
      retryAfterS: fc.constantFrom(null, 7),
      mxHost: fc.constantFrom("mx1.test", "mx2.test"),
      catchAll: fc.constantFrom("refused" as const, "accepted" as const),
    })
    .map(smtpWith),
);

const entry: fc.Arbitrary<CacheEntry> = fc
  .record({
    mx: fc.constantFrom(...PARTS),
    disposable: fc.constantFrom({ listed: false, source: "none" }, { listed: true, source: "a\nlist" }),
    domain: fc.constantFrom(undefined, { spf: true, dmarc: null, listedBy: "x\ty", parkedAddress: false }),
    smtp,
    role: fc.constantFrom(null, "info"),
    freeProvider: fc.boolean(),
    storedAt: fc.oneof(
      fc.nat(),
      fc.constant(NOW_MS),
      fc.nat(9).map((ms) => NOW_MS + ms),
    ),
    ttlS: fc.oneof(fc.nat(9), fc.constantFrom(1 / 3, 604_800, 1e12)),
  })
  .map(({ storedAt, ttlS, ...parts }) => ({ evidence: evidenceWith(parts), storedAt, ttlS }));

/** Redis, as far as the script and the reader need it: texts with their TTL. */
class Shelf {
  readonly texts = new Map<string, string>();
  readonly lifeS = new Map<string, number>();
  reads: string[][] = [];
  touched: string[] = [];

  /** Does what the script KEEP does. */
  keep([parts = "", whole = "", ...packed]: readonly string[]): void {
    for (const [key, lifeS, text] of linesOf(parts))
      this.#set(key, Math.max(lifeS, this.lifeS.get(key) ?? 0), text);
    for (const [key, lifeS, text] of linesOf(whole)) this.#set(key, lifeS, text);
    for (let at = 0; at < packed.length; at += 2) {
      const entries = packed[at + 1] ?? "";
      assert.equal(entries.length % 92, 0);
      for (let from = 0; from < entries.length; from += 92)
        this.#set(entries.slice(from, from + 32), Number(packed[at]), entries.slice(from + 32, from + 92));
    }
  }

  #set(key: string, lifeS: number, text: string): void {
    this.texts.set(key, text);
    this.lifeS.set(key, lifeS);
  }

  mget = async (keys: string[]) => {
    this.reads.push(keys);
    return keys.map((key) => this.texts.get(key) ?? null);
  };

  touch = async (keys: string[]) => {
    this.touched.push(...keys);
    return keys.filter((key) => this.texts.has(key)).length;
  };
}

function linesOf(text: string): [string, number, string][] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [, key = "", lifeS = "", rest = ""] = /^(\S+) (\d+) ([^\n]*)$/.exec(line) ?? assert.fail(line);
      return [key, Number(lifeS), rest];
    });
}

const keyOf = (name: unknown) => `rcpt:ev:p:${hash128(String(name))}`;

function readerOf(shelf: Shelf, clock = { monotonic: () => 0 }) {
  const reader = new EntryReader({
    redis: shelf as unknown as RedisClient,
    clock,
    codec: EVIDENCE_CODEC,
    writes: true,
  });
  return async (names: readonly unknown[]) => {
    const texts = names.map((name) => shelf.texts.get(keyOf(name)) ?? null);
    await reader.learn(texts);
    return texts.map((text) => (text === null ? undefined : reader.decode(text)));
  };
}

const DOMAIN = evidenceWith();
const smtpText = JSON.stringify(smtpWith());

/** Rows of one domain that differ only in the latency of its server. */
function alike(count: number) {
  const { mx, disposable } = DOMAIN;
  return Array.from({ length: count }, (_, i) => ({
    redisKey: keyOf(i),
    entry: {
      evidence: evidenceWith({ mx, disposable, smtp: smtpWith({ latencyMs: i }) }),
      storedAt: NOW_MS,
      ttlS: 604_800,
    },
  }));
}

describe("entries in transit to Redis", () => {
  it("are read as they were, whatever they share and reply, by a process with an empty memory", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(entry, { maxLength: 12 }), { maxLength: 3 }), async (writes) => {
        const shelf = new Shelf();
        const writer = new EntryWriter();
        const wanted: CacheEntry[] = [];
        for (const entries of writes) {
          const keyed = entries.map((one, i) => ({ redisKey: keyOf(wanted.length + i), entry: one }));
          wanted.push(...entries);
          shelf.keep(writer.argumentsOf(keyed, 0));
        }
        const found = await readerOf(shelf)([...wanted.keys()]);
        for (const [i, one] of wanted.entries()) {
          assert.equal(shelf.lifeS.get(keyOf(i)), Math.floor(one.ttlS));
          const isReadable = one.storedAt + one.ttlS * 1_000 <= 8.64e15;
          assert.deepEqual(found[i], isReadable ? one : undefined);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("are short; what they share goes once, and outlasts them", () => {
    const shelf = new Shelf();
    const writer = new EntryWriter();
    const args = writer.argumentsOf(alike(100), 0);
    const { facts, finding } = DOMAIN;
    const sharedChars = facts.text.length + finding.text.length + smtpText.length + 100;
    assert.ok(args.join("").length < 100 * 92 + sharedChars, `${args.join("").length}`);
    shelf.keep(args);
    const ids = [...shelf.texts.keys()].filter((key) => key.startsWith("rcpt:es:"));
    assert.deepEqual([shelf.texts.size, ids.length], [102, 2]);
    for (let i = 0; i < 100; i++) assert.equal(shelf.texts.get(keyOf(i))?.length, 60);
    const { partRefreshS } = LIMITS.evidenceCache;
    for (const id of ids) assert.equal(shelf.lifeS.get(id), 604_800 + partRefreshS);
    const again = (nowMs: number) => linesOf(writer.argumentsOf(alike(2), nowMs)[0] ?? "").length;
    assert.deepEqual([again(1), again(partRefreshS * 1_000), again(partRefreshS * 1_000 + 1)], [0, 0, 2]);
    writer.forget();
    assert.deepEqual([again(partRefreshS * 1_000 + 2)], [2]);
  });

  const saying = (replies: readonly string[]) => {
    const { mx, disposable } = evidenceWith();
    return alike(replies.length).map(({ redisKey, entry: one }, i) => {
      const evidence = evidenceWith({
        mx,
        disposable,
        smtp: smtpWith({ latencyMs: i, reply: replies[i] ?? "" }),
      });
      return { redisKey, entry: { ...one, evidence } };
    });
  };
  const read = async (writer: EntryWriter, entries: ReturnType<typeof saying>) => {
    const shelf = new Shelf();
    shelf.keep(writer.argumentsOf(entries, 0));
    const found = await readerOf(shelf)([...entries.keys()]);
    assert.deepEqual(
      found,
      entries.map(({ entry: one }) => one),
    );
    const lengths = entries.map((_, i) => shelf.texts.get(keyOf(i))?.length ?? 0);
    return { lengths, parts: shelf.texts.size - entries.length };
  };

  it("have a reply with an id of its own beside what they share", async () => {
    const replies = Array.from({ length: 50 }, (_, i) => `2.1.5 OK "ü"\n${i}-1a2b3c4d5e`);
    const { lengths, parts } = await read(new EntryWriter(), saying(replies));
    assert.equal(parts, 2);
    assert.deepEqual(
      lengths,
      replies.map((reply) => 60 + JSON.stringify(reply).length),
    );
  });

  it("share a reply that comes again, also where others come between", async () => {
    const replies = Array.from({ length: 60 }, (_, i) =>
      i % 3 === 2 ? `OK 1a2b3c4d${i}` : `said ${i % 3} \n"}{`,
    );
    const { lengths, parts } = await read(new EntryWriter(), saying(replies));
    // The facts, both replies, and what those with an id have without it.
    assert.equal(parts, 4);
    assert.equal(lengths.filter((length) => length === 60).length, 40);
  });
});

describe("entries in Redis", () => {
  async function kept() {
    const shelf = new Shelf();
    shelf.keep(new EntryWriter().argumentsOf(alike(3), 0));
    const partKeys = [...shelf.texts.keys()].filter((key) => key.startsWith("rcpt:es:"));
    assert.equal(partKeys.length, 2);
    return { shelf, partKeys };
  }
  const known = (found: readonly unknown[]) => found.map((one) => one !== undefined);

  it("share their parts, and ask for what they share once", async () => {
    const { shelf, partKeys } = await kept();
    const read = readerOf(shelf);
    const [, one, two] = await read([0, 1, 2]);
    await read([1, 2]);
    assert.deepEqual(shelf.reads, [partKeys]);
    assert.equal(one?.evidence.facts, two?.evidence.facts);
    assert.equal(one?.evidence.finding, two?.evidence.finding);
    assert.deepEqual([one?.evidence.smtp?.latencyMs, two?.evidence.smtp?.latencyMs], [1, 2]);
  });

  it("are misses, and nothing else, where a part of them is gone, damaged, or another's", async () => {
    for (const damage of [null, "", "{}", '{"v":2}', "x".repeat(60)])
      for (const part of [0, 1]) {
        const { shelf, partKeys } = await kept();
        const key = partKeys[part] ?? "";
        if (damage === null) shelf.texts.delete(key);
        else shelf.texts.set(key, damage);
        assert.deepEqual(known(await readerOf(shelf)([0, 1, 2])), [false, false, false], String(damage));
      }
    const { shelf, partKeys } = await kept();
    const [, findingKey = ""] = partKeys;
    const other = shelf.texts.get(findingKey)?.replace('"code":250', '"code":251') ?? "";
    shelf.texts.set(findingKey, other);
    assert.deepEqual(known(await readerOf(shelf)([1])), [false]);
    // By its own name, but with a value that this build does not know.
    const odd = other.replace('"accepted"', '"welcomed"');
    shelf.texts.set(`rcpt:es:${hash128(odd)}`, odd);
    const record = shelf.texts.get(keyOf(1)) ?? "";
    shelf.texts.set(keyOf(1), record.slice(0, 22) + hash128(odd) + record.slice(44));
    assert.deepEqual(known(await readerOf(shelf)([1])), [false]);
    // One part in the place of the other, and twice.
    const [facts, finding] = [record.slice(0, 22), record.slice(22, 44)];
    for (const ids of [finding + facts, facts + facts, finding + finding]) {
      shelf.texts.set(keyOf(1), ids + record.slice(44));
      assert.deepEqual(known(await readerOf(shelf)([1])), [false]);
    }
  });

  it("that are damaged are misses, wherever", async () => {
    const { shelf } = await kept();
    const read = readerOf(shelf);
    const whole = shelf.texts.get(keyOf(1)) ?? "";
    const [good] = await read([1]);
    assert.ok(good);
    const bad = [
      whole.slice(1),
      whole.slice(0, 51),
      `${whole}"`,
      `${whole}"x`,
      `${whole}"\\x"`,
      `${whole}"x"y"`,
      `${whole}7`,
      `${whole}null`,
      `${whole.slice(0, 52)}${" ".repeat(8)}`,
      `${whole.slice(0, 52)}=1e999 1`,
      `${whole.slice(0, 52)}=-1 1`,
      `${whole.slice(0, 52)}=1-1 1`,
      `${whole.slice(0, 52)}1 =`,
      `${whole.slice(0, 52)}zzzzzzzzzz 1`,
      `${whole.slice(0, 22)}!!!!!!!!${whole.slice(30)}`,
      `${whole.slice(0, 44)}!!!!!!!!${whole.slice(52)}`,
    ];
    for (const text of bad) {
      shelf.texts.set(keyOf(1), text);
      const [found] = await read([1]);
      assert.equal(found, undefined, text);
    }
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string({ minLength: 44, maxLength: 70 }),
          fc.string().map((said) => `${whole}${said}!`),
          fc.string().map((said) => `${whole.slice(0, 44)}${said}!`),
        ),
        async (text) => {
          shelf.texts.set(keyOf(1), text);
          assert.deepEqual(await read([1]), [undefined]);
        },
      ),
    );
  });

  it("whose parts are in use keep them among the latest used", async () => {
    const { shelf, partKeys } = await kept();
    let nowMs = 0;
    const read = readerOf(shelf, { monotonic: () => nowMs });
    await read([1]);
    nowMs = LIMITS.evidenceCache.partRefreshMs - 1;
    await read([1]);
    assert.deepEqual(shelf.touched, []);
    nowMs += 1;
    await read([1, 2]);
    await read([1]);
    assert.deepEqual(shelf.touched, partKeys);
  });
});
