import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createRouteHealth } from "../../../src/egress/route-health.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import fc from "../../support/properties.ts";

const { silentMs, sentinelDialMs, trialDialMs, trialEveryMs, coolMs } = LIMITS.network;

/**
 * A route whose servers answer a dial after the milliseconds in `rtt`; those not in it never do.
 * @param history a server was reached before
 */
function way(rtt: Map<string, number>, history = true) {
  const clock = createFakeClock();
  const states: [down: boolean, atMs: number][] = [];
  const dialled: string[] = [];
  let reachedMs = history ? clock.now() - 10_000 : 0;
  let underWay = 0;
  let most = 0;
  const health = createRouteHealth({
    clock,
    lastReachedMs: () => reachedMs,
    noteReached(epochMs) {
      reachedMs = epochMs;
    },
    dial(address, withinMs) {
      dialled.push(address);
      most = Math.max(most, ++underWay);
      return new Promise((resolve) => {
        const tripMs = rtt.get(address) ?? Number.POSITIVE_INFINITY;
        clock.after(Math.min(tripMs, withinMs), () => {
          underWay--;
          resolve(tripMs <= withinMs);
        });
      });
    },
    onChange: (down) => states.push([down, clock.monotonic()]),
  });
  /** Reports as a thread that dials `address`: silence, the end, or success. */
  function probe(site: string, address: string): void {
    const beganMs = clock.now();
    const tripMs = rtt.get(address) ?? Number.POSITIVE_INFINITY;
    clock.after(Math.min(tripMs, LIMITS.smtp.connectTimeoutMs), () => {
      if (tripMs > LIMITS.smtp.connectTimeoutMs) return health.onFailed(site, address);
      reachedMs = clock.now();
      health.onReached(site, address);
    });
    // Looked at with the next sweep.
    clock.after(silentMs + LIMITS.smtp.sweepMs, () => {
      if (tripMs > silentMs + LIMITS.smtp.sweepMs && reachedMs < beganMs)
        health.onSilent({ site, address, beganMs });
    });
  }
  return { clock, states, dialled, health, probe, most: () => most };
}

const BIG = [
  { site: "google", address: "192.0.2.1" },
  { site: "outlook", address: "192.0.2.2" },
  { site: "yahoo", address: "192.0.2.3" },
];

