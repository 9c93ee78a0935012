import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { BehaviourAuthority } from "../../../../src/engine/learned-behaviour/authority.ts";
import type { PostmasterAnswer } from "../../../../src/engine/learned-behaviour/messages.ts";
import { behaviourNotice, suspicionNotice } from "../../../../src/engine/learned-behaviour/notices.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import {
  createLocalBehaviourMirror,
  createLocalBehaviours,
  memoryBehaviourStore,
} from "../../../support/local-behaviours.ts";
import fc from "../../../support/properties.ts";

const { addresses, domains, quietRun, controls, controlsTried, controlEveryMs, silenceRestMs } =
  LIMITS.learnedBehaviour;
const {
  catchAllProbeDomains: strangerDomains,
  exploreEvery,
  exploreDomains,
  heldMs,
  syncEveryMs,
  runMs,
} = LIMITS.learnedBehaviour;
const SITE = "hoster.test";

/** Answers about postmasters. */
type Answer = PostmasterAnswer | ((domain: string) => PostmasterAnswer);

function world(store = memoryBehaviourStore(), { site = SITE, random = (): number => 0 } = {}) {
  const clock = createFakeClock();
  const { authority, events, suspicions } = createLocalBehaviours(clock, store, random);
  const threads = [
    createLocalBehaviourMirror(authority, clock),
    createLocalBehaviourMirror(authority, clock),
  ];
  const asked: string[] = [];

  /** A refusal, as the engine takes it. @returns true: it condemns */
  async function refuse(thread: number, address: string, answer: Answer): Promise<boolean> {
    const { behaviours } = threads[thread] ?? assert.fail();
    const domain = address.slice(address.indexOf("@") + 1);
    let say = await behaviours.onRefused(site, { address, domain });
    while (say.kind === "control") {
      asked.push(say.domain);
      const reply = typeof answer === "string" ? answer : answer(say.domain);
      say = await behaviours.onControlAnswered(site, say.domain, reply);
    }
    return say.kind === "believed";
  }
  /** Number of `count` addresses that are refused as invalid. */
  async function refuseMany(
    count: number,
    over: number,
    answer: Answer,
    domainOf = (i: number) => `d${i}.test`,
  ): Promise<number> {
    let condemned = 0;
    for (let i = 0; i < count; i++)
      if (await refuse(i % 2, `a${i}@${domainOf(i % over)}`, answer)) condemned += 1;
    return condemned;
  }
  return { clock, authority, events, suspicions, threads, asked, refuse, refuseMany };
}

function strangers(authority: BehaviourAuthority, count: number, accepted: (i: number) => boolean): void {
  for (let i = 0; i < count; i++) authority.onCatchAllProbe(SITE, `d${i}.test`, accepted(i));
}

