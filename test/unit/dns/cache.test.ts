import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createCachingResolver, type LookUpResult } from "../../../src/dns/cache.ts";
import type { DnsOutcome, MxRecord, TextResolver } from "../../../src/dns/resolver.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const RECORD: MxRecord = { preference: 10, exchange: "mx.test" };

function caching(answer: () => DnsOutcome<MxRecord> | Promise<DnsOutcome<MxRecord>>) {
  const clock = createFakeClock();
  const asked: string[] = [];
  let closed = false;
  const inner: TextResolver = {
    async mx(domain) {
      asked.push(`mx ${domain}`);
      return answer();
    },
    async a(name) {
      asked.push(`a ${name}`);
      return { status: "ok", records: ["192.0.2.1"], ttlS: 60 };
    },
    async aaaa(name) {
      asked.push(`aaaa ${name}`);
      return { status: "no_data", ttlS: 60, proven: true };
    },
    async txt(name) {
      asked.push(`txt ${name}`);
      return {
        status: "ok",
        records: [name.startsWith("long") ? "x".repeat(60_000) : "v=spf1 -all"],
        ttlS: 60,
      };
    },
    async close() {
      closed = true;
    },
  };
  const looked: LookUpResult[] = [];
  const resolver = createCachingResolver(inner, clock, (result) => void looked.push(result));
  return { clock, asked, looked, resolver, isClosed: () => closed };
}

