import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DnsOutcome, MxRecord, Resolver } from "../../../src/dns/resolver.ts";
import { lookUpHostAddresses, lookUpMx } from "../../../src/engine/mx.ts";

interface Answers {
  mx: DnsOutcome<MxRecord>;
  a?: DnsOutcome<string>;
  aaaa?: DnsOutcome<string>;
  /** MX answer for all other domains; default: one mail exchanger. */
  others?: DnsOutcome<MxRecord>;
}
const OTHERS = { status: "ok", records: [{ preference: 5, exchange: "mx.others.test" }], ttlS: 60 } as const;
const NO_DATA = { status: "no_data", ttlS: 50, proven: true } as const;

function resolverOf(answers: Answers): Resolver {
  return {
    mx: async (domain) =>
      domain === "example.test"
        ? answers.mx
        : (answers.others ?? { ...OTHERS, records: [...OTHERS.records] }),
    a: async () => answers.a ?? NO_DATA,
    aaaa: async () => answers.aaaa ?? NO_DATA,
    close: async () => {},
  };
}

const look = (answers: Answers) => lookUpMx(resolverOf(answers), "example.test");

describe("MX look-up", () => {
  it("orders by preference, then name, without repeats", async () => {
    const records = [
      { preference: 20, exchange: "c.test" },
      { preference: 10, exchange: "b.test" },
      { preference: 10, exchange: "a.test" },
      { preference: 30, exchange: "b.test" },
    ];
    assert.deepEqual(await look({ mx: { status: "ok", records, ttlS: 300 } }), {
      status: "ok",
      hosts: ["a.test", "b.test", "c.test"],
      preferences: [10, 10, 20],
      ttlS: 300,
      fault: null,
    });
  });

  it("knows the null MX of RFC 7505", async () => {
    const records = [{ preference: 0, exchange: "" }];
    const answer = await look({ mx: { status: "ok", records, ttlS: 300 } });
    assert.deepEqual([answer.status, answer.fault], ["null_mx", "recipient"]);
  });

  it("ignores an empty exchange beside a real one", async () => {
    const records = [
      { preference: 0, exchange: "" },
      { preference: 5, exchange: "mx.test" },
    ];
    const answer = await look({ mx: { status: "ok", records, ttlS: 300 } });
    assert.deepEqual([answer.status, answer.hosts], ["ok", ["mx.test"]]);
  });

  it("falls back to the domain's own address, IPv4 or IPv6 (RFC 5321 section 5.1)", async () => {
    for (const family of ["a", "aaaa"]) {
      const found = { status: "ok", records: ["192.0.2.1"], ttlS: 20 } as const;
      const answer = await look({ mx: NO_DATA, [family]: found });
      const hosts = ["example.test"];
      assert.deepEqual(answer, { status: "implicit", hosts, preferences: [0], ttlS: 20, fault: null });
    }
  });

  it("distinguishes a domain without mail from one that does not exist", async () => {
    assert.equal((await look({ mx: NO_DATA })).status, "no_mx");
    assert.equal(
      (await look({ mx: { status: "nxdomain", ttlS: 9, proven: true } })).status,
      "domain_not_found",
    );
  });

  it("believes what comes without proof only of a resolver that knows the internet", async () => {
    const gone = { status: "nxdomain", ttlS: 9, proven: false } as const;
    const empty = { status: "no_data", ttlS: 9, proven: false } as const;
    assert.equal((await look({ mx: gone })).status, "domain_not_found");
    assert.equal((await look({ mx: empty, a: empty, aaaa: empty })).status, "no_mx");
    for (const others of [gone, empty, { status: "no_answer", code: "timeout" } as const]) {
      for (const mx of [gone, empty]) {
        const answer = await look({ mx, a: empty, aaaa: empty, others });
        assert.deepEqual([answer.status, answer.fault, answer.ttlS], ["dns_error", "our_network", 0]);
      }
      const half = await look({ mx: NO_DATA, a: empty, aaaa: empty, others });
      assert.equal(half.status, "dns_error");
    }
  });

  it("says so when the resolver has no room, instead of an answer", async () => {
    const full = { status: "no_answer", code: "overloaded" } as const;
    await assert.rejects(look({ mx: full }), { code: "overloaded" });
    await assert.rejects(look({ mx: NO_DATA, aaaa: full }), { code: "overloaded" });
    await assert.rejects(lookUpHostAddresses(resolverOf({ mx: full, a: full }), "mx.example.test"), {
      code: "overloaded",
    });
  });

  it("blames their server for SERVFAIL, our network for silence, and the recipient for neither", async () => {
    const failed = await look({ mx: { status: "server_failure", code: "SERVFAIL" } });
    assert.deepEqual([failed.status, failed.fault, failed.ttlS], ["dns_error", "their_server", 0]);
    const silent = await look({ mx: { status: "no_answer", code: "timeout" } });
    assert.deepEqual([silent.status, silent.fault], ["dns_error", "our_network"]);
  });

  it("does not call a domain mailless when its address could not be asked", async () => {
    const answer = await look({ mx: NO_DATA, aaaa: { status: "server_failure", code: "SERVFAIL" } });
    assert.equal(answer.status, "dns_error");
  });

  it("keeps at most a hundred hosts", async () => {
    const records = Array.from({ length: 500 }, (_, i) => ({ preference: i, exchange: `mx${i}.test` }));
    assert.equal((await look({ mx: { status: "ok", records, ttlS: 1 } })).hosts.length, 100);
  });
});
