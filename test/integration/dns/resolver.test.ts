// Alone in its process: it counts the sockets of its process.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createResolver } from "../../../src/dns/client.ts";
import type { DnsOutcome, FullResolver, Resolver } from "../../../src/dns/resolver.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createMailWorld, type MailWorld } from "../../support/mail-world/world.ts";
import { createScriptedDns, type DnsScript, type ScriptedDns } from "./scripted-dns.ts";

const summary = (outcome: DnsOutcome<unknown>) =>
  "code" in outcome ? `${outcome.status} ${outcome.code}` : outcome.status;

describe("a resolver in the mail world", () => {
  let world: MailWorld;
  let resolver: FullResolver;
  before(async () => {
    world = await createMailWorld();
    resolver = createResolver({ servers: [world.dnsServer], clock: createFakeClock() });
  });
  after(async () => {
    await resolver.close();
    await world.close();
  });

  const ENDS: [domain: string, end: string][] = [
    ["plain.test", "ok"],
    ["nodata.test", "no_data"],
    ["nowhere.test", "nxdomain"],
    ["cname-nowhere.test", "nxdomain"],
    ["servfail.test", "server_failure SERVFAIL"],
    ["refused.test", "server_failure REFUSED"],
    ["notimp.test", "server_failure NOTIMP"],
    ["cname-loop.test", "server_failure CNAME_LOOP"],
    ["truncated-for-good.test", "no_answer unreachable"],
    ["not a name.test", "server_failure BAD_NAME"],
  ];
  for (const [domain, end] of ENDS) {
    it(`${domain}: ${end}`, async () => assert.equal(summary(await resolver.mx(domain)), end));
  }

  it("reads MX through CNAMEs, over TCP when truncated, and past forged answers", async () => {
    for (const domain of ["cname.test", "truncated.test", "spoofed.test", "mixed-case.test"]) {
      const outcome = await resolver.mx(domain);
      assert.ok(outcome.status === "ok", domain);
      assert.deepEqual(outcome.records, [{ preference: 10, exchange: "mx.plain.test" }]);
    }
  });

  it("reads texts whole, and names of addresses, also where their zone is delegated by RFC 2317", async () => {
    const long = `v=spf1 ${"ip4:192.0.2.1 ".repeat(30)}-all`;
    world.dns.set("spf.test", { txt: [long, "other=1"] });
    world.dns.set("9.2.0.192.in-addr.arpa", { ptr: ["Probe.Example.test"] });
    world.dns.set("10.2.0.192.in-addr.arpa", { cname: "10.8/29.2.0.192.in-addr.arpa" });
    world.dns.set("10.8/29.2.0.192.in-addr.arpa", { ptr: ["two.example.test", "not a host"] });
    const texts = await resolver.txt("spf.test");
    assert.deepEqual(texts.status === "ok" && texts.records, [long, "other=1"]);
    const names = await resolver.ptr("9.2.0.192.in-addr.arpa");
    assert.deepEqual(names.status === "ok" && names.records, ["probe.example.test"]);
    const delegated = await resolver.ptr("10.2.0.192.in-addr.arpa");
    assert.deepEqual(delegated.status === "ok" && delegated.records, ["two.example.test"]);
    const none = await resolver.ptr("11.2.0.192.in-addr.arpa");
    assert.deepEqual([none.status, none.status === "nxdomain" && none.proven], ["nxdomain", true]);
  });

  it("reads the null MX and the best of a thousand MX records", async () => {
    const none = await resolver.mx("nullmx.test");
    assert.ok(none.status === "ok");
    assert.deepEqual(none.records, [{ preference: 0, exchange: "" }]);
    const huge = await resolver.mx("huge.test");
    assert.ok(huge.status === "ok");
    assert.deepEqual(
      [huge.records.length, huge.records[0]?.exchange],
      [LIMITS.dns.answerRecords, "mx.plain.test"],
    );
  });

  it("returns true TTLs, also for absent records", async () => {
    const ttl = async (domain: string) => {
      const outcome = await resolver.mx(domain);
      return "ttlS" in outcome ? outcome.ttlS : null;
    };
    assert.deepEqual(
      [
        await ttl("short-ttl.test"),
        await ttl("zero-ttl.test"),
        await ttl("long-ttl.test"),
        await ttl("short-negative.test"),
      ],
      [5, 0, LIMITS.dns.ttlMaxS, 5],
    );
  });

  it("reads addresses", async () => {
    const outcome = await resolver.a("mx.plain.test");
    assert.ok(outcome.status === "ok");
    assert.deepEqual(outcome.records, [world.host("mx.plain.test").address]);
    assert.equal((await resolver.aaaa("mx.plain.test")).status, "no_data");
  });
});

