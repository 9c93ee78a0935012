import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { readRecord } from "../../../../../src/features/verify/cache/evidence-record.ts";
import { hash128 } from "../../../../../src/platform/ids.ts";
import { systemClock } from "../../../../../src/platform/time/clock.ts";
import { testRedisUrl } from "../../../../support/embedded.ts";
import { evidenceWith, smtpWith } from "../../../../support/evidence.ts";
import { cacheOf, countCalls, deposit, EVIDENCE, questions } from "../../../../support/evidence-cache.ts";
import { openGatedRedis, openRedis } from "../../../../support/store.ts";
import { createTcpGate } from "../../../../support/tcp-gate.ts";

describe("evidence of addresses that are answered alike", () => {
  it("is another process's as it was, however many share a shape", async (t) => {
    const url = await testRedisUrl();
    const { commands } = await openRedis(t, url);
    const [mx, other] = [evidenceWith().mx, { ...evidenceWith().mx, hosts: ["mx.other.test"] }];
    const entries = Array.from({ length: 60 }, (_, i) => {
      const latencyMs = i % 4 === 0 ? i / 3 : i;
      const reply = i % 6 === 1 ? `id-1a2b3c4d${i}\r\nrcpt:ev:p:forged 60 {"\0` : `said ${i % 3}\t"ü"`;
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
    const parts = await commands.keys("rcpt:es:*");
    // Two domains, and as many findings as there are replies and roles.
    assert.equal(parts.length, 2 + 2 + 2 * 4);
    assert.deepEqual(read.mget, [entries.length, parts.length]);
    assert.deepEqual(await ask(), entries);
    assert.deepEqual(read.mget, [entries.length, parts.length, entries.length]);
    const lives = await Promise.all(keys.map((key) => commands.ttl(key)));
    assert.deepEqual(
      lives.map((lifeS, i) => Math.floor(entries[i]?.ttlS ?? 0) - lifeS <= 1),
      entries.map(() => true),
    );
    const longest = Math.max(...lives);
    for (const part of parts) assert.ok((await commands.ttl(part)) > longest);
    const bytes = await Promise.all(keys.map((key) => commands.strlen(key)));
    assert.ok(bytes.filter((each) => each === 60).length > 12, bytes.join(" "));
    assert.ok(bytes.filter((each) => each > 60 && each < 140).length > 3, bytes.join(" "));
    assert.equal(await commands.exists("rcpt:ev:p:forged"), 0);
  });

  it("is a miss as builds before wrote it, beside what this one writes, until there is an answer to write", async (t) => {
    const { commands } = await openRedis(t);
    const storedAt = Date.now();
    const evidence = {
      v: 2,
      mx: EVIDENCE.mx,
      disposable: EVIDENCE.disposable,
      role: null,
      freeProvider: false,
      smtp: null,
    };
    const id = hash128(JSON.stringify(evidence));
    const short = `${id}${storedAt.toString(36)}60 `.padEnd(44);
    const names = ["whole@mixed.test", "short@mixed.test", "own@mixed.test"];
    const texts = [JSON.stringify({ evidence, storedAt, ttlS: 60 }), short, `${short}"2.1.5 OK"`];
    for (const [i, name] of names.entries())
      await commands.set(`rcpt:ev:p:${hash128(name)}`, texts[i] ?? "", "EX", 60);
    await commands.set(`rcpt:es:${id}`, JSON.stringify(evidence), "EX", 60);
    const cache = cacheOf(commands);
    assert.deepEqual(await cache.fetchMany(questions(names)), [undefined, undefined, undefined]);
    const entry = { evidence: EVIDENCE, storedAt, ttlS: 60 };
    cache.storeMany(names.map((name) => deposit(name, { entry })));
    await commands.ping();
    assert.deepEqual(await cacheOf(commands).fetchMany(questions(names)), [entry, entry, entry]);
  });

  it("is a miss to builds before: no text of theirs is as long, or has no space where theirs has one", async (t) => {
    const { commands } = await openRedis(t);
    cacheOf(commands).storeMany([deposit("new@mixed.test")]);
    await commands.ping();
    const text = (await commands.get(`rcpt:ev:p:${hash128("new@mixed.test")}`)) ?? "";
    assert.ok(readRecord(text));
    assert.doesNotMatch(text, /^\{/);
    assert.doesNotMatch(text.slice(30, 44), /^(\d+) (\d*) *$/);
  });

  it("misses where Redis dropped what it shares, and has it again with what is written a minute later", async (t) => {
    const { commands } = await openRedis(t);
    await commands.flushdb();
    let nowMs = 0;
    const clock = { ...systemClock, monotonic: () => nowMs };
    const writer = cacheOf(commands, clock);
    const known = async (...names: string[]) =>
      (await cacheOf(commands).fetchMany(questions(names))).map((one) => one !== undefined);
    const store = (...names: string[]) => writer.storeMany(names.map((name) => deposit(name)));
    store("a@drop.test", "b@drop.test");
    assert.deepEqual(await known("a@drop.test", "b@drop.test"), [true, true]);
    const parts = await commands.keys("rcpt:es:*");
    assert.equal(parts.length, 2);
    await commands.del(parts);
    store("c@drop.test");
    assert.deepEqual(await known("a@drop.test", "b@drop.test", "c@drop.test"), [false, false, false]);
    nowMs = LIMITS.evidenceCache.partRefreshS * 1_000 + 1;
    store("d@drop.test");
    assert.deepEqual(await known("b@drop.test", "c@drop.test", "d@drop.test"), [true, true, true]);
  });

  it("has what it shares again within a minute, also by entries that are kept for a shorter time", async (t) => {
    const { commands } = await openRedis(t);
    await commands.flushdb();
    let nowMs = 0;
    const clock = { ...systemClock, monotonic: () => nowMs };
    const writer = cacheOf(commands, clock);
    const store = (name: string, ttlS: number) =>
      writer.storeMany([deposit(name, { entry: { evidence: EVIDENCE, storedAt: Date.now(), ttlS } })]);
    store("a@two.test", 600_000);
    store("b@two.test", 600_000);
    await commands.del(await commands.keys("rcpt:es:*"));
    nowMs = LIMITS.evidenceCache.partRefreshS * 1_000 + 1;
    store("c@two.test", 600);
    const read = await cacheOf(commands).fetchMany(questions(["b@two.test", "c@two.test"]));
    assert.ok(read.every((entry) => entry !== undefined));
  });

  it("stays the same object when Redis is asked again and has the same, and ends when that has a later one", async (t) => {
    const { commands } = await openRedis(t);
    await commands.flushdb();
    let nowMs = 0;
    const cache = cacheOf(commands, { ...systemClock, monotonic: () => nowMs });
    const entry = { evidence: EVIDENCE, storedAt: Date.now(), ttlS: 600 };
    cache.storeMany([deposit("a@again.test", { entry })]);
    cache.peek("probed", "a@again.test");
    const known = cache.peek("probed", "a@again.test");
    assert.ok(known !== undefined);
    nowMs = LIMITS.evidenceCache.memoryMs;
    assert.equal(cache.peek("probed", "a@again.test"), undefined, "it is to be looked up again");
    await cache.fetchMany(questions(["a@again.test"]));
    assert.equal(cache.peek("probed", "a@again.test"), known);
    cacheOf(commands).storeMany([
      deposit("a@again.test", { entry: { ...entry, storedAt: entry.storedAt + 1 } }),
    ]);
    nowMs *= 2;
    await cache.fetchMany(questions(["a@again.test"]));
    assert.equal(cache.peek("probed", "a@again.test")?.storedAt, entry.storedAt + 1);
  });

  it("is put back what it shares by who reads by it", async (t) => {
    const { commands } = await openRedis(t);
    await commands.flushdb();
    let nowMs = 0;
    const clock = { ...systemClock, monotonic: () => nowMs };
    const names = ["a@back.test", "b@back.test"];
    cacheOf(commands).storeMany(names.map((name) => deposit(name)));
    const reader = cacheOf(commands, clock);
    await reader.fetchMany(questions(names));
    const [part = ""] = await commands.keys("rcpt:es:*");
    const text = await commands.get(part);
    await commands.del(part);
    nowMs = LIMITS.evidenceCache.partRefreshMs;
    await reader.fetchMany(questions(names));
    // Sent behind the answer, on the same connection.
    while ((await commands.get(part)) === null) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await commands.get(part), text);
    assert.ok((await commands.ttl(part)) > 0);
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
    const [part = ""] = await commands.keys("rcpt:es:*");
    assert.ok((await commands.ttl(part)) > 600);
    storing(60);
    assert.ok((await commands.ttl(part)) > 600);
    storing(6_000);
    assert.ok((await commands.ttl(part)) > 6_000);
  });

  it("does without what a failed write would have brought", async (t) => {
    const url = await testRedisUrl();
    const gate = await createTcpGate(url);
    t.after(() => gate.close());
    const { commands } = await openGatedRedis(t, url, gate);
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
});
