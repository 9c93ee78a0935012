import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { BeliefAuthority } from "../../../../src/check/belief/authority.ts";
import type { ControlAnswer } from "../../../../src/check/belief/messages.ts";
import { beliefNotice } from "../../../../src/check/belief/notices.ts";
import { LIMITS } from "../../../../src/core/limits.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import {
  createLocalBeliefMirror,
  createLocalBeliefs,
  memoryBeliefStore,
} from "../../../support/local-beliefs.ts";

const { addresses, addressesOfFew, domains, quietRun, controls, controlEveryMs } = LIMITS.belief;
const { strangerDomains, exploreEvery, heldMs, syncEveryMs } = LIMITS.belief;
const SITE = "hoster.test";

function world(store = memoryBeliefStore()) {
  const clock = createFakeClock();
  const { authority, events } = createLocalBeliefs(clock, store);
  const threads = [createLocalBeliefMirror(authority, clock), createLocalBeliefMirror(authority, clock)];
  const asked: string[] = [];

  /** A refusal, as the engine takes it. @returns true: it condemns */
  async function refuse(thread: number, address: string, answer: ControlAnswer): Promise<boolean> {
    const { beliefs } = threads[thread] ?? assert.fail();
    const domain = address.slice(address.indexOf("@") + 1);
    let say = await beliefs.refused(SITE, { address, domain });
    while (say.kind === "control") {
      asked.push(say.domain);
      say = await beliefs.controlled(SITE, say.domain, answer);
    }
    return say.kind === "believed";
  }
  /** How many of `count` are condemned. */
  async function refuseMany(count: number, over: number, answer: ControlAnswer): Promise<number> {
    let condemned = 0;
    for (let i = 0; i < count; i++)
      if (await refuse(i % 2, `a${i}@d${i % over}.test`, answer)) condemned += 1;
    return condemned;
  }
  return { clock, authority, events, threads, asked, refuse, refuseMany };
}

function strangers(authority: BeliefAuthority, count: number, accepted: (i: number) => boolean): void {
  for (let i = 0; i < count; i++) authority.stranger(SITE, `d${i}.test`, accepted(i));
}

