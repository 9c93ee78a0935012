import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createEvidenceCache } from "../../../src/features/verify/cache/evidence-cache.ts";
import { EntryReader } from "../../../src/features/verify/cache/evidence-reader.ts";
import { partKeyOf, recordText } from "../../../src/features/verify/cache/evidence-record.ts";
import { replaceEvidence, scanEvidence } from "../../../src/features/verify/cache/evidence-scan.ts";
import { createRetention } from "../../../src/features/verify/cache/retention.ts";
import { PLACEHOLDER_ADDRESS } from "../../../src/operator/reclassification.ts";
import { runReclassify } from "../../../src/operator/reclassify.ts";
import { hash128 } from "../../../src/platform/ids.ts";
import { systemClock } from "../../../src/platform/time/clock.ts";
import type { RedisClient } from "../../../src/stores/redis.ts";
import { EVIDENCE_CODEC } from "../../../src/verification/evidence/model.ts";
import { type Evidence, evidenceBut, type SmtpEvidence } from "../../../src/verification/evidence.ts";
import { testRedisUrl } from "../../support/embedded.ts";
import { evidenceWith, smtpWith } from "../../support/evidence.ts";
import { capturePrinted } from "../../support/printed.ts";
import { openRedis, silentLog } from "../../support/store.ts";

const SELF = { heloName: "probe.rcpt.example", addresses: ["192.0.2.1"] };
const TTL_S = 5_000;
const keep = createRetention({});

function evidence(smtp: Partial<SmtpEvidence>): Evidence {
  const refused = {
    class: "mailbox_not_found",
    fault: "recipient",
    code: 550,
    catchAll: "not_probed",
  } as const;
  const changed = { reply: "550 No such user", rule: "old.rule" };
  return evidenceWith({ smtp: smtpWith({ ...refused, ...changed, ...smtp }) });
}

/** A reply that an older version classified as unknown, and that means we are blocked. */
const WRONG = evidence({
  enhancedCode: "5.7.1",
  reply: "550 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org",
});

/** A reply that an older version classified as unknown, and that means greylisting. */
const TOO_EARLY = evidence({
  code: 450,
  enhancedCode: "4.2.0",
  reply: "450 4.2.0 Greylisted, try again later",
});

async function world(t: TestContext) {
  const { commands } = await openRedis(t, await testRedisUrl());
  await commands.flushdb();
  const cache = createEvidenceCache({
    codec: EVIDENCE_CODEC,
    redis: commands,
    clock: systemClock,
    log: silentLog,
    maxEntries: 100,
  });
  /** By its name, where the cache would have its hash. */
  const store = async (name: string, found: Evidence) => {
    const { facts, finding } = found;
    for (const part of [facts, finding]) await commands.set(partKeyOf(part.id), part.text, "EX", TTL_S + 60);
    const text = recordText({ evidence: found, storedAt: 1_000, ttlS: TTL_S }) ?? assert.fail();
    await commands.set(keyOf(name), text, "EX", TTL_S);
  };
  return { redis: commands, cache, store };
}

const keyOf = (name: string) => `rcpt:ev:p:${name}`;

async function run(redis: RedisClient | null, ...argv: string[]) {
  const { printed, ...output } = capturePrinted();
  const code = await runReclassify({
    argv,
    selfAt: () => SELF,
    keep: (found) => keep("probed", PLACEHOLDER_ADDRESS, found),
    ...output,
    withEvidenceStore: (work) => {
      assert.ok(redis, "the cache is not to be opened");
      return work({
        scan: () => scanEvidence(redis, EVIDENCE_CODEC),
        replace: (known, entry, mostS) => replaceEvidence(redis, known, entry, mostS),
      });
    },
  });
  return { code, ...printed };
}

async function stored(redis: RedisClient, name: string): Promise<SmtpEvidence> {
  const { entry } = await storedEntry(redis, name);
  return entry.evidence.smtp ?? assert.fail();
}

async function storedEntry(redis: RedisClient, name: string) {
  const reader = new EntryReader({ redis, clock: systemClock, codec: EVIDENCE_CODEC, writes: true });
  const text = (await redis.get(keyOf(name))) ?? assert.fail();
  await reader.learn([text]);
  return { text, entry: reader.decode(text) ?? assert.fail() };
}