describe("a resolver among servers that fail", () => {
  const opened: (ScriptedDns | Resolver)[] = [];
  afterEach(async () => {
    for (const part of opened.splice(0)) await part.close();
  });

  async function start(...scripts: DnsScript[]) {
    const servers = await Promise.all(scripts.map(createScriptedDns));
    const clock = createFakeClock();
    const resolver = createResolver({ servers: servers.map(({ address }) => address), clock });
    opened.push(resolver, ...servers);
    return { servers, clock, resolver };
  }

  it("goes on to the next after SERVFAIL, and does not ask the first one again", async () => {
    const { servers, resolver } = await start("servfail", "answer");
    assert.equal((await resolver.a("x.test")).status, "ok");
    assert.deepEqual(
      servers.map(({ asked }) => asked.length),
      [1, 1],
    );
  });

  it("reports the failure when all fail, not the silence of another", async () => {
    const { clock, resolver } = await start("silent", "refused");
    const pending = resolver.a("x.test");
    let outcome: DnsOutcome<string> | null = null;
    void pending.then((value) => {
      outcome = value;
    });
    while (outcome === null) await clock.advanceAsync(LIMITS.dns.attemptTimeoutMs);
    assert.deepEqual(outcome, { status: "server_failure", code: "REFUSED" });
  });

  it("tries a silent server again, then gives up", async () => {
    const { servers, clock, resolver } = await start("silent");
    let outcome: DnsOutcome<string> | null = null;
    void resolver.a("x.test").then((value) => {
      outcome = value;
    });
    for (let attempt = 1; attempt <= LIMITS.dns.attempts; attempt++) {
      await servers[0]?.until(() => servers[0]?.asked.length === attempt);
      assert.equal(outcome, null);
      await clock.advanceAsync(LIMITS.dns.attemptTimeoutMs);
    }
    assert.deepEqual(outcome, { status: "no_answer", code: "timeout" });
    assert.equal(clock.pending, 0);
  });

  it("prefers the server that answers over one that was silent", async () => {
    const { servers, clock, resolver } = await start("silent", "answer");
    const first = resolver.a("x.test");
    await servers[0]?.until(() => servers[0]?.asked.length === 1);
    await clock.advanceAsync(LIMITS.dns.attemptTimeoutMs);
    assert.equal((await first).status, "ok");
    assert.equal((await resolver.a("y.test")).status, "ok");
    assert.equal(servers[0]?.asked.length, 1);
  });

  it("reports `unreachable`, soon, when no server listens", async () => {
    const gone = await createScriptedDns("answer");
    await gone.close();
    const resolver = createResolver({ servers: [gone.address], clock: createFakeClock() });
    opened.push(resolver);
    assert.deepEqual(await resolver.a("x.test"), { status: "no_answer", code: "unreachable" });
  });

  it("asks for the target of a CNAME that the answer leaves open, but not for ever", async () => {
    const { resolver } = await start("half-chain");
    const outcome = await resolver.a("alias.test");
    assert.deepEqual(outcome, { status: "ok", records: ["192.0.2.1"], ttlS: 30 });
    assert.deepEqual(await resolver.a("endless0.test"), { status: "server_failure", code: "CNAME_CHAIN" });
    assert.deepEqual(await resolver.a("circle0.test"), { status: "server_failure", code: "CNAME_LOOP" });
  });

  it("outlives packets of noise, and answers still", async () => {
    const { servers, resolver } = await start("noise");
    for (let i = 0; i < 20; i++) assert.equal((await resolver.a(`n${i}.test`)).status, "ok");
    assert.equal(servers[0]?.asked.length, 20);
  });

  it("answers a healthy name behind a thousand silent ones in a moment", async () => {
    const { servers, clock, resolver } = await start("half-silent");
    const [server] = servers;
    const silent = Array.from({ length: 1_000 }, (_, i) => resolver.a(`silent${i}.test`));
    let answeredAtMs: number | null = null;
    const healthy = resolver.a("healthy.test").then((outcome) => {
      answeredAtMs = clock.monotonic();
      return outcome.status;
    });
    const FRESH = LIMITS.dns.socketsPerThread * LIMITS.dns.inFlightPerSocket;
    for (let sent = FRESH; sent < 1_001; sent += FRESH) {
      await server?.until(() => server.asked.length >= sent);
      assert.equal(answeredAtMs, null);
      await clock.advanceAsync(LIMITS.dns.freshMs);
    }
    assert.equal(await healthy, "ok");
    assert.equal(answeredAtMs, 2 * LIMITS.dns.freshMs);
    await resolver.close();
    const ends = new Set((await Promise.all(silent)).map(summary));
    assert.deepEqual(ends, new Set(["no_answer unreachable"]));
  });

  it("does not let a thousand names that ask again hold up one that asks first", async () => {
    const { servers, clock, resolver } = await start("half-silent");
    const [server] = servers;
    const silent: Promise<unknown>[] = [];
    for (let asked = 0; asked < 1_000; asked += 250) {
      for (let i = 0; i < 250; i++) silent.push(resolver.a(`silent${asked + i}.test`));
      await server?.until(() => server.asked.length === asked + 250);
      await clock.advanceAsync(LIMITS.dns.freshMs);
    }
    await clock.advanceAsync(LIMITS.dns.attemptTimeoutMs - LIMITS.dns.freshMs);
    await server?.until(() => server.asked.length === 2_000);
    assert.equal((await resolver.a("healthy.test")).status, "ok", "while the clock stands still");
    await resolver.close();
    await Promise.all(silent);
  });

  it("gives what is asked aside one attempt, ends it by its time, and turns away at once what has no place", async () => {
    const { servers, clock, resolver } = await start("silent", "silent");
    const untilMs = clock.monotonic() + 500;
    const ends: string[] = [];
    const ask = (name: string) =>
      resolver.txt(name, { untilMs }).then((outcome) => void ends.push(summary(outcome)));
    const all = Array.from({ length: LIMITS.dns.bestEffortInFlight }, (_, i) => ask(`n${i}.test`));
    await ask("over.test");
    assert.deepEqual(ends.splice(0), ["no_answer overloaded"]);
    await servers[0]?.until(() => servers[0]?.asked.length === LIMITS.dns.bestEffortInFlight);
    await clock.advanceAsync(499);
    assert.deepEqual(ends, []);
    await clock.advanceAsync(1);
    await Promise.all(all);
    assert.deepEqual(new Set(ends), new Set(["no_answer timeout"]));
    assert.equal(clock.pending, 0);
    assert.equal(servers[0]?.asked.length, LIMITS.dns.bestEffortInFlight);
    assert.equal(servers[1]?.asked.length, 0, "nobody asked again");
    ends.length = 0;
    await ask("late.test");
    assert.deepEqual(ends, ["no_answer overloaded"], "its time is over");
    assert.equal(servers[0]?.asked.length, LIMITS.dns.bestEffortInFlight);
  });

  it("keeps all slots of required look-ups, however many optional ones are silent", async () => {
    const { servers, clock, resolver } = await start("half-silent");
    const [server] = servers;
    const aside = { untilMs: clock.monotonic() + 500 };
    const silent = Array.from({ length: LIMITS.dns.bestEffortInFlight * 3 }, (_, i) =>
      i % 2 === 0 ? resolver.txt(`silent${i}.test`, aside) : resolver.a(`silent${i}.test`, aside),
    );
    const FRESH = LIMITS.dns.socketsPerThread * LIMITS.dns.inFlightPerSocket;
    const healthy = Array.from({ length: FRESH + LIMITS.dns.waiting / 20 }, (_, i) =>
      resolver.a(`healthy${i}.test`),
    );
    const ends = await Promise.all(healthy);
    assert.deepEqual(new Set(ends.map(summary)), new Set(["ok"]), "while the clock stands still");
    await server?.until(() => server.asked.length === LIMITS.dns.bestEffortInFlight + healthy.length);
    await clock.advanceAsync(500);
    const outcomes = (await Promise.all(silent)).map(summary);
    assert.equal(outcomes.filter((end) => end === "no_answer timeout").length, LIMITS.dns.bestEffortInFlight);
    assert.equal(
      outcomes.filter((end) => end === "no_answer overloaded").length,
      LIMITS.dns.bestEffortInFlight * 2,
    );
  });

  it("bounds what is in flight, keeps the rest waiting, turns away what is over", async () => {
    const { servers, resolver } = await start("silent");
    const flying = LIMITS.dns.socketsPerThread * LIMITS.dns.inFlightPerSocket;
    const all = Array.from({ length: flying + LIMITS.dns.waiting }, (_, i) => resolver.a(`n${i}.test`));
    assert.deepEqual(await resolver.a("over.test"), { status: "no_answer", code: "overloaded" });
    await servers[0]?.until(() => servers[0]?.asked.length === flying);
    await resolver.close();
    const outcomes = await Promise.all(all);
    assert.ok(outcomes.every(({ status }) => status === "no_answer"));
    assert.equal(servers[0]?.asked.length, flying);
  });
});

