import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, describe, it } from "node:test";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { createSharedBoard } from "../../../../src/egress/shared-board.ts";
import { type Broker, createBroker } from "../../../../src/engine/threads/broker.ts";
import { CheckBatches } from "../../../../src/engine/threads/check-batches.ts";
import type { ThreadReport } from "../../../../src/engine/threads/thread-counts.ts";
import { ThreadLink, type ThreadWork } from "../../../../src/engine/threads/thread-link.ts";
import {
  type CatchAllFact,
  type CatchAllStore,
  createCatchAllFacts,
} from "../../../../src/verification/catch-all.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { createLocalBehaviours } from "../../../support/local-behaviours.ts";
import { createLocalBreakers } from "../../../support/local-breakers.ts";
import { createLocalSlots } from "../../../support/local-slots.ts";
import { until } from "../../../support/until.ts";

const ports: MessagePort[] = [];
afterEach(() => {
  for (const port of ports.splice(0)) port.close();
});

function broker() {
  const clock = createFakeClock();
  const stored = new Map<string, CatchAllFact>();
  const store: CatchAllStore = {
    async get(key) {
      const answer = stored.get(key);
      return answer === undefined ? null : { answer, ttlS: 60 };
    },
    put: (key, answer) => void stored.set(key, answer),
  };
  const seen: string[] = [];
  const { authority: behaviours } = createLocalBehaviours(clock);
  behaviours.noteRefusal = (site) => void seen.push(`refuses ${site}`);
  const checks = new CheckBatches(createSharedBoard(8, 1), () => 0);
  const made = createBroker({
    clock,
    checks,
    slots: createLocalSlots(clock),
    facts: createCatchAllFacts(clock, store),
    health: {
      onSilent: ({ site, address, beganMs }) => seen.push(`silent ${site} ${address} ${beganMs}`),
      onFailed: ({ site, address }) => seen.push(`failed ${site} ${address}`),
      addCandidate: (address) => seen.push(`candidate ${address}`),
      onReached: ({ site, address }) => seen.push(`reached ${site} ${address}`),
    },
    onCrowded: (site) => seen.push(`crowded ${site}`),
    breakers: createLocalBreakers(clock).authority,
    behaviours,
    onCounts: ({ probes, sessionsOpened }) => {
      seen.push(`counts ${JSON.stringify(probes)} ${sessionsOpened}`);
    },
  });
  return { broker: made, checks, clock, stored, seen };
}

function reportOf(told: Partial<ThreadReport>): ThreadReport {
  const sums = { sessionsOpened: 0, sessionsOpen: 0, transactions: 0, writes: 0, groups: 0 };
  return { probes: {}, answered: {}, lookUps: {}, catchAllLookUps: { hit: 0, asked: 0 }, ...sums, ...told };
}

function thread(to: Broker): { link: ThreadLink; port: MessagePort } {
  const { port1, port2 } = new MessageChannel();
  ports.push(port1, port2);
  to.attach(port2);
  return { link: new ThreadLink(port1), port: port1 };
}

/** The work of a thread that does nothing but what the test says. */
function workOf(over: Partial<ThreadWork>): ThreadWork {
  const runner = { start() {}, takeAnswers: () => null };
  return { runner, drain: async () => {}, ...over };
}

describe("slots over threads", () => {
  it("grants no more than the cap and passes a returned slot to the thread that waits", async () => {
    const { broker: main } = broker();
    const a = thread(main);
    const b = thread(main);
    assert.equal(await a.link.slots.acquire("site", 1, 1000), true);
    const waiting = b.link.slots.acquire("site", 1, 1000);
    a.link.slots.release("site");
    assert.equal(await waiting, true);
  });

  it("notifies the holder that a thread waits", async () => {
    const { broker: main } = broker();
    const a = thread(main);
    const b = thread(main);
    await a.link.slots.acquire("site", 1, 1000);
    const wanted = new Promise<string>((resolve) => a.link.slots.onWanted(resolve));
    const waiting = b.link.slots.acquire("site", 1, 1000);
    assert.equal(await wanted, "site");
    a.link.slots.release("site");
    assert.equal(await waiting, true);
  });

  it("grants a slot before it asks for it back, however soon another thread asks", async () => {
    const { broker: main } = broker();
    const [a, b] = [thread(main), thread(main)];
    const story: string[] = [];
    const wanted = new Promise<void>((resolve) => {
      a.link.slots.onWanted(() => {
        story.push("wanted");
        resolve();
      });
    });
    const granted = a.link.slots.acquire("site", 1, 1000);
    const waiting = b.link.slots.acquire("site", 1, 1000);
    await Promise.all([granted.then(() => story.push("dialled")), wanted]);
    assert.deepEqual(story, ["dialled", "wanted"]);
    a.link.slots.release("site");
    assert.equal(await waiting, true);
  });

  it("takes back what a dead thread held", async () => {
    const { broker: main } = broker();
    const a = thread(main);
    const b = thread(main);
    await a.link.slots.acquire("site", 2, 1000);
    await a.link.slots.acquire("site", 2, 1000);
    const waiting = b.link.slots.acquire("site", 2, 1000);
    a.port.close();
    assert.equal(await waiting, true);
    assert.equal(await b.link.slots.acquire("site", 2, 1000), true);
  });
});

