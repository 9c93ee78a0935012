import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { DnsOutcome, MxRecord, Resolver } from "../../../src/dns/resolver.ts";
import { loadShaping } from "../../../src/egress/shaping.ts";
import { DomainPlans } from "../../../src/engine/domain-plan.ts";
import { AppError } from "../../../src/platform/errors.ts";
import { createEgressRoutes, type RouteSelection } from "../../../src/smtp/wire/egress-routes.ts";
import { createSiteDirectory } from "../../../src/verification/lists/site.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const MX: DnsOutcome<MxRecord> = {
  status: "ok",
  ttlS: 60,
  records: [{ preference: 10, exchange: "mx.example.test" }],
};
const SILENT: DnsOutcome<never> = { status: "no_answer", code: "timeout" };
const OVERLOADED: DnsOutcome<never> = { status: "no_answer", code: "overloaded" };
const A: DnsOutcome<string> = { status: "ok", records: ["192.0.2.1"], ttlS: 60 };

/** @param mx of every domain, each time anew */
function plans(mx: () => DnsOutcome<MxRecord> = () => MX, a: () => DnsOutcome<string> = () => A) {
  const clock = createFakeClock();
  const asked: string[] = [];
  const resolver: Resolver = {
    async mx(domain) {
      asked.push(domain);
      return mx();
    },
    a: async () => a(),
    aaaa: async () => ({ status: "no_data", ttlS: 60, proven: true }),
    close: async () => {},
  };
  const choice: RouteSelection = {
    defaults: null,
    forSite: (site) => (site === "two-ways.test" ? ["192.0.2.8", "192.0.2.9"] : null),
    allNamed: [],
  };
  const sourceAddresses = ["192.0.2.8", "192.0.2.9"].map((address) => ({ address, heloName: "probe.test" }));
  const made = new DomainPlans({
    clock,
    resolver,
    paths: createEgressRoutes({ sourceAddresses, proxies: [], heloName: "probe.test" }, choice),
    lists: { disposable: () => ({ listed: false, source: "none" }), role: () => null, isFree: () => false },
    shaping: loadShaping(),
    sites: createSiteDirectory(),
  });
  return { clock, asked, of: (domain: string) => made.of(domain, clock.monotonic()), kept: () => made.size };
}

describe("the plan of a domain", () => {
  it("is made once for simultaneous checks, kept in memory for a while, then made anew", async () => {
    const { clock, asked, of } = plans();
    const [plan, same] = await Promise.all([of("example.test"), of("example.test")]);
    assert.equal(plan, same);
    assert.equal(of("example.test"), plan);
    clock.advance(LIMITS.check.planKeptMs);
    assert.notEqual(await of("example.test"), plan);
    assert.deepEqual(asked, ["example.test", "example.test"]);
  });

  it("is not kept where no server could say where mail goes, nor where we had no slot to ask", async () => {
    let outcome: DnsOutcome<MxRecord> = SILENT;
    const { asked, of } = plans(() => outcome);
    assert.equal((await of("example.test")).mx.status, "dns_error");
    outcome = OVERLOADED;
    await assert.rejects(
      async () => of("example.test"),
      (error) => error instanceof AppError && error.code === "overloaded",
    );
    outcome = MX;
    assert.equal((await of("example.test")).mx.status, "ok");
    assert.equal(asked.length, 3);
  });

  it("has the answer's TTL in its evidence where it names no host, and none where it names hosts", async () => {
    const ttlOf = async (outcome: DnsOutcome<MxRecord>) => {
      const plan = await plans(() => outcome).of("example.test");
      return [plan.mx.status, plan.unprobed(null).mx.ttlS];
    };
    assert.deepEqual(await ttlOf(MX), ["ok", 0]);
    const gone = { status: "nxdomain", ttlS: 60, proven: true } as const;
    const plan = await plans(
      () => gone,
      () => gone,
    ).of("example.test");
    assert.deepEqual([plan.mx.status, plan.unprobed(null).mx.ttlS], ["domain_not_found", 60]);
    assert.deepEqual(await ttlOf(gone), ["implicit", 0], "it has an address all the same");
    const nobody = { status: "ok", ttlS: 70, records: [{ preference: 0, exchange: "" }] } as const;
    assert.deepEqual(await ttlOf({ ...nobody, records: [...nobody.records] }), ["null_mx", 70]);
  });

  it("is given up for others, the oldest first", async () => {
    const { of } = plans();
    for (let i = 0; i <= LIMITS.check.plans; i++) await of(`d${i}.test`);
    assert.ok(of("d0.test") instanceof Promise);
    assert.ok(!(of(`d${LIMITS.check.plans}.test`) instanceof Promise));
  });

  it("is dropped, with facts learned on its route, once others are made after it has expired", async () => {
    const { clock, of, kept } = plans();
    for (let i = 0; i < 10; i++) await of(`d${i}.test`);
    clock.advance(LIMITS.check.planKeptMs - 1);
    await of("d5.test");
    await of("young.test");
    assert.equal(kept(), 11);
    clock.advance(1);
    await of("late.test");
    assert.equal(kept(), 2);
    assert.ok(!(of("young.test") instanceof Promise));
  });

  it("has one evidence for all of a role, and another where more is known of the domain", async () => {
    const plan = await plans().of("example.test");
    const domain = { spf: true, dmarc: null, listedBy: null, parkedAddress: false };
    assert.equal(plan.unprobed(null), plan.unprobed(null));
    assert.equal(plan.unprobed("sales").role, "sales");
    assert.deepEqual(plan.unprobed(null, domain).domain, domain);
    assert.equal(plan.unprobed(null, domain), plan.unprobed(null, domain));
    assert.equal(plan.unprobed(null).domain, undefined);
  });

  it("knows the fast route except where it depends on the recipient, or there is none", async () => {
    const route = await (await plans().of("example.test")).fastRoute();
    assert.deepEqual([route?.destination.host, route?.destination.address], ["mx.example.test", "192.0.2.1"]);
    const none = { status: "no_data", ttlS: 50, proven: true } as const;
    const absent = await plans(undefined, () => none).of("example.test");
    assert.deepEqual([absent.mx.status, absent.unprobed(null).mx.ttlS], ["mx_unresolvable", 50]);
    assert.equal(await absent.fastRoute(), null);
    const two: DnsOutcome<MxRecord> = {
      ...MX,
      records: [{ preference: 1, exchange: "mx.two-ways.test" }],
    } as DnsOutcome<MxRecord>;
    assert.equal(await (await plans(() => two).of("example.test")).fastRoute(), null);
  });

  it("looks for its route again after there was no slot to", async () => {
    let a: DnsOutcome<string> = OVERLOADED;
    const plan = await plans(undefined, () => a).of("example.test");
    await assert.rejects(async () => plan.fastRoute());
    a = A;
    assert.equal((await plan.fastRoute())?.destination.site, "example.test");
  });
});