describe("a site that refuses everybody", () => {
  it("is detected before it has made more than the first few invalid, as its postmaster is refused too", async () => {
    const { asked, events, authority, refuseMany } = world();
    const condemned = await refuseMany(1_000, 40, "refused");
    assert.ok(condemned <= addresses + 2 * quietRun, `${condemned} were condemned`);
    assert.equal(asked.length, controls);
    assert.equal(new Set(asked).size, controls);
    assert.equal(authority.behaviourOf(SITE), "refuses_all");
    assert.deepEqual(
      events.map(({ habit, isLearned: formed }) => [habit, formed]),
      [["refuses_all", true]],
    );
  });

  it("is never found out by domains of one registrant, or of few", async () => {
    const { asked, refuseMany } = world();
    assert.equal(await refuseMany(1_000, 40, "refused", (i) => `s${i}.zone.test`), 1_000);
    const few = world();
    assert.equal(await few.refuseMany(1_000, domains - 1, "refused"), 1_000);
    assert.deepEqual([...asked, ...few.asked], []);
  });

  it("is asked at domains that are drawn, no two of one registrant", async () => {
    const draws = [0.99, 0.5, 0];
    const { asked, refuseMany } = world(undefined, { random: () => draws.shift() ?? 0 });
    await refuseMany(200, 40, "refused", (i) => (i < 20 ? `s${i}.zone.test` : `d${i}.test`));
    assert.equal(asked.length, controls);
    assert.equal(asked.filter((domain) => domain.endsWith("zone.test")).length <= 1, true);
    const first = world(undefined, { random: () => 0 });
    await first.refuseMany(200, 40, "refused", (i) => (i < 20 ? `s${i}.zone.test` : `d${i}.test`));
    assert.notDeepEqual(first.asked, asked);
  });

  it("is not assumed where foreign domains pointed at it are refused: its customers' postmaster is asked first", async () => {
    const { asked, authority, threads, refuseMany } = world();
    threads[0]?.behaviours.onAccepted(SITE, "honest.test");
    const answer = (domain: string) => (domain === "honest.test" ? "accepted" : "refused");
    assert.equal(await refuseMany(1_000, 40, answer), 1_000);
    assert.deepEqual([asked, authority.behaviourOf(SITE)], [["honest.test"], null]);
  });

  it("is asked about the first of each domain, so that its customers count, up to a bound", async () => {
    const { threads, refuseMany } = world();
    await refuseMany(200, 40, "refused");
    const { behaviours } = threads[0] ?? assert.fail();
    const explored = Array.from({ length: 2 * exploreDomains }, (_, i) =>
      behaviours.shouldExplore(SITE, `e${i}.test`),
    );
    assert.ok(explored.slice(0, exploreDomains).every(Boolean));
    assert.equal(explored.filter(Boolean).length, exploreDomains + exploreDomains / exploreEvery);
    assert.equal(behaviours.shouldExplore(SITE, "sub.e0.test"), false);
  });

  it("learns nothing for an hour after learned behaviour was dropped", async () => {
    const { clock, asked, authority, threads, refuseMany } = world();
    await refuseMany(200, 40, "refused");
    threads[0]?.behaviours.onAccepted(SITE, "d0.test");
    assert.equal(await refuseMany(200, 40, "refused"), 200);
    assert.equal(asked.length, controls);
    clock.advance(controlEveryMs);
    await refuseMany(200, 40, "refused");
    assert.equal(authority.behaviourOf(SITE), "refuses_all");
  });

  it("is never a known provider: the operator is notified, once", async () => {
    const { authority, events, suspicions, refuseMany } = world(undefined, { site: "google" });
    assert.equal(await refuseMany(1_000, 40, "refused"), 1_000);
    for (let i = 0; i < 3 * strangerDomains; i++) authority.onCatchAllProbe("google", `d${i}.test`, true);
    assert.deepEqual([authority.behaviourOf("google"), events], [null, []]);
    assert.deepEqual(
      suspicions.map(({ provider, habit }) => [provider, habit]),
      [
        ["google", "refuses_all"],
        ["google", "accepts_all"],
      ],
    );
    for (const suspicion of suspicions)
      assert.match(suspicionNotice(suspicion), /google the habit \w+_all in/);
  });

  it("counts what was refused within an hour", async () => {
    const { clock, asked, refuseMany } = world();
    await refuseMany(addresses - 1, 40, "refused");
    clock.advance(runMs + 1);
    await refuseMany(addresses - 1, 40, "refused");
    assert.deepEqual(asked, []);
  });

  it("is not one that accepts postmaster: counts start anew, and it is left in peace for an hour", async () => {
    const { clock, asked, events, threads, refuseMany } = world();
    assert.equal(await refuseMany(1_000, 40, "accepted"), 1_000);
    assert.deepEqual([asked.length, events.length], [1, 0]);
    clock.advance(controlEveryMs - 1);
    for (const { behaviours } of threads) behaviours.onAccepted(SITE, "d0.test");
    await refuseMany(1_000, 40, "accepted");
    assert.equal(asked.length, 1);
    clock.advance(2);
    await refuseMany(1_000, 40, "accepted");
    assert.equal(asked.length, 2);
  });

  it("is not taken for one while the question has no answer, and soon asked again", async () => {
    const { clock, asked, refuseMany } = world();
    assert.equal(await refuseMany(1_000, 40, "inconclusive"), 1_000);
    assert.equal(asked.length, controlsTried);
    assert.equal(new Set(asked).size, controlsTried);
    clock.advance(silenceRestMs);
    await refuseMany(1, 1, "inconclusive");
    assert.equal(asked.length, 2 * controlsTried);
  });

  it("is found out though some postmasters bring no answer", async () => {
    const { asked, authority, refuseMany } = world();
    await refuseMany(200, 40, () => (asked.length % 2 === 0 ? "refused" : "inconclusive"));
    assert.equal(asked.length, 2 * controls);
    assert.equal(authority.behaviourOf(SITE), "refuses_all");
  });

  it("is trusted again with the first recipient that it accepts, and probed for that now and then", async () => {
    const { threads, authority, events, refuse, refuseMany } = world();
    await refuseMany(200, 40, "refused");
    const [one] = threads;
    assert.ok(one);
    const explored = Array.from({ length: 5 * exploreEvery }, () =>
      one.behaviours.shouldExplore(SITE, "d0.test"),
    );
    assert.equal(explored.filter(Boolean).length, 6);
    assert.equal(await refuse(0, "more@d1.test", "refused"), false);
    one.behaviours.onAccepted(SITE, "d0.test");
    assert.equal(authority.behaviourOf(SITE), null);
    assert.deepEqual(
      threads.map(({ behaviours }) => behaviours.behaviourOf(SITE)),
      [null, null],
    );
    assert.equal(events.at(-1)?.isLearned, false);
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
      thread.behaviours.onRefused(SITE, { address: `z${i}@d${i}.test`, domain: `d${i}.test` });
    for (let i = 0; i < 2 * quietRun; i++) {
      const say = await refused(one, i);
      if (say.kind === "control") return { ...made, one, two, refused, domain: say.domain };
    }
    return assert.fail("nobody was doubted");
  }

  it("holds refused rows while the postmaster is asked, and makes none of them invalid", async () => {
    const { one, two, refused, domain, authority } = await doubted();
    const waiting = Array.from({ length: 60 }, (_, i) => refused(i % 2 ? one : two, 100 + i));
    let say = await one.behaviours.onControlAnswered(SITE, domain, "refused");
    while (say.kind === "control") say = await one.behaviours.onControlAnswered(SITE, say.domain, "refused");
    assert.equal(say.kind, "refuses_all");
    const kinds = (await Promise.all(waiting)).map(({ kind }) => kind);
    // Refusals that a thread had not reported yet, since they were so few, are taken as true.
    const believed = kinds.filter((kind) => kind === "believed").length;
    assert.ok(believed < quietRun, `${believed} were condemned`);
    assert.equal(kinds.filter((kind) => kind === "refuses_all").length, 60 - believed);
    assert.equal(authority.behaviourOf(SITE), "refuses_all");
  });

  it("lets no row wait for a thread that died while it asked", async () => {
    const { one, two, refused, authority } = await doubted();
    const waiting = Array.from({ length: quietRun + 1 }, (_, i) => refused(two, 100 + i));
    one.end.close();
    for (const say of waiting) assert.notEqual((await say).kind, "refuses_all");
    assert.equal(authority.behaviourOf(SITE), null);
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
          if (exists) threads[0]?.behaviours.onAccepted(SITE, "d0.test");
          await refuseMany(run, over, "accepted");
        }
        assert.equal(authority.behaviourOf(SITE), null);
      }),
      { numRuns: 60, seed: 5321 },
    );
  });

  it("is never found in one that accepts one address in fifty evenly and has no postmaster: the bound", async () => {
    const { threads, authority, refuse } = world();
    // Evenly: one of each `addresses`. By chance the same share has runs of that length.
    for (let i = 0; i < 3_000; i++) {
      if (i % (addresses - 1) === 0)
        for (const { behaviours } of threads) behaviours.onAccepted(SITE, "d0.test");
      else assert.equal(await refuse(i % 2, `a${i}@d${i % 40}.test`, "refused"), true);
    }
    assert.equal(authority.behaviourOf(SITE), null);
  });
});

