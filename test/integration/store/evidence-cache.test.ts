import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it, type TestContext } from "node:test";
import { siteOf } from "../../../src/check/site.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import { createLog } from "../../../src/core/log.ts";
import { withoutDisbelieved } from "../../../src/services/verify/believing.ts";
import {
  type CacheDeposit,
  createEvidenceCache,
  type EvidenceCache,
} from "../../../src/store/evidence-cache.ts";
import { decodeEntry, hash128 } from "../../../src/store/evidence-text.ts";
import type { RedisClient } from "../../../src/store/redis.ts";
import { testRedisUrl } from "../../support/embedded.ts";
import { evidenceWith, smtpWith } from "../../support/evidence.ts";
import { openRedis, silentLog } from "../../support/store.ts";
import { createTcpGate, throughGate } from "../../support/tcp-gate.ts";

const EVIDENCE = evidenceWith();

const cacheOf = (redis: RedisClient) =>
  createEvidenceCache({ redis, clock: systemClock, log: silentLog, maxEntries: 10_000 });

function deposit(cacheKey: string, over: Partial<CacheDeposit> = {}): CacheDeposit {
  const entry = { evidence: EVIDENCE, storedAt: Date.now(), ttlS: 60 };
  return { scope: "probed", cacheKey, entry, shared: true, ...over };
}

/** How often the client asked, and how much at once. */
function countCalls(t: TestContext, redis: RedisClient) {
  const calls = { mget: [] as number[], writes: [] as number[] };
  const { mget } = redis;
  t.mock.method(redis, "mget", (keys: string[]) => {
    calls.mget.push(keys.length);
    return mget.call(redis, keys);
  });
  const { defineCommand } = redis;
  t.mock.method(redis, "defineCommand", (...definition: Parameters<typeof defineCommand>) => {
    defineCommand.apply(redis, definition);
    const scripted = redis as RedisClient &
      Record<string, (keys: number, ...entries: string[]) => Promise<unknown>>;
    const run = scripted[definition[0]];
    assert.ok(run !== undefined);
    t.mock.method(scripted, definition[0], (keys: number, ...entries: string[]) => {
      calls.writes.push(entries.join("").split("rcpt:ev:").length - 1);
      return run.call(redis, keys, ...entries);
    });
  });
  return calls;
}

