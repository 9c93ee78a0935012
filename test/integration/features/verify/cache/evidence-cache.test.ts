import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import {
  createEvidenceCache,
  type EvidenceCache,
} from "../../../../../src/features/verify/cache/evidence-cache.ts";
import type { BatchCacheLookup } from "../../../../../src/features/verify/cache/evidence-lookup.ts";
import { withoutDistrusted } from "../../../../../src/features/verify/cache/trusted-cache.ts";
import { hash128 } from "../../../../../src/platform/ids.ts";
import { createLog } from "../../../../../src/platform/log.ts";
import { systemClock } from "../../../../../src/platform/time/clock.ts";
import { EVIDENCE_CODEC } from "../../../../../src/verification/evidence/model.ts";
import { siteOf } from "../../../../../src/verification/lists/site.ts";
import { testRedisUrl } from "../../../../support/embedded.ts";
import { evidenceWith, smtpWith } from "../../../../support/evidence.ts";
import { cacheOf, countCalls, deposit, EVIDENCE, questions } from "../../../../support/evidence-cache.ts";
import { openGatedRedis, openRedis, silentLog } from "../../../../support/store.ts";
import { createTcpGate } from "../../../../support/tcp-gate.ts";

const names = (count: number) => Array.from({ length: count }, (_, i) => `a${i}@one.test`);

describe("evidence of many addresses", () => {
  it("is written and read in a round trip each, and one for what it shares, and is another process's too", async (t) => {
    const url = await testRedisUrl();
    const writer = (await openRedis(t, url)).commands;
    const reader = (await openRedis(t, url)).commands;
    const wrote = countCalls(t, writer);
    const read = countCalls(t, reader);
    const keys = names(LIMITS.evidenceCache.entriesPerWrite);
    cacheOf(writer).storeMany(keys.map((key) => deposit(key)));
    // Behind the write on the same connection.
    await writer.ping();
    const asked: BatchCacheLookup[] = questions([...keys, "nobody@one.test"]);
    const found = await cacheOf(reader).fetchMany(asked);
    assert.equal(found.filter((entry) => entry?.evidence.isLike(EVIDENCE)).length, keys.length);
    assert.equal(found.at(-1), undefined);
    assert.deepEqual([wrote.writes, read.mget], [[keys.length], [keys.length + 1, 2]]);
  });

  it("that requests of one turn ask about and keep one by one is a round trip each, too", async (t) => {
    const url = await testRedisUrl();
    const writer = (await openRedis(t, url)).commands;
    const reader = (await openRedis(t, url)).commands;
    const wrote = countCalls(t, writer);
    const read = countCalls(t, reader);
    const ours = cacheOf(writer);
    const keys = names(20);
    const of = (key: string) =>
      deposit(key, { entry: { evidence: evidenceWith({ role: key }), storedAt: Date.now(), ttlS: 60 } });
    for (const { scope, cacheKey, entry, shared } of keys.map(of)) ours.store(scope, cacheKey, entry, shared);
    assert.equal(ours.peek("probed", "a0@one.test")?.evidence.role, "a0@one.test", "kept here at once");
    await new Promise((resolve) => setImmediate(resolve));
    await writer.ping();
    const theirs = cacheOf(reader);
    const found = await Promise.all([...keys, "nobody@one.test"].map((key) => theirs.fetch("probed", key)));
    assert.deepEqual(
      found.map((entry) => entry?.evidence.role),
      [...keys, undefined],
    );
    assert.deepEqual([wrote.writes, read.mget], [[keys.length], [keys.length + 1, keys.length + 1]]);
  });

  it("is cut into calls of bounded size, and comes back in order", async (t) => {
    const { commands } = await openRedis(t);
    const calls = countCalls(t, commands);
    const keys = names(LIMITS.evidenceCache.keysPerCall + 1);
    const cache = cacheOf(commands);
    const last = keys.at(-1) ?? "";
    cache.storeMany([deposit(last)]);
    const found = await cache.fetchMany(questions(keys));
    assert.deepEqual(
      found.flatMap((entry, i) => (entry === undefined ? [] : [keys[i]])),
      [last],
    );
    assert.deepEqual(calls.mget, [LIMITS.evidenceCache.keysPerCall, 1, 2]);
  });

  it("keeps scopes apart, leaves here what is ours alone, and keeps nothing without a lifetime", async (t) => {
    const url = await testRedisUrl();
    const { commands } = await openRedis(t, url);
    const cache = cacheOf(commands);
    const entry = { evidence: EVIDENCE, storedAt: Date.now(), ttlS: 0 };
    cache.storeMany([
      deposit("shared@one.test"),
      deposit("ours@one.test", { shared: false }),
      deposit("short@one.test", { entry }),
    ]);
    await commands.ping();
    const keys = questions(["shared@one.test", "ours@one.test", "short@one.test"]);
    const known = (found: unknown[]) => found.map((one) => one !== undefined);
    assert.deepEqual(known(await cache.fetchMany(keys)), [true, true, false]);
    const elsewhere = cacheOf((await openRedis(t, url)).commands);
    assert.deepEqual(known(await elsewhere.fetchMany(keys)), [true, false, false]);
    const unprobed = [{ scope: "unprobed" as const, cacheKey: "shared@one.test" }];
    assert.deepEqual(known(await elsewhere.fetchMany(unprobed)), [false]);
  });

  it("is kept under its own key whatever a server said in it, for a whole number of seconds", async (t) => {
    const url = await testRedisUrl();
    const { commands } = await openRedis(t, url);
    const forged = 'rcpt:ev:p:forged 60 {"evidence":';
    const replies = [forged, `x\n${forged}`, `x\r\n${forged}\r\n`, `\u2028${forged}\0`, "\\n\n\n", " 1 2 3 "];
    const entries = replies.map((reply, i) => ({
      evidence: evidenceWith({ smtp: smtpWith({ reply }), role: i % 2 === 0 ? reply : null }),
      storedAt: Date.now(),
      ttlS: 60 + i / 7,
    }));
    cacheOf(commands).storeMany(entries.map((entry, i) => deposit(`a${i}@said.test`, { entry })));
    cacheOf(commands).storeMany([
      deposit("short@said.test", { entry: { evidence: EVIDENCE, storedAt: Date.now(), ttlS: 0.9 } }),
      deposit("behind@said.test"),
    ]);
    await commands.ping();
    const keys = replies.map((_, i) => `a${i}@said.test`);
    const found = await cacheOf(commands).fetchMany(
      questions([...keys, "short@said.test", "behind@said.test"]),
    );
    assert.deepEqual(found.slice(0, replies.length), entries);
    assert.deepEqual(
      found.slice(replies.length).map((entry) => entry !== undefined),
      [false, true],
    );
    assert.equal(await commands.exists("rcpt:ev:p:forged"), 0);
    const names = await commands.keys("rcpt:ev:*");
    assert.equal(names.length, replies.length + 1, names.join(" "));
    for (const name of names) assert.ok((await commands.ttl(name)) > 0);
  });

  it("is what memory has while Redis is down or silent, and fails no request", async (t) => {
    const url = await testRedisUrl();
    const gate = await createTcpGate(url);
    t.after(() => gate.close());
    const { commands } = await openGatedRedis(t, url, gate);
    const cache = cacheOf(commands);
    gate.stall();
    cache.storeMany([deposit("a@one.test")]);
    const keys = questions(["a@one.test", "b@one.test"]);
    const known = (found: unknown[]) => found.map((one) => one !== undefined);
    assert.deepEqual(known(await cache.fetchMany(keys)), [true, false]);
    const closed = once(commands, "close");
    gate.shut();
    await closed;
    cache.storeMany([deposit("b@one.test")]);
    assert.deepEqual(known(await cache.fetchMany(keys)), [true, true]);
  });
});