describe("the DNS cache", () => {
  it("serves an answer for its TTL, which counts down", async () => {
    const { clock, asked, resolver } = caching(() => ({ status: "ok", records: [RECORD], ttlS: 60 }));
    await resolver.mx("x.test");
    clock.advance(20_500);
    assert.deepEqual(await resolver.mx("X.test"), { status: "ok", records: [RECORD], ttlS: 40 });
    assert.equal(asked.length, 1);
    clock.advance(39_500);
    assert.deepEqual(await resolver.mx("x.test"), { status: "ok", records: [RECORD], ttlS: 60 });
    assert.equal(asked.length, 2);
  });

  it("reports the outcome of each look-up, and a joined one as known", async () => {
    let answer: DnsOutcome<MxRecord> = { status: "ok", records: [RECORD], ttlS: 60 };
    const { looked, resolver } = caching(() => answer);
    await Promise.all([resolver.mx("x.test"), resolver.mx("x.test")]);
    await resolver.mx("x.test");
    assert.deepEqual(looked.splice(0), ["hit", "answered", "hit"]);
    for (const status of ["nxdomain", "no_data"] as const) {
      answer = { status, ttlS: 60, proven: true };
      await resolver.mx(`${status}.test`);
    }
    for (const failure of [
      { status: "server_failure", code: "SERVFAIL" },
      { status: "no_answer", code: "timeout" },
    ] as const) {
      answer = failure;
      await resolver.mx(`${failure.code}.test`);
    }
    assert.deepEqual(looked, ["absent", "absent", "failed", "failed"]);
  });

  it("keeps types apart", async () => {
    const { asked, resolver } = caching(() => ({ status: "nxdomain", ttlS: 60, proven: true }));
    await Promise.all([resolver.a("x.test"), resolver.aaaa("x.test"), resolver.mx("x.test")]);
    await Promise.all([resolver.a("x.test"), resolver.aaaa("x.test"), resolver.mx("x.test")]);
    assert.deepEqual(asked.sort(), ["a x.test", "aaaa x.test", "mx x.test"]);
  });

  it("caches optional look-ups apart from required ones", async () => {
    const { asked, resolver } = caching(() => ({ status: "nxdomain", ttlS: 60, proven: true }));
    for (let i = 0; i < 2; i++) {
      await resolver.a("x.test", { untilMs: 500 });
      await resolver.a("x.test");
      await resolver.txt("x.test", { untilMs: 500 });
    }
    assert.deepEqual(asked, ["a x.test", "a x.test", "txt x.test"]);
  });

  it("remembers that there is nothing", async () => {
    for (const status of ["nxdomain", "no_data"] as const) {
      const kind = { status, proven: status === "nxdomain" };
      const { clock, asked, resolver } = caching(() => ({ ...kind, ttlS: 30 }));
      await resolver.mx("x.test");
      clock.advance(10_000);
      assert.deepEqual(await resolver.mx("x.test"), { ...kind, ttlS: 20 });
      assert.equal(asked.length, 1);
    }
  });

  it("holds a TTL of 0 for the least time, and says 0", async () => {
    const { clock, asked, resolver } = caching(() => ({ status: "ok", records: [RECORD], ttlS: 0 }));
    await resolver.mx("x.test");
    clock.advance(LIMITS.dns.ttlMinS * 1_000 - 1);
    assert.deepEqual(await resolver.mx("x.test"), { status: "ok", records: [RECORD], ttlS: 0 });
    assert.equal(asked.length, 1);
    clock.advance(1);
    await resolver.mx("x.test");
    assert.equal(asked.length, 2);
  });

  it("holds a failure for seconds at most, an overload not at all", async () => {
    const { clock, asked, resolver } = caching(() => ({ status: "server_failure", code: "SERVFAIL" }));
    await resolver.mx("x.test");
    clock.advance(4_999);
    await resolver.mx("x.test");
    assert.equal(asked.length, 1);
    clock.advance(1);
    await resolver.mx("x.test");
    assert.equal(asked.length, 2);
    const overloaded = caching(() => ({ status: "no_answer", code: "overloaded" }));
    await overloaded.resolver.mx("x.test");
    await overloaded.resolver.mx("x.test");
    assert.equal(overloaded.asked.length, 2);
  });

  it("asks once for all who ask at once", async () => {
    let answer: (outcome: DnsOutcome<MxRecord>) => void = () => {};
    const { asked, resolver } = caching(
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    const all = Array.from({ length: 50 }, () => resolver.mx("x.test"));
    answer({ status: "ok", records: [RECORD], ttlS: 9 });
    assert.deepEqual(new Set((await Promise.all(all)).map(({ status }) => status)), new Set(["ok"]));
    assert.equal(asked.length, 1);
  });

  it("holds no more records than its bound", async () => {
    const records = Array.from({ length: LIMITS.dns.answerRecords }, () => RECORD);
    const { asked, resolver } = caching(() => ({ status: "ok", records, ttlS: 3_600 }));
    const names = Math.ceil(LIMITS.dns.cacheRecords / LIMITS.dns.answerRecords) + 1;
    for (let i = 0; i < names; i++) await resolver.mx(`d${i}.test`);
    await resolver.mx(`d${names - 1}.test`);
    assert.equal(asked.length, names, "the newest is there");
    await resolver.mx("d0.test");
    assert.equal(asked.length, names + 1, "the oldest went");
  });

  it("counts long texts for more, and serves them from memory too", async () => {
    const { asked, resolver } = caching(() => ({ status: "nxdomain", ttlS: 1, proven: true }));
    await resolver.txt("x.test");
    assert.deepEqual(await resolver.txt("X.test"), { status: "ok", records: ["v=spf1 -all"], ttlS: 60 });
    assert.deepEqual(asked, ["txt x.test"]);
    const names = Math.ceil(LIMITS.dns.cacheRecords / 600) + 1;
    for (let i = 0; i < names; i++) await resolver.txt(`long${i}.test`);
    assert.equal(asked.length, names + 1);
    await resolver.txt(`long${names - 1}.test`);
    assert.equal(asked.length, names + 1, "the newest is there");
    await resolver.txt("long0.test");
    assert.equal(asked.length, names + 2, "the oldest went");
  });

  it("closes what it stands before", async () => {
    const { resolver, isClosed } = caching(() => ({ status: "nxdomain", ttlS: 1, proven: true }));
    await resolver.close();
    assert.equal(isClosed(), true);
  });
});