describe("a site that refuses everybody", () => {
  it("is found out before it has condemned more than the few that make us doubt, postmaster being refused too", async () => {
    const { asked, events, authority, refuseMany } = world();
    const condemned = await refuseMany(1_000, 40, "refused");
    assert.ok(condemned <= addresses + 2 * quietRun, `${condemned} were condemned`);
    assert.equal(asked.length, controls);
    assert.equal(new Set(asked).size, controls);
    assert.equal(authority.habitOf(SITE), "refuses_all");
    assert.deepEqual(
      events.map(({ habit, formed }) => [habit, formed]),
      [["refuses_all", true]],
    );
  });

  it("needs more addresses where they are of few domains, and one postmaster", async () => {
    const { asked, refuseMany } = world();
    const condemned = await refuseMany(1_000, 1, "refused");
    assert.ok(condemned > addresses && condemned <= addressesOfFew + 2 * quietRun, `${condemned}`);
    assert.deepEqual(asked, ["d0.test"]);
  });

  it("is not one that accepts postmaster: counts start anew, and it is left in peace for an hour", async () => {
    const { clock, asked, events, threads, refuseMany } = world();
    assert.equal(await refuseMany(1_000, 40, "accepted"), 1_000);
    assert.deepEqual([asked.length, events.length], [1, 0]);
    clock.advance(controlEveryMs - 1);
    for (const { beliefs } of threads) beliefs.accepted(SITE);
    await refuseMany(1_000, 40, "accepted");
    assert.equal(asked.length, 1);
    clock.advance(2);
    await refuseMany(1_000, 40, "accepted");
    assert.equal(asked.length, 2);
  });

  it("is not believed to be one while the question brings nothing, and condemns on", async () => {
    const { asked, refuseMany } = world();
    assert.equal(await refuseMany(1_000, 40, "inconclusive"), 1_000);
    assert.equal(asked.length, 1);
  });

  it("is believed again with the first that it accepts, and asked for that now and then", async () => {
    const { threads, authority, events, refuse, refuseMany } = world();
    await refuseMany(200, 40, "refused");
    const [one] = threads;
    assert.ok(one);
    const explored = Array.from({ length: 5 * exploreEvery }, () => one.beliefs.explores(SITE));
    assert.equal(explored.filter(Boolean).length, 5);
    assert.equal(await refuse(0, "more@d1.test", "refused"), false);
    one.beliefs.accepted(SITE);
    assert.equal(authority.habitOf(SITE), null);
    assert.deepEqual(
      threads.map(({ beliefs }) => beliefs.habitOf(SITE)),
      [null, null],
    );
    assert.equal(events.at(-1)?.formed, false);
    assert.equal(await refuse(1, "more@d1.test", "refused"), true);
  });

  /** Refusals until one thread has to ask a postmaster. */
  async function doubted() {
    const made = world();
    await made.refuseMany(addresses - 1, 40, "refused");
    const [one, two] = made.threads;
    assert.ok(one && two);
    assert.deepEqual(made.asked, []);
    const refused = (thread: typeof one, i: number) =>
      thread.beliefs.refused(SITE, { address: `z${i}@d${i}.test`, domain: `d${i}.test` });
    for (let i = 0; i < 2 * quietRun; i++) {
      const say = await refused(one, i);
      if (say.kind === "control") return { ...made, one, two, refused, domain: say.domain };
    }
    return assert.fail("nobody was doubted");
  }

  it("keeps those waiting who are refused while the postmaster is asked, and condemns none of them", async () => {
    const { one, two, refused, domain, authority } = await doubted();
    const waiting = Array.from({ length: 60 }, (_, i) => refused(i % 2 ? one : two, 100 + i));
    let say = await one.beliefs.controlled(SITE, domain, "refused");
    while (say.kind === "control") say = await one.beliefs.controlled(SITE, say.domain, "refused");
    assert.equal(say.kind, "refuses_all");
    const kinds = (await Promise.all(waiting)).map(({ kind }) => kind);
    // What a thread had not told of yet, since it was so little, is believed.
    const believed = kinds.filter((kind) => kind === "believed").length;
    assert.ok(believed < quietRun, `${believed} were condemned`);
    assert.equal(kinds.filter((kind) => kind === "refuses_all").length, 60 - believed);
    assert.equal(authority.habitOf(SITE), "refuses_all");
  });

  it("lets nobody wait for a thread that died while it asked", async () => {
    const { one, two, refused, authority } = await doubted();
    const waiting = Array.from({ length: quietRun + 1 }, (_, i) => refused(two, 100 + i));
    one.end.gone();
    for (const say of waiting) assert.notEqual((await say).kind, "refuses_all");
    assert.equal(authority.habitOf(SITE), null);
    const next = await refused(two, 200);
    assert.equal(next.kind, "control", "the question is another's now");
  });

  it("is never found in one that accepts postmaster, whatever else it answers", async () => {
    const mixes = fc.array(
      fc.record({ exists: fc.boolean(), run: fc.nat(200), domains: fc.integer({ min: 1, max: 40 }) }),
      { maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(mixes, async (mix) => {
        const { threads, authority, refuseMany } = world();
        for (const { exists, run, domains: over } of mix) {
          if (exists) threads[0]?.beliefs.accepted(SITE);
          await refuseMany(run, over, "accepted");
        }
        assert.equal(authority.habitOf(SITE), null);
      }),
      { numRuns: 60, seed: 5321 },
    );
  });

  it("is never found in one that accepts one address in a hundred evenly and has no postmaster: the bound", async () => {
    const { threads, authority, refuse } = world();
    // Evenly: one of each `addressesOfFew`, at one domain. By chance the same share has runs of that length.
    for (let i = 0; i < 3_000; i++) {
      if (i % (addressesOfFew - 1) === 0) for (const { beliefs } of threads) beliefs.accepted(SITE);
      else assert.equal(await refuse(i % 2, `a${i}@one.test`, "refused"), true);
    }
    assert.equal(authority.habitOf(SITE), null);
  });
});

describe("a site that accepts everybody", () => {
  it("is one where strangers of many domains were asked and nearly all accepted; never one domain", () => {
    const { authority, events } = world();
    for (let i = 0; i < 100; i++) authority.stranger(SITE, "one.test", true);
    strangers(authority, strangerDomains - 2, () => true);
    assert.equal(authority.habitOf(SITE), null);
    authority.stranger(SITE, "last.test", true);
    assert.equal(authority.habitOf(SITE), "accepts_all");
    assert.match(
      beliefNotice(events[0] ?? assert.fail()),
      /^hoster\.test accepts everybody \(strangers of 3\d domains/,
    );
  });

  it("is believed again once strangers are refused, and counts start anew", () => {
    const { authority, events } = world();
    strangers(authority, 100, () => true);
    for (let i = 0; i < 3; i++) authority.stranger(SITE, `e${i}.test`, false);
    assert.equal(authority.habitOf(SITE), null);
    authority.stranger(SITE, "f.test", true);
    assert.equal(authority.habitOf(SITE), null);
    assert.deepEqual(
      events.map(({ formed }) => formed),
      [true, false],
    );
  });

  it("is none of which more than two in a hundred refuse", () => {
    const { authority } = world();
    strangers(authority, 1_000, (i) => i % 25 !== 0);
    assert.equal(authority.habitOf(SITE), null);
  });
});

describe("beliefs", () => {
  it("are shared by the processes of an egress, also their end, and end by themselves", async () => {
    const store = memoryBeliefStore();
    const one = world(store);
    const two = world(store);
    two.authority.start();
    await one.refuseMany(200, 40, "refused");
    await two.clock.advanceAsync(syncEveryMs);
    assert.equal(two.authority.habitOf(SITE), "refuses_all");
    assert.equal(two.threads[0]?.beliefs.habitOf(SITE), "refuses_all");
    assert.match(beliefNotice(two.events[0] ?? assert.fail()), /another process/);
    one.clock.advance(1);
    one.threads[0]?.beliefs.accepted(SITE);
    await two.clock.advanceAsync(syncEveryMs);
    assert.equal(two.authority.habitOf(SITE), null);
    one.clock.advance(1);
    await one.refuseMany(200, 40, "refused");
    assert.equal(one.authority.habitOf(SITE), "refuses_all");
    one.clock.advance(heldMs);
    assert.equal(one.authority.habitOf(SITE), null);
    two.authority.stop();
    assert.equal(two.clock.pending, 0);
  });

  it("are bounded, the oldest go first", () => {
    const { authority } = world();
    for (let site = 0; site <= LIMITS.belief.beliefs; site++)
      for (let i = 0; i < strangerDomains; i++) authority.stranger(`s${site}.test`, `d${i}.test`, true);
    assert.equal(authority.counts().accepts_all, LIMITS.belief.beliefs);
    assert.equal(authority.habitOf("s0.test"), null);
  });

  it("counts domains up to a bound", () => {
    assert.ok(domains <= addresses && addresses <= addressesOfFew);
  });
});