describe("a site that accepts everybody", () => {
  it("is detected where catch-all probes of many registrants were accepted; never by one, whatever its subdomains", () => {
    const { authority, events } = world();
    for (let i = 0; i < 100; i++) authority.onCatchAllProbe(SITE, `s${i}.one.test`, true);
    strangers(authority, strangerDomains - 2, () => true);
    assert.equal(authority.behaviourOf(SITE), null);
    authority.onCatchAllProbe(SITE, "last.test", true);
    assert.equal(authority.behaviourOf(SITE), "accepts_all");
    assert.match(
      behaviourNotice(events[0] ?? assert.fail()),
      /^hoster\.test accepts everybody \(strangers of 30 domains/,
    );
  });

  it("is trusted again once a catch-all probe is refused, and for an hour whatever comes", () => {
    const { authority, events } = world();
    strangers(authority, 100, () => true);
    authority.onCatchAllProbe(SITE, "e.test", false);
    assert.equal(authority.behaviourOf(SITE), null);
    strangers(authority, 100, () => true);
    assert.equal(authority.behaviourOf(SITE), null);
    assert.deepEqual(
      events.map(({ isLearned: formed }) => formed),
      [true, false],
    );
  });

  it("is not a site that refuses a catch-all probe now and then", () => {
    const { authority } = world();
    strangers(authority, 1_000, (i) => i % strangerDomains !== 0);
    assert.equal(authority.behaviourOf(SITE), null);
  });

  it("is not a site that refuses any recipient as unknown, and is trusted again with the first", async () => {
    const { clock, authority, refuse } = world();
    strangers(authority, strangerDomains - 1, () => true);
    await refuse(0, "a@d1.test", "refused");
    authority.onCatchAllProbe(SITE, "last.test", true);
    assert.equal(authority.behaviourOf(SITE), null);
    clock.advance(1_000);
    strangers(authority, strangerDomains, () => true);
    assert.equal(authority.behaviourOf(SITE), "accepts_all");
    await refuse(1, "b@d1.test", "refused");
    assert.equal(authority.behaviourOf(SITE), null);
  });
});

describe("learned behaviour", () => {
  it("are shared by the processes of an egress, also their end, and end by themselves", async () => {
    const store = memoryBehaviourStore();
    const one = world(store);
    const two = world(store);
    two.authority.start();
    await one.refuseMany(200, 40, "refused");
    await two.clock.advanceAsync(syncEveryMs);
    assert.equal(two.authority.behaviourOf(SITE), "refuses_all");
    assert.equal(two.threads[0]?.behaviours.behaviourOf(SITE), "refuses_all");
    assert.match(behaviourNotice(two.events[0] ?? assert.fail()), /another process/);
    one.clock.advance(1);
    one.threads[0]?.behaviours.onAccepted(SITE, "d0.test");
    await two.clock.advanceAsync(syncEveryMs);
    assert.equal(two.authority.behaviourOf(SITE), null);
    one.clock.advance(controlEveryMs);
    await one.refuseMany(200, 40, "refused");
    assert.equal(one.authority.behaviourOf(SITE), "refuses_all");
    one.clock.advance(heldMs);
    assert.equal(one.authority.behaviourOf(SITE), null);
    two.authority.stop();
    assert.equal(two.clock.pending, 0);
  });

  it("are bounded, the oldest go first", () => {
    const { authority } = world();
    for (let site = 0; site <= LIMITS.learnedBehaviour.behaviours; site++)
      for (let i = 0; i < strangerDomains; i++)
        authority.onCatchAllProbe(`s${site}.test`, `d${i}.test`, true);
    assert.equal(authority.counts().accepts_all, LIMITS.learnedBehaviour.behaviours);
    assert.equal(authority.behaviourOf("s0.test"), null);
  });

  it("counts domains up to a bound", () => {
    assert.ok(domains <= addresses && controls <= controlsTried && controlsTried <= domains);
  });
});
