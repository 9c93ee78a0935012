import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createSiteCaps } from "../../../src/egress/site-caps.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import fc from "../../support/properties.ts";

const { crowdedEveryMs, raiseEveryMs, memoryMs, sites } = LIMITS.learned;

function setUp() {
  const clock = createFakeClock();
  const reduced: string[] = [];
  const caps = createSiteCaps({
    clock,
    onReduced: (site, open, cap) => reduced.push(`${site} ${open} ${cap}`),
  });
  return { clock, caps, reduced };
}

/** Opens as many connections as allowed, for `forMs`, at a server that accepts `room`. @returns open ones at the end, refusals */
function use({ clock, caps }: ReturnType<typeof setUp>, room: number, max: number, forMs: number) {
  let open = 0;
  let refusals = 0;
  for (const end = clock.monotonic() + forMs; clock.monotonic() < end; clock.advance(1_000)) {
    while (open < caps.limit("a", max, open)) {
      open++;
      if (open <= room) continue;
      refusals++;
      caps.onCrowded("a", open);
      open--;
      break;
    }
    // Connections end after a while.
    if (open > 0 && (clock.monotonic() / 1_000) % 5 === 0) open--;
  }
  return { open, refusals };
}

describe("learnt caps", () => {
  it("are the policy's until connections fail, then half of those open, reported once", () => {
    const { caps, clock, reduced } = setUp();
    assert.equal(caps.limit("a", 10, 10), 10);
    caps.onCrowded("a", 10);
    assert.deepEqual([caps.limit("a", 10, 5), caps.limit("b", 10, 5), caps.reduced().length], [5, 10, 1]);
    clock.advance(crowdedEveryMs);
    caps.onCrowded("a", 5);
    assert.equal(caps.limit("a", 10, 3), 3);
    clock.advance(crowdedEveryMs);
    caps.onCrowded("a", 3);
    clock.advance(crowdedEveryMs);
    caps.onCrowded("a", 2);
    clock.advance(crowdedEveryMs);
    caps.onCrowded("a", 1);
    assert.equal(caps.limit("a", 10, 1), 1);
    assert.deepEqual(reduced, ["a 10 5"]);
  });

  it("fall once for one burst, and not again for what was open before", () => {
    const { caps, clock } = setUp();
    caps.onCrowded("a", 10);
    caps.onCrowded("a", 5);
    assert.equal(caps.limit("a", 10, 5), 5);
    clock.advance(crowdedEveryMs);
    caps.onCrowded("a", 9);
    assert.equal(caps.limit("a", 10, 9), 5);
  });

  it("grow only by being used up", () => {
    const { caps, clock } = setUp();
    caps.onCrowded("a", 10);
    clock.advance(3 * raiseEveryMs);
    assert.equal(caps.limit("a", 10, 4), 5);
    assert.equal(caps.limit("a", 10, 5), 6);
    assert.equal(caps.limit("a", 10, 6), 6);
    clock.advance(raiseEveryMs);
    assert.equal(caps.limit("a", 10, 6), 7);
  });

  it("settle where the server has room, with few refusals", () => {
    const setup = setUp();
    const minute = use(setup, 2, 10, 60_000);
    assert.ok(minute.refusals <= 5, `${minute.refusals} in the first minute`);
    const day = use(setup, 2, 10, 86_400_000);
    assert.equal(setup.caps.limit("a", 10, 0), 2);
    assert.ok(day.refusals <= 40, `${day.refusals} in a day`);
  });

  it("come back to the policy's, and are forgotten", () => {
    const setup = setUp();
    use(setup, 2, 10, 60_000);
    assert.equal(setup.caps.reduced().length, 1);
    use(setup, 100, 10, 3_600_000);
    assert.equal(setup.caps.reduced().length, 0);
    const { caps, clock } = setUp();
    caps.onCrowded("a", 10);
    clock.advance(memoryMs);
    assert.equal(caps.reduced().length, 0, "also when nobody goes there any more");
  });

  it("stay within one and the policy's whatever happens, and recover", () => {
    const events = fc.array(
      fc.record({
        crowded: fc.boolean(),
        open: fc.integer({ min: 1, max: 20 }),
        afterMs: fc.integer({ min: 0, max: 30_000 }),
      }),
      { maxLength: 100 },
    );
    fc.assert(
      fc.property(events, fc.integer({ min: 1, max: 20 }), (list, max) => {
        const setup = setUp();
        const { caps, clock } = setup;
        for (const { crowded, open, afterMs } of list) {
          clock.advance(afterMs);
          if (crowded) caps.onCrowded("a", Math.min(open, max));
          const limit = caps.limit("a", max, open);
          assert.ok(limit >= 1 && limit <= max, `${limit} of ${max}`);
        }
        use(setup, Number.POSITIVE_INFINITY, max, 6 * 3_600_000);
        assert.equal(caps.limit("a", max, 0), max);
        assert.equal(caps.reduced().length, 0);
      }),
      { numRuns: 50 },
    );
  });

  it("are kept of a bounded number of sites", () => {
    const { caps } = setUp();
    for (let i = 0; i <= sites; i++) caps.onCrowded(`site${i}`, 4);
    assert.equal(caps.reduced().length, sites);
    assert.equal(caps.limit("site0", 4, 0), 4);
  });
});