describe("an egress route without any connection", () => {
  it("is known within a second of the first dial, when the big providers are silent too", async () => {
    const { clock, states, health, probe } = way(new Map());
    health.setSentinels(BIG);
    probe("a.test", "198.51.100.1");
    await clock.advanceAsync(1_000);
    assert.deepEqual(states, [[true, silentMs + LIMITS.smtp.sweepMs + sentinelDialMs]]);
    const known = silentMs + sentinelDialMs + 2 * LIMITS.smtp.sweepMs;
    assert.ok(known < 1_000, "with the sweep in which those who wait in a dial see it");
  });

  it("is known within a second also when those of two sites are silent that answered just now", async () => {
    const rtt = new Map([
      ["198.51.100.1", 20],
      ["198.51.100.2", 20],
    ]);
    const { clock, states, probe } = way(rtt);
    probe("a.test", "198.51.100.1");
    probe("b.test", "198.51.100.2");
    await clock.advanceAsync(100);
    rtt.clear();
    probe("c.test", "198.51.100.3");
    await clock.advanceAsync(900);
    assert.deepEqual(
      states.map(([down]) => down),
      [true],
    );
  });

  it("is detected by four silent sites where no other can be asked, and not by three", async () => {
    const { clock, states, probe, dialled } = way(new Map());
    for (let i = 0; i < 3; i++) probe(`s${i}.test`, `198.51.100.${i}`);
    await clock.advanceAsync(900);
    assert.deepEqual([states, dialled], [[], []]);
    probe("s3.test", "198.51.100.3");
    const toldMs = silentMs + LIMITS.smtp.sweepMs;
    await clock.advanceAsync(toldMs + sentinelDialMs - 1);
    assert.deepEqual([states.length, dialled.length], [0, 4], "not before dials of our own were silent");
    await clock.advanceAsync(1);
    assert.deepEqual(states, [[true, 900 + toldMs + sentinelDialMs]]);
    assert.ok(toldMs + sentinelDialMs + LIMITS.smtp.sweepMs < 1_000);
  });

  it("is known by doubt alone, before anybody was probed", async () => {
    const { clock, states, health } = way(new Map());
    health.setSentinels(BIG);
    health.checkSoon();
    await clock.advanceAsync(sentinelDialMs);
    assert.deepEqual(states, [[true, sentinelDialMs]]);
  });

  it("is detected by suspicion before any server was ever reached, once a slow network would have answered", async () => {
    const { clock, states, health } = way(new Map(), false);
    health.setSentinels(BIG);
    health.checkSoon();
    await clock.advanceAsync(trialDialMs);
    assert.deepEqual(states, [[true, trialDialMs]]);
  });

  it("is tried by the process itself, and is back with the first that takes a connection", async () => {
    const rtt = new Map<string, number>();
    const { clock, states, health, most } = way(rtt);
    health.setSentinels(BIG);
    health.checkSoon();
    await clock.advanceAsync(sentinelDialMs + trialDialMs);
    rtt.set("192.0.2.2", 30);
    await clock.advanceAsync(trialEveryMs + trialDialMs);
    assert.deepEqual(
      states.map(([down]) => down),
      [true, false],
    );
    assert.ok(most() <= LIMITS.network.trialDials);
    health.stop();
    assert.equal(clock.pending, 0);
  });

  it("is not doubted while one of the big providers can be reached", async () => {
    const { clock, states, health } = way(new Map([["192.0.2.3", 50]]));
    health.setSentinels(BIG);
    health.checkSoon();
    await clock.advanceAsync(10_000);
    assert.deepEqual(states, []);
  });
});