describe("a damaged entry, or a callback that throws", () => {
  /** Looks up all addresses in one tick; records each answer, in order. */
  function askAll(cache: Pick<EvidenceCache, "look">, cacheKeys: readonly string[]) {
    const told: [string, boolean][] = [];
    return new Promise<typeof told>((resolve) => {
      for (const cacheKey of cacheKeys)
        cache.look({
          scope: "probed",
          cacheKey,
          found(entry) {
            told.push([cacheKey, entry !== undefined]);
            if (told.length === cacheKeys.length) resolve(told);
            if (cacheKey.startsWith("breaks")) throw new Error("broken on purpose");
          },
        });
    });
  }

  it("is a miss of its own address, while the process has learned behaviour too", async (t) => {
    const { commands } = await openRedis(t);
    const text = `{"evidence":{"v":2,"smtp":{"class":"mailbox_not_found"}},"storedAt":${Date.now()},"ttlS":60}`;
    await commands.set(`rcpt:ev:p:${hash128("damaged@one.test")}`, text, "EX", 60);
    cacheOf(commands).storeMany([deposit("whole@one.test")]);
    const seen = withoutDistrusted(cacheOf(commands), {
      learnedBehaviour: { behaviourOf: () => null, size: 1 },
      sites: { siteOf },
      selfCheck: { doubts: () => false },
      log: silentLog,
    });
    const wanted = [
      ["damaged@one.test", false],
      ["whole@one.test", true],
    ];
    const keys = ["damaged@one.test", "whole@one.test"];
    assert.deepEqual(await askAll(seen, keys), wanted);
    assert.equal(seen.peek("probed", "damaged@one.test"), undefined);
    const many = await cacheOf(commands).fetchMany(questions(keys));
    assert.deepEqual(
      many.map((entry) => entry !== undefined),
      [false, true],
    );
  });

  it("takes nothing from the others of its turn", async (t) => {
    const { commands } = await openRedis(t);
    const errors: string[] = [];
    const log = createLog("error", {}, { write: (line: string) => void errors.push(line) });
    // The clock is read first for the first address: its look-up fails.
    let looks = 0;
    const clock = {
      ...systemClock,
      now() {
        looks += 1;
        if (looks === 1) throw new Error("no time");
        return systemClock.now();
      },
    };
    const cache = createEvidenceCache({ codec: EVIDENCE_CODEC, redis: commands, clock, log, maxEntries: 10 });
    cacheOf(commands).storeMany(["unread", "breaks", "whole"].map((name) => deposit(`${name}@one.test`)));
    await commands.ping();
    assert.deepEqual(await askAll(cache, ["unread@one.test", "breaks@one.test", "whole@one.test"]), [
      ["unread@one.test", false],
      ["breaks@one.test", true],
      ["whole@one.test", true],
    ]);
    const messages = errors.map((line) => (JSON.parse(line) as { msg: string }).msg);
    assert.deepEqual(messages, [
      "an entry of the evidence cache could not be read",
      "evidence cache callback threw",
    ]);
  });
});
