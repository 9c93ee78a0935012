import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DomainSignalsConfig } from "../../../src/config/config.ts";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { DnsOutcome, MxRecord, TextResolver } from "../../../src/dns/resolver.ts";
import type { CheckControl } from "../../../src/engine/caller.ts";
import { createDomainSignals, withDomainSignals } from "../../../src/engine/domain-signals.ts";
import { type DomainEvidence, evidenceBut } from "../../../src/verification/evidence.ts";
import { checkWith, engineBy } from "../../support/engine-by.ts";
import { evidenceWith } from "../../support/evidence.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

type Texts = Record<string, string[] | DnsOutcome<string> | "silent">;

const ABSENT = { status: "nxdomain", ttlS: 60, proven: true } as const;
const NO_DATA = { status: "no_data", ttlS: 60, proven: true } as const;
const SPF_ONLY = { spf: true, dmarc: false, blocklistZones: [] };
const BOTH = { spf: true, dmarc: true, blocklistZones: [] };

interface World {
  mx?: DnsOutcome<MxRecord>;
  txt?: Texts;
  a?: Texts;
}

function signalsIn(world: World, config: DomainSignalsConfig = BOTH) {
  const clock = createFakeClock();
  const asked: string[] = [];
  function answer(kind: string, texts: Texts | undefined, name: string): Promise<DnsOutcome<string>> {
    asked.push(`${kind} ${name}`);
    const found = texts?.[name];
    if (found === "silent") return new Promise(() => {});
    if (found === undefined) return Promise.resolve(ABSENT);
    return Promise.resolve(Array.isArray(found) ? { status: "ok", records: found, ttlS: 60 } : found);
  }
  const resolver: TextResolver = {
    mx: async () =>
      world.mx ?? { status: "ok", records: [{ preference: 10, exchange: "mx.example.com" }], ttlS: 60 },
    a: (name) => answer("a", world.a, name),
    aaaa: async () => NO_DATA,
    txt: (name) => answer("txt", world.txt, name),
    close: async () => {},
  };
  return { clock, asked, resolver, signals: createDomainSignals({ resolver, clock, config }) };
}

/** Lets everything that needs no clock happen. */
/** The look-ups go out two turns behind the MX answer. */
const settle = () =>
  new Promise<void>((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));