describe("what is no fault of the network", () => {
  it("servers that seemed silent because we did not poll, with or without other evidence", async () => {
    const sites = Array.from({ length: 12 }, (_, i) => ({ site: `s${i}.test`, address: `198.51.100.${i}` }));
    for (const known of [null, { site: "only.test", address: "203.0.113.1" }]) {
      const { clock, states, health, dialled } = way(new Map(sites.map(({ address }) => [address, 300])));
      if (known !== null) health.onReached(known.site, known.address);
      const beganMs = clock.now();
      await clock.advanceAsync(silentMs);
      for (const { site, address } of sites) health.onSilent({ site, address, beganMs });
      await clock.advanceAsync(5_000);
      assert.deepEqual(states, []);
      assert.ok(new Set(dialled).size > 1 && dialled.length <= 2 * LIMITS.network.sentinels);
    }
  });

  it("one site of many addresses, dead after it was the last that answered", async () => {
    const rtt = new Map(Array.from({ length: 6 }, (_, i) => [`198.51.100.${i}`, 10]));
    const { clock, states, probe } = way(rtt);
    for (const address of rtt.keys()) probe("only.test", address);
    await clock.advanceAsync(100);
    const addresses = [...rtt.keys()];
    rtt.clear();
    for (let round = 0; round < 20; round++) {
      for (const address of addresses) probe("only.test", address);
      await clock.advanceAsync(1_000);
    }
    assert.deepEqual(states, []);
  });

  it("a slow network: 400 ms a round trip", async () => {
    const rtt = new Map(BIG.map(({ address }) => [address, 400]));
    for (let i = 0; i < 50; i++) rtt.set(`198.51.100.${i}`, 400);
    const { clock, states, health, probe } = way(rtt);
    health.setSentinels(BIG);
    for (let i = 0; i < 50; i++) {
      probe(`s${i}.test`, `198.51.100.${i}`);
      await clock.advanceAsync(130);
    }
    await clock.advanceAsync(10_000);
    assert.deepEqual(states, []);
  });

  it("a network slower than that, where no server has been reached before", async () => {
    for (const tripMs of [560, 700, 1_200, 2_000]) {
      const { clock, states, health } = way(new Map(BIG.map(({ address }) => [address, tripMs])), false);
      health.setSentinels(BIG);
      health.checkSoon();
      await clock.advanceAsync(20_000);
      assert.deepEqual(states, [], `${tripMs} ms`);
      health.checkSoon();
      await clock.advanceAsync(20_000);
      assert.deepEqual(states, [], `${tripMs} ms, again`);
    }
  });

  it("a network that has become slower than that, for longer than it takes to notice", async () => {
    const { clock, states, health } = way(new Map(BIG.map(({ address }) => [address, 1_200])));
    health.setSentinels(BIG);
    health.checkSoon();
    await clock.advanceAsync(20_000);
    assert.deepEqual(states, [
      [true, sentinelDialMs],
      [false, sentinelDialMs + 1_200],
    ]);
  });

  it("doubt in a moment in which a server takes connections", async () => {
    const { clock, dialled, health, probe } = way(new Map([["198.51.100.1", 20]]));
    health.setSentinels(BIG);
    probe("a.test", "198.51.100.1");
    await clock.advanceAsync(100);
    health.checkSoon();
    await clock.advanceAsync(500);
    assert.deepEqual(dialled, []);
  });

  it("a network slower than that, once it has been taken for a dead one", async () => {
    const rtt = new Map(BIG.map(({ address }) => [address, 1_200]));
    const { clock, states, health, probe } = way(rtt);
    health.setSentinels(BIG);
    rtt.set("198.51.100.1", 1_200);
    probe("a.test", "198.51.100.1");
    await clock.advanceAsync(20_000);
    assert.deepEqual(
      states.map(([down]) => down),
      [true, false],
    );
    for (let i = 0; i < 10; i++) {
      probe("a.test", "198.51.100.1");
      await clock.advanceAsync(2_000);
    }
    assert.equal(states.length, 2);
  });

  it("any single dead site, whatever is asked when", async () => {
    const probes = fc.array(
      fc.record({ site: fc.nat({ max: 4 }), host: fc.nat({ max: 2 }), afterMs: fc.nat({ max: 700 }) }),
      { maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(
        probes,
        fc.nat({ max: 450 }),
        fc.nat({ max: 4 }),
        fc.nat({ max: 20_000 }),
        fc.boolean(),
        async (schedule, tripMs, dead, diesAtMs, knows) => {
          const rtt = new Map(BIG.map(({ address }) => [address, tripMs]));
          for (let site = 0; site < 5; site++)
            for (let host = 0; host < 3; host++) rtt.set(`198.51.100.${site * 10 + host}`, tripMs);
          const { clock, states, health, probe } = way(rtt);
          if (knows) health.setSentinels(BIG);
          clock.after(diesAtMs, () => {
            for (let host = 0; host < 3; host++) rtt.delete(`198.51.100.${dead * 10 + host}`);
          });
          for (const { site, host, afterMs } of schedule) {
            probe(`s${site}.test`, `198.51.100.${site * 10 + host}`);
            await clock.advanceAsync(afterMs);
          }
          await clock.advanceAsync(10_000);
          assert.deepEqual(states, []);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("leaves the big providers in peace while dead sites are all there is", async () => {
    const { clock, states, dialled, health, probe } = way(new Map(BIG.map(({ address }) => [address, 20])));
    health.setSentinels(BIG);
    for (let i = 0; i < 600; i++) {
      probe(`dead${i}.test`, `198.51.100.${i % 250}`);
      await clock.advanceAsync(100);
    }
    assert.deepEqual(states, []);
    assert.ok(dialled.length <= 3 * 24, `${dialled.length} dials in a minute`);
    assert.ok(coolMs < 500);
  });
});