describe("catch-all answers over threads", () => {
  it("lets one thread ask and reports its result to all others", async () => {
    const { broker: main, stored } = broker();
    const threads = [thread(main), thread(main), thread(main)];
    const claims = threads.map(({ link }) => link.facts.claim("example.test|site"));
    const asker = await Promise.race(
      claims.map(async (claim, i) => ((await claim) === "ask" ? i : await new Promise<number>(() => {}))),
    );
    threads[asker]?.link.facts.settle("example.test|site", "refused", null);
    const answers = await Promise.all(claims);
    assert.deepEqual(answers.filter((answer) => answer === "ask").length, 1);
    assert.deepEqual(answers.filter((answer) => answer === "refused").length, 2);
    assert.equal(stored.get("example.test|site"), "refused");
  });

  it("frees the waiting threads when the asking thread dies", async () => {
    const { broker: main } = broker();
    const a = thread(main);
    const b = thread(main);
    assert.equal(await a.link.facts.claim("k"), "ask");
    const waiting = b.link.facts.claim("k");
    a.port.close();
    assert.equal(await waiting, "not_probed");
  });

  it("are asked for once by a thread, whichever of its checks settles or gives up", async () => {
    const { broker: main } = broker();
    const { facts } = thread(main).link;
    const [first, ...others] = Array.from({ length: 5 }, () => facts.claim("k"));
    assert.equal(await first, "ask");
    facts.abandon("k");
    assert.deepEqual(await Promise.all(others), Array(4).fill("not_probed"));
    assert.equal(facts.known("k"), undefined);
    const [again, ...waiting] = Array.from({ length: 3 }, () => facts.claim("k"));
    assert.equal(await again, "ask");
    facts.settle("k", "refused", null);
    assert.deepEqual(await Promise.all(waiting), ["refused", "refused"]);
    assert.equal(facts.known("k"), "refused");
  });

  it("uses what an earlier process stored", async () => {
    const { broker: main, stored } = broker();
    stored.set("k", "accepted");
    assert.equal(await thread(main).link.facts.claim("k"), "accepted");
  });
});

describe("other messages", () => {
  it("carries what threads see of the network and of sites, and their counts", async () => {
    const { broker: main, seen } = broker();
    const { link } = thread(main);
    link.reach.onSilent({ site: "dead", address: "192.0.2.1", beganMs: 5 });
    link.reach.onFailed({ site: "dead", address: "192.0.2.1" });
    link.reach.addCandidate("192.0.2.2");
    link.reach.onReached({ site: "live", address: "192.0.2.3" });
    link.sendCounts(reportOf({ probes: { "google accepted": 2 }, sessionsOpened: 1 }));
    link.reportCrowded("site");
    link.reportCrowded("site");
    link.behaviours.report({ type: "refuses", site: "strict" });
    await link.facts.claim("a round trip, so that all before it has arrived");
    assert.deepEqual(seen, [
      "silent dead 192.0.2.1 5",
      "failed dead 192.0.2.1",
      "candidate 192.0.2.2",
      "reached live 192.0.2.3",
      'counts {"google accepted":2} 1',
      "crowded site",
      "refuses strict",
    ]);
  });

  it("notifies every thread, also one that starts later, of untrusted routes", async () => {
    const { broker: main } = broker();
    const a = thread(main);
    const roundTrip = ({ link }: { link: ThreadLink }, key: string) => link.facts.claim(key);
    assert.equal(a.link.routeTrust.trusts("192.0.2.9"), true);
    main.publishSelfCheck({ distrusted: ["192.0.2.9"], seenAs: { direct: "8.8.8.8" } });
    const b = thread(main);
    await Promise.all([roundTrip(a, "one"), roundTrip(b, "two")]);
    for (const { link } of [a, b]) assert.equal(link.seenAs("direct"), "8.8.8.8");
    for (const { link } of [a, b])
      assert.deepEqual(
        [link.routeTrust.trusts("192.0.2.9"), link.routeTrust.trusts("direct")],
        [false, true],
      );
    main.publishSelfCheck({ distrusted: [], seenAs: {} });
    await roundTrip(a, "three");
    assert.equal(a.link.routeTrust.trusts("192.0.2.9"), true);
    assert.equal(a.link.seenAs("direct"), null);
  });

  it("knows the sessions of the living threads, as last reported", async () => {
    const { broker: main } = broker();
    const [a, b] = [thread(main), thread(main)];
    const told = async ({ link }: { link: ThreadLink }, sessionsOpen: number) => {
      link.sendCounts(reportOf({ sessionsOpen }));
      await link.facts.claim(`a round trip after ${sessionsOpen}`);
    };
    await told(a, 3);
    await told(b, 2);
    assert.equal(main.sessionsOpen(), 5);
    await told(a, 1);
    assert.equal(main.sessionsOpen(), 3);
    a.port.close();
    await until("a thread that is gone has none", () => main.sessionsOpen() === 2);
  });

  it("drains when every thread has given back, and counts a dead thread as done", async () => {
    const { broker: main } = broker();
    const a = thread(main);
    const b = thread(main);
    const drained: string[] = [];
    a.link.serve(workOf({ drain: async () => void drained.push("a") }));
    b.link.serve(workOf({ drain: () => new Promise(() => {}) }));
    const done = main.drain();
    await once(a.port, "message");
    b.port.close();
    await done;
    assert.deepEqual(drained, ["a"]);
  });
});