describe("reclassify", () => {
  it("shows what today's rules would change, and changes nothing", async (t) => {
    const { redis, store } = await world(t);
    await store("wrong", WRONG);
    await store("asked-nobody", evidenceBut(WRONG, { smtp: null }));
    await store("silent", evidence({ class: "timeout", code: 0, reply: "" }));
    await store("cut", evidence({ reply: `${"550 x".padEnd(LIMITS.check.replyTextChars - 1, "x")}…` }));
    const older = { evidence: { v: 2, smtp: WRONG.smtp }, storedAt: 1_000, ttlS: TTL_S };
    await redis.set(keyOf("older"), JSON.stringify(older), "EX", TTL_S);
    await store("unbelieved", evidence({ class: "provider_unverifiable", rule: "belief.refuses_all" }));
    await store("named", evidence({ class: "sender_blocked", fault: "our_address", rule: "us.named" }));
    await redis.set("rcpt:ev:p:damaged", '{"evidence":{"v":2,"smtp":{"class":"mailbox_not_found"}}}');
    await redis.set("rcpt:ev:u:unprobed", "{}");
    const { code, stdout } = await run(redis, "--json");
    assert.equal(code, 0);
    const report = JSON.parse(stdout);
    assert.deepEqual([report.read, report.judged, report.changed, report.written], [8, 1, 1, null]);
    assert.deepEqual(report.unjudged, {
      no_reply: 1,
      not_believed: 1,
      cut: 1,
      named_us: 1,
      other_version: 2,
      orphan: 0,
      not_probed: 1,
    });
    assert.deepEqual(report.classes, { "mailbox_not_found → sender_blocked": 1 });
    assert.deepEqual(report.verdicts, { "invalid/mailbox_not_found → unknown/sender_blocked": 1 });
    assert.match(Object.keys(report.rules)[0] ?? "", /^old\.rule → /);
    assert.equal(report.examples.length, 1);
    assert.equal((await stored(redis, "wrong")).class, "mailbox_not_found");
    const text = await run(redis, "--examples", "0");
    assert.match(text.stdout, /1 would change\n/);
    assert.doesNotMatch(text.stdout, /examples|spamhaus/);
  });

  it("skips entries whose shared part is missing or another version's, and fails where Redis does not answer", async (t) => {
    const { redis, cache } = await world(t);
    const entry = { evidence: WRONG, storedAt: Date.now(), ttlS: TTL_S };
    for (const cacheKey of ["first@x.test", "second@x.test", "third@x.test"])
      cache.storeMany([{ scope: "probed", cacheKey, entry, shared: true }]);
    const parts = await redis.keys("rcpt:es:*");
    assert.equal(parts.length, 2);
    const mget = redis.mget.bind(redis) as (keys: string[]) => Promise<(string | null)[]>;
    const isPart = ([key = ""]: string[]) => key.startsWith("rcpt:es:");
    Object.assign(redis, {
      mget: (keys: string[]) => (isPart(keys) ? Promise.reject(new Error("it is silent")) : mget(keys)),
    });
    await assert.rejects(run(redis, "--apply", "--json"), /it is silent/);
    Object.assign(redis, { mget });
    await redis.del(parts);
    const looked = JSON.parse((await run(redis, "--json")).stdout);
    assert.deepEqual([looked.read, looked.changed, looked.unjudged.orphan], [3, 0, 3]);
    // By its own name, but with a class that this build does not know.
    const later = WRONG.finding.text.replace('"mailbox_not_found"', '"mailbox_moved"');
    const { id } = WRONG.finding;
    assert.notEqual(hash128(later), id);
    for (const key of await redis.keys("rcpt:ev:*")) {
      const text = (await redis.get(key)) ?? "";
      await redis.set(key, text.replace(id, hash128(later)), "EX", TTL_S);
    }
    await redis.set(`rcpt:es:${hash128(later)}`, later, "EX", TTL_S);
    await redis.set(`rcpt:es:${WRONG.facts.id}`, WRONG.facts.text, "EX", TTL_S);
    const newer = JSON.parse((await run(redis, "--apply", "--json")).stdout);
    assert.deepEqual([newer.read, newer.unjudged.orphan, newer.unjudged.other_version], [3, 0, 3]);
    assert.equal((await redis.keys("rcpt:ev:*")).length, 3);
  });

  it("writes what changes where it still is, for no longer than it had or than it is kept now", async (t) => {
    const { redis, cache, store } = await world(t);
    const { ttlS } = keep(
      "probed",
      PLACEHOLDER_ADDRESS,
      evidence({ ...TOO_EARLY.smtp, class: "greylisted" }),
    );
    assert.ok(ttlS > 100 && ttlS < TTL_S);
    for (let i = 0; i < 3 * LIMITS.reclassify.keysPerScan; i++) await store(`w${i}`, TOO_EARLY);
    await redis.expire(keyOf("w0"), 100);
    const { stdout, stderr } = await run(redis, "--apply", "--json");
    assert.match(stderr, /written into the evidence cache/);
    assert.equal(JSON.parse(stdout).written, 3 * LIMITS.reclassify.keysPerScan);
    const smtp = await stored(redis, "w0");
    assert.deepEqual([smtp.class, smtp.fault], ["greylisted", "their_server"]);
    for (const [name, most] of [
      ["w0", 100],
      ["w1", ttlS],
    ] as const) {
      const left = await redis.ttl(keyOf(name));
      assert.ok(left > 0 && left <= most, `${name}: ${left}`);
    }
    assert.equal((await storedEntry(redis, "w1")).entry.ttlS, ttlS);
    const again = JSON.parse((await run(redis, "--apply", "--json")).stdout);
    assert.deepEqual([again.changed, again.written], [0, 0]);
    const { entry } = await storedEntry(redis, "w1");
    assert.equal(await replaceEvidence(redis, { key: keyOf("w1"), text: "what was there" }, entry, 1), false);
    assert.equal(cache.peek("probed", "w0"), undefined);
  });

  it("reaches a process that has the old entry in memory", async (t) => {
    const { redis, cache } = await world(t);
    const entry = { evidence: TOO_EARLY, storedAt: Date.now(), ttlS: TTL_S };
    cache.storeMany([{ scope: "probed", cacheKey: "a@one.test", entry, shared: true }]);
    const report = JSON.parse((await run(redis, "--apply", "--json")).stdout);
    assert.equal(report.written, 1);
    const fetched = await cache.fetch("probed", "a@one.test");
    assert.equal(fetched?.evidence.smtp?.class, "greylisted");
  });

  it("writes entries that share what was said, each by itself", async (t) => {
    const { redis, cache } = await world(t);
    const names = ["a@one.test", "b@one.test", "c@one.test"];
    const storedAt = Date.now();
    const deposits = names.map((cacheKey, latencyMs) => {
      const found = TOO_EARLY.after(latencyMs);
      return {
        scope: "probed" as const,
        cacheKey,
        entry: { evidence: found, storedAt, ttlS: TTL_S },
        shared: true,
      };
    });
    cache.storeMany(deposits);
    const report = JSON.parse((await run(redis, "--apply", "--json")).stdout);
    assert.deepEqual([report.read, report.written, report.unjudged.other_version], [3, 3, 0]);
    const found = await Promise.all(names.map((name) => cache.fetch("probed", name)));
    assert.deepEqual(
      found.map((entry) => [entry?.evidence.smtp?.class, entry?.evidence.smtp?.latencyMs]),
      [0, 1, 2].map((latencyMs) => ["greylisted", latencyMs]),
    );
    cache.storeMany(deposits);
    await redis.del(await redis.keys("rcpt:es:*"));
    const lost = JSON.parse((await run(redis, "--json")).stdout);
    assert.equal(lost.read, 3);
    assert.ok(lost.unjudged.orphan >= 2, "what it shared is gone");
  });

  it("withdraws evidence about our own address, in Redis and in memory, without an announcement", async (t) => {
    const { redis, cache } = await world(t);
    const entry = { evidence: WRONG, storedAt: Date.now(), ttlS: TTL_S };
    cache.storeMany([{ scope: "probed", cacheKey: "a@one.test", entry, shared: true }]);
    assert.equal(JSON.parse((await run(redis, "--apply", "--json")).stdout).written, 1);
    assert.equal(await cache.fetch("probed", "a@one.test"), undefined);
    const [key = ""] = await redis.keys("rcpt:ev:p:*");
    const told = [await redis.get(key), ...(await redis.mget(await redis.keys("rcpt:es:*")))];
    assert.doesNotMatch(told.join(""), /sender_blocked/);
    assert.ok((await redis.ttl(key)) > 0);
    const again = JSON.parse((await run(redis, "--apply", "--json")).stdout);
    assert.deepEqual([again.changed, again.unjudged.not_probed], [0, 1]);
  });

  it("reads the results of a job, without any service", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "rcpt-reclassify-"));
    t.after(() => rm(folder, { recursive: true }));
    const file = join(folder, "results.jsonl");
    const line = {
      email: "jane@one.test",
      checks: {
        mx: { ok: true, hosts: ["mx.one.test"], provider: null, status: "ok" },
        disposable: { is_disposable: false, source: "none", status: "checked" },
        role: { is_role: false, role: null, status: "checked" },
        smtp: { code: 550, latency_ms: 1, status: "mailbox_not_found", catch_all: "not_probed" },
      },
      evidence: { stage: "rcpt", reply: WRONG.smtp?.reply, rule: "old.rule", mx_host: "mx.one.test" },
    };
    const lines = [line, { ...line, evidence: null }];
    await writeFile(file, lines.map((row) => `${JSON.stringify(row)}\n`).join(""));
    const { code, stdout } = await run(null, "--file", file);
    assert.equal(code, 0);
    assert.match(stdout, /^2 read, 1 judged again by the names that we have now, 1 would change\n/);
    assert.match(stdout, /1 {2}mailbox_not_found → sender_blocked\n/);
    assert.doesNotMatch(stdout, /jane/);
    await writeFile(file, `${JSON.stringify({ ...line, evidence: undefined })}\n`);
    const plain = await run(null, "--file", file);
    assert.deepEqual([plain.code, plain.stdout], [2, ""]);
    assert.match(plain.stderr, /line 1 is no result with evidence/);
    const hostile = [
      { ...line, email: 5 },
      { ...line, checks: null },
      { ...line, checks: { ...line.checks, mx: { hosts: [5] } } },
      { ...line, checks: { ...line.checks, disposable: undefined } },
      { ...line, checks: { ...line.checks, role: 5 } },
      { ...line, checks: { ...line.checks, smtp: { ...line.checks.smtp, status: "toString" } } },
      { ...line, checks: { ...line.checks, smtp: { ...line.checks.smtp, enhanced_code: {} } } },
      { ...line, evidence: { ...line.evidence, mx_host: null } },
      { ...line, evidence: { ...line.evidence, stage: "__proto__" } },
      [],
    ];
    for (const bad of hostile) {
      await writeFile(file, `${JSON.stringify(line)}\n${JSON.stringify(bad)}\n`);
      const refused = await run(null, "--file", file);
      assert.deepEqual([refused.code, refused.stdout], [2, ""], JSON.stringify(bad));
      assert.match(refused.stderr, /line 2 is no result with evidence/);
    }
    const escaping = {
      ...line.evidence,
      rule: "x\u001b[2J\u009b\r",
      reply: `550 \u001b]0;x\u0007 ${line.evidence.reply}`,
    };
    await writeFile(file, `${JSON.stringify({ ...line, evidence: escaping })}\n`);
    const shown = await run(null, "--file", file);
    assert.equal(shown.code, 0);
    assert.match(shown.stdout, /x\?\[2J/);
    assert.doesNotMatch(shown.stdout.replaceAll("\n", ""), /\p{Cc}/u);
    assert.match((await run(null, "--file", join(folder, "none"))).stderr, /cannot be read: ENOENT/);
  });

  it("refuses arguments that it does not know", async () => {
    for (const argv of [
      ["--nonsense"],
      ["--examples", "many"],
      ["--examples", "100000"],
      ["--apply", "--file", "x"],
      ["extra"],
    ]) {
      const { code, stderr } = await run(null, ...argv);
      assert.deepEqual([code, stderr.split("\n").length], [2, 2], argv.join(" "));
    }
  });
});