describe("signals of a domain", () => {
  it("SPF and DMARC, where they are", async () => {
    const { signals, asked } = signalsIn({
      txt: { "example.com": ["some=thing", "v=spf1 mx -all"], "_dmarc.example.com": ["v=DMARC1; p=none"] },
    });
    const known = await signals.of("example.com");
    assert.deepEqual(known, { spf: true, dmarc: true, listedBy: null, parkedAddress: false });
    assert.deepEqual(asked.sort(), ["txt _dmarc.example.com", "txt example.com"]);
  });

  it("and where they are not, or look like it", async () => {
    const { signals } = signalsIn({
      txt: { "example.com": ["v=spf10 -all", "spf2.0/mfrom"], "_dmarc.example.com": ["v=DMARC12; p=none"] },
    });
    assert.deepEqual(await signals.of("example.com"), {
      spf: false,
      dmarc: false,
      listedBy: null,
      parkedAddress: false,
    });
  });

  it("takes the DMARC record of the organisation where the domain has none", async () => {
    const { signals, asked } = signalsIn({ txt: { "_dmarc.example.co.uk": ["v=DMARC1"] } });
    assert.equal((await signals.of("mail.shop.example.co.uk")).dmarc, true);
    assert.ok(asked.includes("txt _dmarc.mail.shop.example.co.uk"));
  });

  it("nothing of failures, of absence without proof, of an overload", async () => {
    const outcomes: DnsOutcome<string>[] = [
      { status: "server_failure", code: "SERVFAIL" },
      { status: "no_answer", code: "timeout" },
      { status: "no_answer", code: "overloaded" },
      { ...ABSENT, proven: false },
      { ...NO_DATA, proven: false },
    ];
    for (const outcome of outcomes) {
      const { signals } = signalsIn({ txt: { "example.com": outcome, "_dmarc.example.com": outcome } });
      const { spf, dmarc } = await signals.of("example.com");
      assert.deepEqual([spf, dmarc], [null, null], outcome.status);
    }
  });

  it("waits for the slow no longer than its bound, and keeps what it has", async () => {
    const { signals, clock } = signalsIn({
      txt: { "example.com": "silent", "_dmarc.example.com": ["v=DMARC1"] },
    });
    let known: unknown = null;
    void Promise.resolve(signals.of("example.com")).then((evidence) => {
      known = evidence;
    });
    await settle();
    clock.advance(LIMITS.check.domainSignalsMs - 1);
    await settle();
    assert.equal(known, null);
    clock.advance(1);
    await settle();
    assert.deepEqual(known, { spf: null, dmarc: true, listedBy: null, parkedAddress: false });
  });

  it("asks aside, for no longer than it waits for all together", async () => {
    const zones = { ...BOTH, blocklistZones: ["dbl.test"] };
    const { signals, resolver, clock } = signalsIn({ mx: NO_DATA }, zones);
    const untils: (number | null)[] = [];
    const { a, txt } = resolver;
    resolver.a = (name, aside) => {
      untils.push(aside?.untilMs ?? null);
      return a(name);
    };
    resolver.txt = (name, aside) => {
      untils.push(aside?.untilMs ?? null);
      return txt(name);
    };
    clock.advance(1_000);
    await signals.of("mail.example.com");
    const untilMs = 1_000 + LIMITS.check.domainSignalsMs;
    // The address of the domain itself is what the check asks for anyway.
    assert.deepEqual(untils.sort(), [untilMs, untilMs, untilMs, untilMs, null].sort());
  });

  it("asks nothing of domains that take no mail, and nothing that is off", async () => {
    const mute: DnsOutcome<MxRecord>[] = [
      ABSENT,
      { status: "server_failure", code: "SERVFAIL" },
      { status: "ok", records: [{ preference: 0, exchange: "" }], ttlS: 60 },
    ];
    for (const mx of mute) {
      const { signals, asked } = signalsIn({ mx });
      assert.equal((await signals.of("example.com")).spf, null);
      assert.deepEqual(asked, []);
    }
    const off = signalsIn({}, { spf: false, dmarc: false, blocklistZones: [] });
    assert.equal((await off.signals.of("example.com")).dmarc, null);
    assert.deepEqual(off.asked, []);
  });

  it("shares its findings with checks soon after, and nothing that is incomplete", async () => {
    const { signals, asked, clock } = signalsIn({ txt: { "example.com": ["v=spf1 -all"] } });
    const all = await Promise.all(Array.from({ length: 100 }, () => signals.of("example.com")));
    assert.deepEqual(new Set(all.map(({ spf, dmarc }) => `${spf} ${dmarc}`)), new Set(["true false"]));
    assert.equal(asked.length, 2);
    clock.advance(LIMITS.check.domainSignalsKeptMs - 1);
    await signals.of("example.com");
    assert.equal(asked.length, 2);
    clock.advance(1);
    await signals.of("example.com");
    assert.equal(asked.length, 4);
    const failing = signalsIn({ txt: { "example.com": { status: "server_failure", code: "SERVFAIL" } } });
    await failing.signals.of("example.com");
    await settle();
    await failing.signals.of("example.com");
    assert.equal(failing.asked.length, 4);
  });

  it("believes a blocklist's listings, not its refusals", async () => {
    const zones = { spf: false, dmarc: false, blocklistZones: ["one.test", "two.test"] };
    const cases: [string[], string | null][] = [
      [["127.0.0.2"], "two.test"],
      [["127.0.1.106"], "two.test"],
      [["127.255.255.254"], null],
      [["127.0.0.1"], null],
      [["192.0.2.1"], null],
    ];
    for (const [records, listedBy] of cases) {
      const { signals, asked } = signalsIn({ a: { "example.co.uk.two.test": records } }, zones);
      assert.equal((await signals.of("mail.example.co.uk")).listedBy, listedBy, records.join());
      assert.deepEqual(asked.sort(), ["a example.co.uk.one.test", "a example.co.uk.two.test"]);
    }
  });

  it("knows the addresses of parking services, where mail would go there", async () => {
    const cases: [string[], boolean][] = [
      [["64.190.63.222"], true],
      [["199.59.243.5", "103.224.182.253"], true],
      [["127.0.0.1"], true],
      [["64.190.63.222", "192.0.2.1"], false],
      [["192.0.2.1"], false],
    ];
    for (const [records, parked] of cases) {
      const { signals } = signalsIn({ mx: NO_DATA, a: { "example.com": records } }, SPF_ONLY);
      assert.equal((await signals.of("example.com")).parkedAddress, parked, records.join());
      const withMx = signalsIn({ a: { "example.com": records } }, SPF_ONLY);
      assert.equal((await withMx.signals.of("example.com")).parkedAddress, false);
    }
    const none = signalsIn({ mx: NO_DATA, a: {} }, SPF_ONLY);
    assert.equal((await none.signals.of("example.com")).parkedAddress, false);
  });
});

describe("an engine with signals", () => {
  const EVIDENCE = evidenceWith({
    mx: { status: "ok", hosts: ["mx.example.com"], provider: null, ttlS: 60, fault: null },
  });
  const control: CheckControl = { mode: "single", cancelled: () => false, onSite: () => {} };

  it("adds them in every scope, and to nothing that is no evidence", async () => {
    const { signals } = signalsIn({ txt: { "example.com": ["v=spf1 -all"] } });
    const given: (DomainEvidence | undefined)[] = [];
    for (const scope of ["probed", "unprobed"] as const) {
      const engine = withDomainSignals(
        engineBy((_address, _scope, _control, domain) => {
          given.push(domain);
          return evidenceBut(EVIDENCE, { domain });
        }),
        signals,
      );
      const known = await checkWith(engine, "jane@example.com", scope, control);
      assert.ok(known !== null && known !== "busy");
      assert.deepEqual(known.domain, { spf: true, dmarc: false, listedBy: null, parkedAddress: false });
    }
    for (const nothing of [null, "busy"] as const) {
      const engine = withDomainSignals(
        engineBy(async () => nothing),
        signals,
      );
      assert.equal(await checkWith(engine, "jane@example.com", "probed", control), nothing);
    }
    // The first check starts the look-up of the signals beside itself; the second one has them already.
    assert.deepEqual(given, [undefined, { spf: true, dmarc: false, listedBy: null, parkedAddress: false }]);
    assert.equal(EVIDENCE.domain, undefined);
  });

  it("delays no check whose result does not need them", async () => {
    const silent = { of: () => new Promise<DomainEvidence>(() => {}) };
    for (const nothing of [null, "busy"] as const) {
      const engine = withDomainSignals(
        engineBy(async () => nothing),
        silent,
      );
      assert.equal(await checkWith(engine, "jane@example.com", "probed", control), nothing);
    }
  });

  it("looks the domain up behind the last @", async () => {
    const { signals, asked } = signalsIn({});
    const engine = withDomainSignals(
      engineBy(async () => EVIDENCE),
      signals,
    );
    await checkWith(engine, '"a@b"@example.com', "probed", control);
    assert.ok(asked.includes("txt example.com"));
  });
});
