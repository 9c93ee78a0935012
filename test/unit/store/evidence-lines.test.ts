import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SmtpEvidence } from "../../../src/check/evidence.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import type { CacheEntry } from "../../../src/store/cache-entry.ts";
import { EntryWriter } from "../../../src/store/evidence-lines.ts";
import { EntryReader } from "../../../src/store/evidence-shapes.ts";
import { encodeEntry, hash128 } from "../../../src/store/evidence-text.ts";
import type { RedisClient } from "../../../src/store/redis.ts";
import { evidenceWith, smtpWith } from "../../support/evidence.ts";
import fc from "../../support/properties.ts";

const NOW_MS = 1_800_000_000_000;

/** Parts as an engine hands them out: the same objects again and again, and now and then one made anew. */
const PARTS = [evidenceWith().mx, { ...evidenceWith().mx, hosts: ["mx\t1.test", "ü"], preferences: [0, 7] }];
const mx = fc.oneof(
  fc.constantFrom(...PARTS),
  fc.constantFrom(...PARTS).map((part) => ({ ...part })),
);
const none = evidenceWith().disposable;
const disposable = fc.oneof(fc.constant(none), fc.constant({ listed: true, source: "a\nlist" }));
const domain = fc.constantFrom(undefined, { spf: true, dmarc: null, listedBy: "x\ty", parkedAddress: false });
const odd = fc.oneof(
  fc.constantFrom("2.1.5 OK", "a\tb", "a\nrcpt:ev:p:x 9 1 2 3 4", '"},{"', "ü…"),
  fc.string(),
);

const smtp: fc.Arbitrary<SmtpEvidence | null> = fc.option(
  fc
    .record({
      latencyMs: fc.oneof(
        fc.nat(3),
        fc.constantFrom(0, 9_999_999, 1e21),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
      ),
      reply: odd,
      enhancedCode: fc.constantFrom(null, "5.1.1"),
      retryAfterS: fc.constantFrom(null, 7),
      mxHost: fc.constantFrom("mx1.test", "mx2.test"),
      catchAll: fc.constantFrom("refused" as const, "accepted" as const),
      more: fc.constantFrom(undefined, undefined, undefined, 1),
    })
    // A later build may have taught the evidence more than this one knows.
    .map(({ more, ...rest }) => ({ ...smtpWith(rest), ...(more === undefined ? {} : { more }) })),
);

const entry: fc.Arbitrary<CacheEntry> = fc
  .record({
    ...{ mx, disposable, domain, smtp, role: fc.constantFrom(null, "info"), freeProvider: fc.boolean() },
    ...{
      storedAt: fc.oneof(
        fc.nat(),
        fc.constant(NOW_MS),
        fc.nat(9).map((ms) => NOW_MS + ms),
      ),
      ttlS: fc.oneof(fc.nat(9), fc.constantFrom(1 / 3, 604_800, 1e12)),
    },
  })
  .map(({ storedAt, ttlS, domain: signals, ...rest }) => ({
    evidence: evidenceWith(signals === undefined ? rest : { ...rest, domain: signals }),
    storedAt,
    ttlS,
  }));

/** Redis, as far as the script and the reader need it: texts and how long they are kept. */
class Shelf {
  readonly texts = new Map<string, string>();
  readonly lifeS = new Map<string, number>();
  reads: string[][] = [];
  touched: string[] = [];