describe("a resolver that gets forged answers", () => {
  const opened: (ScriptedDns | Resolver)[] = [];
  afterEach(async () => {
    for (const part of opened.splice(0)) await part.close();
  });

  async function start(script: DnsScript) {
    const server = await createScriptedDns(script);
    const clock = createFakeClock();
    const resolver = createResolver({ servers: [server.address], clock });
    opened.push(resolver, server);
    return { server, clock, resolver };
  }

  const udpSockets = () => process.getActiveResourcesInfo().filter((name) => name === "UDPWrap").length;

  it("leaves a port after a few questions", async () => {
    const { server, resolver } = await start("answer");
    const openBefore = udpSockets();
    const COUNT = 5 * LIMITS.dns.socketQueries;
    for (let i = 0; i < COUNT; i++) assert.equal((await resolver.a(`n${i}.test`)).status, "ok");
    const uses = new Map<number, number>();
    for (const port of server.ports) uses.set(port, (uses.get(port) ?? 0) + 1);
    // The kernel draws the ports, so one of them may come twice.
    assert.ok(uses.size >= 4, `${uses.size} ports`);
    assert.ok(Math.max(...uses.values()) <= 2 * LIMITS.dns.socketQueries);
    assert.ok(
      udpSockets() - openBefore <= LIMITS.dns.socketsPerThread,
      "the ports that were left are closed",
    );
  });

  it("leaves a port after some seconds", async () => {
    const { server, clock, resolver } = await start("answer");
    for (let i = 0; i < 5; i++) {
      assert.equal((await resolver.a(`n${i}.test`)).status, "ok");
      clock.advance(LIMITS.dns.socketAgeMs);
    }
    assert.ok(new Set(server.ports).size >= 4);
  });

  it("still accepts an answer that comes to a port it no longer uses", async () => {
    const { server, resolver } = await start("held");
    const held = resolver.a("held.test");
    await server.until(() => server.asked.length === 1);
    const rest = LIMITS.dns.socketQueries * (LIMITS.dns.socketsPerThread + 1);
    for (let i = 0; i < rest; i++) assert.equal((await resolver.a(`n${i}.test`)).status, "ok");
    server.release();
    assert.equal((await held).status, "ok");
  });

  it("asks in unpredictable letter case", async () => {
    const { server, resolver } = await start("answer");
    const name = "a-long-enough-name.example.test";
    for (let i = 0; i < 5; i++) assert.equal((await resolver.a(name)).status, "ok");
    assert.deepEqual(new Set(server.asked), new Set([name]));
    assert.equal(new Set(server.spelt).size, 5);
  });

  it("rejects an answer in another letter case, and asks again", async () => {
    const { server, resolver } = await start("forged-case");
    const outcome = await resolver.a("bank.example.test");
    assert.deepEqual(outcome, { status: "ok", records: ["192.0.2.1"], ttlS: 300 });
    assert.equal(server.spelt.length, 2);
    assert.equal(server.spelt[1], "bank.example.test");
  });

  it("asks a server that keeps no case in lower case, and after a while tries it anew", async () => {
    const { server, clock, resolver } = await start("lower-case");
    const ask = async () => {
      const before = server.asked.length;
      assert.equal((await resolver.a("a-long-enough-name.example.test")).status, "ok");
      return server.asked.length - before;
    };
    for (let i = 0; i < LIMITS.dns.caseMismatches; i++) assert.equal(await ask(), 2);
    assert.ok(new Set(server.ports).size >= LIMITS.dns.caseMismatches, "a new port for each second question");
    for (let i = 0; i < 5; i++) assert.equal(await ask(), 1);
    clock.advance(LIMITS.dns.lowerCaseMs);
    assert.equal(await ask(), 2);
  });
});