const names = (count: number) => Array.from({ length: count }, (_, i) => `a${i}@one.test`);
const questions = (keys: readonly string[]) =>
  keys.map((cacheKey) => ({ scope: "probed" as const, cacheKey }));

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
    const found = await cacheOf(reader).fetchMany(questions([...keys, "nobody@one.test"]));
    assert.equal(found.filter((entry) => entry?.evidence.v === 2).length, keys.length);
    assert.equal(found.at(-1), undefined);
    assert.deepEqual([wrote.writes, read.mget], [[keys.length], [keys.length + 1, 1]]);
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
    assert.deepEqual([wrote.writes, read.mget], [[keys.length], [keys.length + 1]]);
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
    assert.deepEqual(calls.mget, [LIMITS.evidenceCache.keysPerCall, 1]);
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

  it("is another process's as it was, however many share a shape", async (t) => {
    const url = await testRedisUrl();
    const { commands } = await openRedis(t, url);
    const [mx, other] = [evidenceWith().mx, { ...evidenceWith().mx, hosts: ["mx.other.test"] }];
    const entries = Array.from({ length: 60 }, (_, i) => {
      const latencyMs = i % 4 === 0 ? i / 3 : i;
      const reply = i % 6 === 1 ? `id ${i}\r\nrcpt:ev:p:forged 60 {"\0` : `said ${i % 3}\t"ü"`;
      const smtp = i % 7 === 0 ? null : smtpWith({ latencyMs, reply });
      const evidence = evidenceWith({
        mx: i % 2 === 0 ? mx : other,
        disposable: EVIDENCE.disposable,
        smtp,
        role: i % 5 === 0 ? "info" : null,
      });
      return { evidence, storedAt: Date.now() + i, ttlS: 60 + (i % 9 === 0 ? 1 / 7 : i % 3) };
    });
    await commands.flushdb();
    const read = countCalls(t, commands);
    cacheOf(commands).storeMany(entries.map((entry, i) => deposit(`a${i}@shape.test`, { entry })));
    const keys = entries.map((_, i) => `rcpt:ev:p:${hash128(`a${i}@shape.test`)}`);
    const reader = cacheOf(commands);
    const ask = () => reader.fetchMany(questions(entries.map((_, i) => `a${i}@shape.test`)));
    assert.deepEqual(await ask(), entries);
    const shapes = await commands.keys("rcpt:es:*");
    assert.ok(shapes.length > 3 && shapes.length < 30, `${shapes.length}`);
    assert.deepEqual(read.mget, [entries.length, shapes.length]);
    assert.deepEqual(await ask(), entries);
    assert.deepEqual(read.mget, [entries.length, shapes.length, entries.length]);
    const lives = await Promise.all(keys.map((key) => commands.ttl(key)));
    assert.deepEqual(
      lives.map((lifeS, i) => Math.floor(entries[i]?.ttlS ?? 0) - lifeS <= 1),
      entries.map(() => true),
    );
    const longest = Math.max(...lives);
    for (const shape of shapes) assert.ok((await commands.ttl(shape)) > longest);
    const bytes = await Promise.all(keys.map((key) => commands.strlen(key)));
    assert.ok(bytes.filter((each) => each === 44).length > 12, bytes.join(" "));
    assert.ok(bytes.filter((each) => each > 44 && each < 110).length > 3, bytes.join(" "));
    assert.equal(await commands.exists("rcpt:ev:p:forged"), 0);
  });

  it("is whole as versions before wrote it, beside what this one writes, and neither errs by the other's", async (t) => {
    const { commands } = await openRedis(t);
    const names = ["whole@mixed.test", "short@mixed.test", "again@mixed.test"];
    const entry = { evidence: EVIDENCE, storedAt: Date.now(), ttlS: 60 };
    const keyOf = (name: string) => `rcpt:ev:p:${hash128(name)}`;
    await commands.set(keyOf("whole@mixed.test"), JSON.stringify(entry), "EX", 60);
    const cache = cacheOf(commands);
    cache.storeMany(
      ["first@mixed.test", "short@mixed.test", "again@mixed.test"].map((name) => deposit(name, { entry })),
    );
    await commands.ping();
    assert.deepEqual(await cacheOf(commands).fetchMany(questions(names)), [entry, entry, entry]);
    const text = (await commands.get(keyOf("short@mixed.test"))) ?? "";
    assert.equal(text.length, 44);
    assert.equal(decodeEntry(text), undefined, "a version before misses it");
    // It asks anew then, and writes what it learnt.
    const newer = { ...entry, storedAt: entry.storedAt + 1 };
    await commands.set(keyOf("short@mixed.test"), JSON.stringify(newer), "EX", 60);
    assert.deepEqual(await cacheOf(commands).fetchMany(questions(names)), [entry, newer, entry]);
    assert.deepEqual(await cache.fetchMany(questions(names)), [entry, newer, entry], "the newest");
  });

  it("misses where Redis dropped what it shares, and has it again with what is written a minute later", async (t) => {
    const { commands } = await openRedis(t);
    await commands.flushdb();
    let nowMs = 0;
    const clock = { ...systemClock, monotonic: () => nowMs };
    const writer = createEvidenceCache({ redis: commands, clock, log: silentLog, maxEntries: 10 });
    const known = async (...names: string[]) =>
      (await cacheOf(commands).fetchMany(questions(names))).map((one) => one !== undefined);
    const store = (...names: string[]) => writer.storeMany(names.map((name) => deposit(name)));
    store("a@drop.test", "b@drop.test");
    assert.deepEqual(await known("a@drop.test", "b@drop.test"), [true, true]);
    const shapes = await commands.keys("rcpt:es:*");
    assert.equal(shapes.length, 1);
    await commands.del(shapes);
    store("c@drop.test");
    assert.deepEqual(await known("a@drop.test", "b@drop.test", "c@drop.test"), [true, false, false]);
    nowMs = LIMITS.evidenceCache.shapeAgainS * 1_000 + 1;
    store("d@drop.test");
    assert.deepEqual(await known("b@drop.test", "c@drop.test", "d@drop.test"), [true, true, true]);
  });

  it("has what it shares again within a minute, also by entries that are kept for a shorter time", async (t) => {
    const { commands } = await openRedis(t);
    await commands.flushdb();
    let nowMs = 0;
    const clock = { ...systemClock, monotonic: () => nowMs };
    const writer = createEvidenceCache({ redis: commands, clock, log: silentLog, maxEntries: 10 });
    const store = (name: string, ttlS: number) =>
      writer.storeMany([deposit(name, { entry: { evidence: EVIDENCE, storedAt: Date.now(), ttlS } })]);
    store("a@two.test", 600_000);
    store("b@two.test", 600_000);
    await commands.del(await commands.keys("rcpt:es:*"));
    nowMs = LIMITS.evidenceCache.shapeAgainS * 1_000 + 1;
    store("c@two.test", 600);
    const read = await cacheOf(commands).fetchMany(questions(["b@two.test", "c@two.test"]));
    assert.ok(read.every((entry) => entry !== undefined));
  });

  it("is put back what it shares by who reads by it", async (t) => {
    const { commands } = await openRedis(t);
    await commands.flushdb();
    let nowMs = 0;
    const clock = { ...systemClock, monotonic: () => nowMs };
    const names = ["a@back.test", "b@back.test"];
    cacheOf(commands).storeMany(names.map((name) => deposit(name)));
    const reader = createEvidenceCache({ redis: commands, clock, log: silentLog, maxEntries: 10 });
    await reader.fetchMany(questions(names));
    const [shape = ""] = await commands.keys("rcpt:es:*");
    const text = await commands.get(shape);
    await commands.del(shape);
    nowMs = LIMITS.evidenceCache.shapeToldMs;
    await reader.fetchMany(questions(names));
    // Sent behind the answer, on the same connection.
    while ((await commands.get(shape)) === null) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await commands.get(shape), text);
    assert.ok((await commands.ttl(shape)) > 0);
    const other = await cacheOf(commands).fetchMany(questions(names));
    assert.ok(other.every((entry) => entry !== undefined));
  });

  it("keeps what it shares for as long as another process's entries need it", async (t) => {
    const { commands } = await openRedis(t);
    await commands.flushdb();
    const storing = (ttlS: number) =>
      cacheOf(commands).storeMany(
        ["a", "b"].map((name) =>
          deposit(`${name}${ttlS}@life.test`, { entry: { evidence: EVIDENCE, storedAt: Date.now(), ttlS } }),
        ),
      );
    storing(600);
    const [shape = ""] = await commands.keys("rcpt:es:*");
    assert.ok((await commands.ttl(shape)) > 600);
    storing(60);
    assert.ok((await commands.ttl(shape)) > 600);
    storing(6_000);
    assert.ok((await commands.ttl(shape)) > 6_000);
  });

  it("does without what a failed write would have brought", async (t) => {
    const url = await testRedisUrl();
    const gate = await createTcpGate(url);
    t.after(() => gate.close());
    const { commands } = await openRedis(t, throughGate(url, gate));
    const cache = cacheOf(commands);
    const closed = once(commands, "close");
    gate.shut();
    await closed;
    cache.storeMany(["a@lost.test", "b@lost.test"].map((name) => deposit(name)));
    const back = once(commands, "ready");
    gate.open();
    await back;
    cache.storeMany(["c@lost.test", "d@lost.test"].map((name) => deposit(name)));
    const elsewhere = cacheOf((await openRedis(t, url)).commands);
    const found = await elsewhere.fetchMany(questions(["a@lost.test", "c@lost.test", "d@lost.test"]));
    assert.deepEqual(
      found.map((one) => one !== undefined),
      [false, true, true],
    );
  });

  it("is what memory has while Redis is away or silent, and fails nobody", async (t) => {
    const url = await testRedisUrl();
    const gate = await createTcpGate(url);
    t.after(() => gate.close());
    const { commands } = await openRedis(t, throughGate(url, gate));
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

describe("an entry that is damaged, or who asks and breaks", () => {
  /** Told, in order, what each address of a turn is found to be. */
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

  it("is a miss of its own address, while the process has beliefs too", async (t) => {
    const { commands } = await openRedis(t);
    const text = `{"evidence":{"v":2,"smtp":{"class":"mailbox_not_found"}},"storedAt":${Date.now()},"ttlS":60}`;
    await commands.set(`rcpt:ev:p:${hash128("damaged@one.test")}`, text, "EX", 60);
    cacheOf(commands).storeMany([deposit("whole@one.test")]);
    const seen = withoutDisbelieved(cacheOf(commands), {
      beliefs: { habitOf: () => null, size: 1 },
      sites: { siteOf },
      house: { doubts: () => false },
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
    // Memory is asked for its time first by who stands first.
    let looks = 0;
    const clock = {
      ...systemClock,
      now() {
        looks += 1;
        if (looks === 1) throw new Error("no time");
        return systemClock.now();
      },
    };
    const cache = createEvidenceCache({ redis: commands, clock, log, maxEntries: 10 });
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
      "who asked the evidence cache broke",
    ]);
  });
});
