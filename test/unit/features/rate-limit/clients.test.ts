import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createClientLimiter, createPublicRate } from "../../../../src/features/rate-limit/clients.ts";
import fc from "../../../support/properties.ts";

const { burst, unitsPerS, debt, clientsPerSite } = LIMITS.clients;
const CLIENT = "192.0.2.1";
const UNIT_MS = 1000 / unitsPerS;

describe("what clients have refused", () => {
  it("is free until the burst is used up, then costs the time of a unit", () => {
    const clients = createClientLimiter();
    for (let i = 0; i < burst; i++) {
      assert.equal(clients.refusal(CLIENT, 0), null, `request ${i + 1}`);
      clients.charge(CLIENT, 1, 0);
    }
    const refusal = clients.refusal(CLIENT, 0);
    assert.equal(refusal?.code, "rate_limited");
    assert.equal(refusal?.status, 429);
    assert.equal(refusal?.retryAfterS, 1);
    assert.notEqual(clients.refusal(CLIENT, UNIT_MS - 1), null);
    assert.equal(clients.refusal(CLIENT, UNIT_MS), null);
    clients.charge(CLIENT, 1, UNIT_MS);
    assert.notEqual(clients.refusal(CLIENT, UNIT_MS), null);
  });

  it("is separate for each client", () => {
    const clients = createClientLimiter();
    clients.charge(CLIENT, burst, 0);
    assert.equal(clients.refusal("192.0.2.2", 0), null);
    assert.equal(clients.refusal("unknown", 0), null);
    clients.charge("unknown", burst, 0);
    assert.notEqual(clients.refusal("unknown", 0), null);
  });

  it("makes a client wait for its requests in progress, and no longer than for the greatest debt", () => {
    const clients = createClientLimiter();
    clients.charge(CLIENT, burst + 30, 0);
    assert.equal(clients.refusal(CLIENT, 0)?.retryAfterS, Math.ceil(31 / unitsPerS));
    clients.charge(CLIENT, 1e9, 0);
    assert.equal(clients.refusal(CLIENT, 0)?.retryAfterS, Math.ceil((debt + 1) / unitsPerS));
    assert.equal(clients.refusal(CLIENT, (debt + 1) * UNIT_MS), null);
  });

  it("counts an IPv6 client by its /64, and the site's clients together", () => {
    const clients = createClientLimiter();
    clients.charge("2001:db8::1", burst, 0);
    assert.notEqual(clients.refusal("2001:db8::ffff:2", 0), null);
    assert.equal(clients.refusal("2001:db8:0:1::1", 0), null);
    for (let client = 1; client < clientsPerSite; client++)
      clients.charge(`2001:db8:0:${client}::1`, burst, 0);
    assert.notEqual(clients.refusal("2001:db8:0:ffff::1", 0), null, "another client of the site");
    assert.equal(clients.refusal("2001:db8:1::1", 0), null, "another site");
  });

  it("remembers a bounded number of clients and forgets the one charged longest ago", () => {
    const clients = createClientLimiter({ ...LIMITS.clients, remembered: 2 });
    for (const host of [1, 2, 3]) clients.charge(`192.0.2.${host}`, burst, 0);
    assert.equal(clients.refusal("192.0.2.1", 0), null);
    assert.notEqual(clients.refusal("192.0.2.2", 0), null);
    assert.notEqual(clients.refusal("192.0.2.3", 0), null);
  });

  it("says the same object for the same wait, since it comes by the thousand", () => {
    const clients = createClientLimiter();
    clients.charge(CLIENT, burst, 0);
    assert.equal(clients.refusal(CLIENT, 0), clients.refusal(CLIENT, 1));
  });

  it("admits no more than burst and rate allow, and a unit after each stated wait", () => {
    const step = fc.record({
      afterMs: fc.integer({ min: 0, max: 3000 }),
      units: fc.integer({ min: 1, max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const clients = createClientLimiter();
        let nowMs = 0;
        let charged = 0;
        for (const { afterMs, units } of steps) {
          nowMs += afterMs;
          const refusal = clients.refusal(CLIENT, nowMs);
          if (refusal !== null) {
            const toldMs = (refusal.retryAfterS ?? 0) * 1000;
            assert.equal(clients.refusal(CLIENT, nowMs + toldMs), null);
            continue;
          }
          clients.charge(CLIENT, units, nowMs);
          charged += units;
          // A client with one unit left may spend three.
          assert.ok(charged <= burst + 2 + (nowMs / 1000) * unitsPerS + 1e-6);
        }
      }),
    );
  });
});

describe("what is left to a client", () => {
  const { publicRate } = LIMITS;
  const unitMs = 1_000 / publicRate.unitsPerS;
  const { burst: most } = publicRate;
  const IPV6 = "2001:db8:0:1::1";

  it("is as many requests as are taken, and the time to the next", () => {
    for (const address of [CLIENT, IPV6]) {
      const rate = createPublicRate();
      assert.deepEqual(rate.snapshot(address, 0), { remaining: most, resetS: 1 });
      for (let left = most - 1; left >= 0; left--) {
        rate.take(address, 0);
        assert.equal(rate.snapshot(address, 0).remaining, left);
      }
      assert.throws(() => rate.take(address, 0), { code: "rate_limited" });
      assert.deepEqual(rate.snapshot(address, 0), { remaining: 0, resetS: 1 });
      assert.equal(rate.snapshot(address, 2 * unitMs).remaining, 2);
      assert.equal(rate.snapshot(address, 1e9).remaining, most);
    }
  });

  it("is no more than its site has", () => {
    const rate = createPublicRate();
    for (let client = 2; client <= 1 + publicRate.clientsPerSite; client++)
      for (let i = 0; i < most - 1; i++) rate.take(`2001:db8:0:${client}::1`, 0);
    assert.equal(rate.snapshot(IPV6, 0).remaining, publicRate.clientsPerSite);
    assert.equal(rate.snapshot("2001:db8:1::1", 0).remaining, most);
  });
});