  /** What KEEP does. */
  keep([shapes = "", whole = "", ...packed]: readonly string[]): void {
    for (const [key, lifeS, text] of linesOf(shapes))
      this.#set(key, Math.max(lifeS, this.lifeS.get(key) ?? 0), text);
    for (const [key, lifeS, text] of linesOf(whole)) this.#set(key, lifeS, text);
    for (let at = 0; at < packed.length; at += 2) {
      const entries = packed[at + 1] ?? "";
      assert.equal(entries.length % 76, 0);
      for (let from = 0; from < entries.length; from += 76)
        this.#set(entries.slice(from, from + 32), Number(packed[at]), entries.slice(from + 32, from + 76));
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
  const reader = new EntryReader(shelf as unknown as RedisClient, clock);
  return async (names: readonly unknown[]) => {
    const texts = names.map((name) => shelf.texts.get(keyOf(name)) ?? null);
    await reader.learn(texts);
    return texts.map((text) => (text === null ? undefined : reader.decode(text)));
  };
}

const DOMAIN = evidenceWith();

/** Rows of a domain, alike but for how long its server took. */
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

describe("entries on their way to Redis", () => {
  it("are read as what they were, whatever they share and whatever was said, by who has nothing else", async () => {
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
          const text = shelf.texts.get(keyOf(i)) ?? assert.fail();
          const isShort = text.length >= 44 && !text.startsWith("{");
          assert.ok(isShort || text === encodeEntry(one), text);
          assert.equal(shelf.lifeS.get(keyOf(i)), Math.floor(one.ttlS));
          const isReadable = one.storedAt + one.ttlS * 1_000 <= 8.64e15;
          const json = JSON.parse(JSON.stringify(one)) as CacheEntry;
          if (isShort) assert.ok(isReadable);
          assert.deepEqual(found[i], isReadable ? json : undefined);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("are short from the second of a kind on; what they share goes once, and outlasts them", () => {
    const shelf = new Shelf();
    const writer = new EntryWriter();
    const args = writer.argumentsOf(alike(100), 0);
    // The exchangers' preferences are told once.
    const preferencesBytes = '"preferences":[10],'.length;
    assert.ok(args.join("").length < 100 * 85 + preferencesBytes, `${args.join("").length}`);
    shelf.keep(args);
    const [id = ""] = [...shelf.texts.keys()].filter((key) => key.startsWith("rcpt:es:"));
    assert.equal(shelf.texts.size, 101);
    assert.equal(shelf.texts.get(keyOf(0))?.startsWith("{"), true);
    assert.equal(shelf.texts.get(keyOf(1))?.length, 44);
    const { shapeAgainS } = LIMITS.evidenceCache;
    assert.equal(shelf.lifeS.get(id), 604_800 + shapeAgainS);
    const again = (nowMs: number) => linesOf(writer.argumentsOf(alike(2), nowMs)[0] ?? "").length;
    assert.deepEqual([again(1), again(shapeAgainS * 1_000), again(shapeAgainS * 1_000 + 1)], [0, 0, 1]);
    writer.forget();
    assert.deepEqual([again(shapeAgainS * 1_000 + 2)], [1]);
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
    return { lengths, shapes: shelf.texts.size - entries.length };
  };

  it("have a reply with an id of its own beside what they share", async () => {
    const replies = [
      "",
      "\n",
      '"',
      "ü",
      "}{",
      ...Array.from({ length: 50 }, (_, i) => `2.1.5 OK id-${i + 100}`),
    ];
    const { lengths, shapes } = await read(new EntryWriter(), saying(["OK id-0", ...replies]));
    assert.equal(shapes, 1);
    assert.deepEqual(
      lengths.slice(1),
      replies.map((reply) => 44 + JSON.stringify(reply).length),
    );
  });

  it("share a reply that comes again, also where others come between", async () => {
    const replies = Array.from({ length: 60 }, (_, i) => (i % 3 === 2 ? `id-${i}` : `said ${i % 3}`));
    const { lengths, shapes } = await read(new EntryWriter(), saying(replies));
    assert.equal(shapes, 2);
    const short = lengths.filter((length) => length === 44).length;
    assert.ok(short > 30, lengths.join(" "));
  });
});

describe("short entries", () => {
  async function kept() {
    const shelf = new Shelf();
    shelf.keep(new EntryWriter().argumentsOf(alike(3), 0));
    const [shapeKey = ""] = [...shelf.texts.keys()].filter((key) => key.startsWith("rcpt:es:"));
    return { shelf, shapeKey };
  }
  const known = (found: readonly unknown[]) => found.map((one) => one !== undefined);

  it("share their parts, and ask for what they share once", async () => {
    const { shelf, shapeKey } = await kept();
    const read = readerOf(shelf);
    const [, one, two] = await read([0, 1, 2]);
    await read([1, 2]);
    assert.deepEqual(shelf.reads, [[shapeKey]]);
    assert.equal(one?.evidence.mx, two?.evidence.mx);
    assert.deepEqual([one?.evidence.smtp?.latencyMs, two?.evidence.smtp?.latencyMs], [1, 2]);
  });

  it("are misses, and nothing else, where what they share is gone, damaged, or another's", async () => {
    for (const damage of [null, "", "{}", '{"v":2}', "x".repeat(44)]) {
      const { shelf, shapeKey } = await kept();
      if (damage === null) shelf.texts.delete(shapeKey);
      else shelf.texts.set(shapeKey, damage);
      const read = readerOf(shelf);
      assert.deepEqual(known(await read([0, 1, 2])), [true, false, false], String(damage));
    }
    const { shelf, shapeKey } = await kept();
    const other = shelf.texts.get(shapeKey)?.replace('"code":250', '"code":251') ?? "";
    shelf.texts.set(shapeKey, other);
    assert.deepEqual(known(await readerOf(shelf)([1])), [false]);
    // By its own name, but no evidence of this version.
    const odd = other.replace('"v":2', '"v":3');
    shelf.texts.set(`rcpt:es:${hash128(odd)}`, odd);
    shelf.texts.set(keyOf(1), hash128(odd) + (shelf.texts.get(keyOf(1)) ?? "").slice(22));
    assert.deepEqual(known(await readerOf(shelf)([1])), [false]);
  });

  it("that are damaged are misses, wherever", async () => {
    const { shelf } = await kept();
    const read = readerOf(shelf);
    const whole = shelf.texts.get(keyOf(1)) ?? "";
    const [good] = await read([1]);
    assert.ok(good);
    const bad = [
      whole.slice(1),
      `${whole} `,
      `${whole}"`,
      `${whole}"x`,
      `${whole}"\\x"`,
      `${whole}"x"y"`,
      `${whole}7`,
      `${whole}null`,
      whole.replace(/\d+ \d+ *$/, (rest) => "x".repeat(rest.length)),
      whole.replace(/\d+ \d+ *$/, (rest) => " ".repeat(rest.length)),
      // Without a latency, where a server was asked.
      whole.replace(/ \d+ *$/, (rest) => " ".repeat(rest.length)),
      `${whole.slice(0, 22)}!!!!!!!!${whole.slice(30)}`,
    ];
    for (const text of bad) {
      shelf.texts.set(keyOf(1), text);
      const [found] = await read([1]);
      assert.equal(found, undefined, text);
    }
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string({ minLength: 44, maxLength: 50 }),
          fc.string().map((said) => `${whole}${said}!`),
        ),
        async (text) => {
          shelf.texts.set(keyOf(1), text);
          assert.deepEqual(await read([1]), [undefined]);
        },
      ),
    );
  });

  it("whose shape is in use keep it among the latest used", async () => {
    const { shelf, shapeKey } = await kept();
    let nowMs = 0;
    const read = readerOf(shelf, { monotonic: () => nowMs });
    await read([1]);
    nowMs = LIMITS.evidenceCache.shapeToldMs - 1;
    await read([1]);
    assert.deepEqual(shelf.touched, []);
    nowMs += 1;
    await read([1, 2]);
    await read([1]);
    assert.deepEqual(shelf.touched, [shapeKey]);
  });
});
