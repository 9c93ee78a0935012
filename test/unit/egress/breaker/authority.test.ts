import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { BreakerAuthority } from "../../../../src/egress/breaker/authority.ts";
import type { ProbeEnd } from "../../../../src/egress/breaker/messages.ts";
import type { Breaker, ProbeGuard } from "../../../../src/egress/breaker/mirror.ts";
import { createFakeClock, type FakeClock } from "../../../support/fake-clock.ts";
import { createLocalBreakers, createLocalMirror, FIRST_MS } from "../../../support/local-breakers.ts";
import { createMemoryBreakers } from "../../../support/memory-breaker-store.ts";

const { blocksToOpen, maxMs, trialTtlMs, trialWaitMs, window, forgetMs, sweepMs, ways, openWays } =
  LIMITS.breaker;
const PATH = "192.0.2.1";
const REPLY = "554 5.7.1 Client host [192.0.2.1] blocked using zen.spamhaus.org";
const BLOCKED: ProbeEnd = { kind: "blocked", path: PATH, early: true, rule: "dnsbl", reply: REPLY };
const PASSED: ProbeEnd = { kind: "passed", path: PATH };

function visit(breaker: Breaker, domain = "example.test", provider: string | null = null): ProbeGuard {
  return breaker.guard({ site: provider ?? "example.test", provider, domain });
}

/** The visit of a probe that may go, null for one that is held back. */
async function begin(breaker: Breaker, domain?: string, provider?: string): Promise<ProbeGuard | null> {
  const begun = visit(breaker, domain, provider ?? null);
  return (await begun.mayProbe(PATH)) ? begun : null;
}

async function block(breaker: Breaker, times: number, domain?: string, provider?: string): Promise<void> {
  for (let i = 0; i < times; i++) (await begin(breaker, domain, provider))?.end(BLOCKED);
}

function process(clock: FakeClock = createFakeClock(), store = createMemoryBreakers(clock).process()) {
  const local = createLocalBreakers(clock, store);
  return { clock, ...local, ...createLocalMirror(local.authority, clock) };
}

async function opened() {
  const made = process();
  await block(made.breaker, blocksToOpen);
  return made;
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("a breaker", () => {
  it("holds back all rows of the site after so many blocks, at once, and no others", async () => {
    const { breaker, changes, events, held, authority } = await opened();
    await settle();
    assert.equal(visit(breaker).mayProbe(PATH), false);
    assert.equal(visit(breaker).mayProbe("192.0.2.2"), true, "another way out");
    assert.equal(
      breaker.guard({ site: "other.test", provider: null, domain: "x.test" }).mayProbe(PATH),
      true,
    );
    assert.equal(visit(breaker).retryAfterMs(PATH), FIRST_MS);
    assert.deepEqual(changes, [`opened example.test ${PATH}`]);
    assert.deepEqual([events[0]?.reply, events[0]?.dueInMs, events[0]?.isLocal], [REPLY, FIRST_MS, true]);
    assert.deepEqual(
      held.map(({ site, path, domain }) => [site, path, domain]),
      [["example.test", PATH, ""]],
    );
    assert.deepEqual([...authority.openByProvider()], [["other", 1]]);
    const [now] = authority.openNow();
    assert.deepEqual(
      [now?.way.site, now?.way.path, now?.openForMs, now?.dueInMs, now?.reply],
      ["example.test", PATH, 0, FIRST_MS, REPLY],
    );
    assert.deepEqual([authority.waitMs("example.test"), authority.waitMs("other.test")], [FIRST_MS, null]);
  });

  it("takes no notice of probes that were in flight when it opened", async () => {
    const { breaker, authority } = process();
    const inFlight = await Promise.all(Array.from({ length: blocksToOpen + 2 }, () => begin(breaker)));
    for (const probe of inFlight.slice(0, blocksToOpen)) probe?.end(BLOCKED);
    inFlight.at(-2)?.end(PASSED);
    inFlight.at(-1)?.end(BLOCKED);
    assert.equal(visit(breaker).mayProbe(PATH), false);
    assert.equal(authority.waitMs("example.test"), FIRST_MS);
  });

  it("lets one through when its time is over, whose end closes it", async () => {
    const { breaker, clock, changes, events } = await opened();
    clock.advance(FIRST_MS);
    const [trial, ...others] = await Promise.all([begin(breaker), begin(breaker), begin(breaker)]);
    assert.ok(trial && others.every((other) => other === null));
    trial.end(PASSED);
    assert.equal(visit(breaker).mayProbe(PATH), true);
    await settle();
    assert.deepEqual(changes.at(-1), `closed example.test ${PATH}`);
    assert.equal(events.at(-1)?.openForMs, FIRST_MS);
  });

  it("stays open for twice as long each time that it is blocked again, up to a bound", async () => {
    const { breaker, clock, authority } = await opened();
    const waits: (number | null)[] = [];
    for (let i = 0; i < 7; i++) {
      const waitMs = authority.waitMs("example.test") ?? 0;
      waits.push(waitMs / FIRST_MS);
      clock.advance(waitMs);
      (await begin(breaker))?.end(BLOCKED);
    }
    assert.deepEqual(waits, [1, 2, 4, 8, 15, 15, 15]);
  });

  it("stays open for as long again when the trial tells nothing, and is tried at once when it was not put", async () => {
    const { breaker, clock, authority } = await opened();
    clock.advance(FIRST_MS);
    (await begin(breaker))?.end({ kind: "ours" });
    const next = await begin(breaker);
    assert.ok(next);
    next.end({ kind: "inconclusive" });
    assert.equal(authority.waitMs("example.test"), FIRST_MS);
  });

  it("gives the trial of a thread that died or never reports to another", async () => {
    const { breaker, clock, authority, die } = await opened();
    const other = createLocalMirror(authority, clock);
    clock.advance(FIRST_MS);
    assert.ok(await begin(breaker));
    assert.equal(await begin(other.breaker), null);
    die();
    assert.ok(await begin(other.breaker));
    clock.advance(trialTtlMs);
    const late = createLocalMirror(authority, clock);
    assert.ok(await begin(late.breaker), "a new thread is told what is open");
    assert.equal(await begin(other.breaker), null);
  });

  it("that opens again soon after it was closed goes on where it was", async () => {
    const { breaker, clock, authority } = await opened();
    clock.advance(FIRST_MS);
    (await begin(breaker))?.end(PASSED);
    await block(breaker, blocksToOpen);
    assert.equal(authority.waitMs("example.test"), 2 * FIRST_MS);
    clock.advance(2 * FIRST_MS);
    (await begin(breaker))?.end(PASSED);
    clock.advance(maxMs);
    await block(breaker, blocksToOpen);
    assert.equal(authority.waitMs("example.test"), FIRST_MS);
  });

  it("is forgotten when no row goes there any more", async () => {
    const { clock, authority } = await opened();
    clock.advance(FIRST_MS + forgetMs + sweepMs);
    assert.equal(authority.waitMs("example.test"), null);
    assert.equal(clock.pending, 0);
  });
});

describe("what a breaker costs", () => {
  it("sends no message for accepted rows at a site that does not block", async () => {
    const { breaker, reports } = process();
    for (let i = 0; i < 1_000; i++) (await begin(breaker))?.end(PASSED);
    assert.deepEqual(reports, []);
  });

  it("is a few after a block, until it is forgotten", async () => {
    const { breaker, reports } = process();
    await block(breaker, 1);
    for (let i = 0; i < 1_000; i++) (await begin(breaker))?.end(PASSED);
    assert.deepEqual(reports, ["blocked", ...new Array(window).fill("passed")]);
  });

  it("is a bounded memory, however many sites block us", async () => {
    const { breaker, authority } = process();
    for (let i = 0; i < openWays + 10; i++) {
      const target = { site: `${i}.test`, provider: null, domain: `${i}.test` };
      for (let n = 0; n < blocksToOpen; n++) breaker.guard(target).end(BLOCKED);
    }
    assert.deepEqual([...authority.openByProvider()], [["other", openWays]]);
    assert.equal(breaker.guard({ site: "0.test", provider: null, domain: "" }).mayProbe(PATH), true);
  });

  it("forgets what is closed before it forgets what is open", async () => {
    const { breaker, authority } = await opened();
    for (let i = 0; i < ways + 10; i++)
      breaker.guard({ site: `${i}.test`, provider: null, domain: "" }).end(BLOCKED);
    assert.equal(authority.waitMs("example.test"), FIRST_MS);
  });

  it("gives back the trial of a breaker that had to go for others", async () => {
    const clock = createFakeClock();
    const shared = createMemoryBreakers(clock);
    const [a, b] = [process(clock, shared.process()), process(clock, shared.process())];
    await block(a.breaker, blocksToOpen);
    await settle();
    clock.advance(FIRST_MS);
    assert.ok(await begin(a.breaker));
    for (let i = 0; i < openWays; i++)
      for (let n = 0; n < blocksToOpen; n++)
        a.breaker.guard({ site: `${i}.test`, provider: null, domain: "" }).end(BLOCKED);
    assert.equal(a.authority.waitMs("example.test"), null);
    await settle();
    assert.ok(await begin(b.breaker));
  });

  it("asks the store now and then, not for every probe, while another process tries", async () => {
    const clock = createFakeClock();
    const shared = createMemoryBreakers(clock);
    const a = process(clock, shared.process());
    let takes = 0;
    const store = shared.process();
    const take: typeof store.takeTrial = (...asked) => {
      takes += 1;
      return store.takeTrial(...asked);
    };
    const { authority } = createLocalBreakers(clock, { ...store, takeTrial: take });
    const threads = Array.from({ length: 4 }, () => createLocalMirror(authority, clock));
    await block(a.breaker, blocksToOpen);
    await block(threads[0]?.breaker as Breaker, 1);
    await settle();
    clock.advance(FIRST_MS);
    assert.ok(await begin(a.breaker));
    const waits = new Set<number | null>();
    for (let ms = 0; ms < 10 * trialWaitMs; ms += 20) {
      for (const { breaker } of threads) assert.equal(await begin(breaker), null);
      waits.add(authority.waitMs("example.test"));
      clock.advance(20);
    }
    assert.ok(takes >= 5 && takes <= 11, `${takes} takes`);
    assert.deepEqual([...waits], [LIMITS.breaker.parkedTrialMs], "rows need not come every two seconds");
  });
});

describe("breakers of an egress", () => {
  function egress(count: number) {
    const clock = createFakeClock();
    const shared = createMemoryBreakers(clock);
    return { clock, shared, all: Array.from({ length: count }, () => process(clock, shared.process())) };
  }
  const waits = (all: { authority: BreakerAuthority }[]) =>
    all.map(({ authority }) => authority.waitMs("example.test"));

  it("open and close together, are tried by one thread, and reported once", async () => {
    const { clock, all } = egress(3);
    const [a, b, c] = all as [(typeof all)[0], (typeof all)[0], (typeof all)[0]];
    await block(a.breaker, blocksToOpen);
    await settle();
    assert.deepEqual(waits(all), [FIRST_MS, FIRST_MS, FIRST_MS]);
    assert.deepEqual(
      all.map(({ held }) => held.length),
      [1, 1, 1],
    );
    clock.advance(FIRST_MS);
    const trials = await Promise.all([begin(b.breaker), begin(c.breaker), begin(a.breaker)]);
    assert.equal(trials.filter((trial) => trial !== null).length, 1);
    trials.find((trial) => trial !== null)?.end(PASSED);
    await settle();
    assert.deepEqual(waits(all), [null, null, null]);
    const mine = all.map(({ events }) => events.filter((event) => event.isLocal).length);
    assert.equal(
      mine.reduce((sum, count) => sum + count),
      2,
    );
  });

  it("that were not known here to be open are reported when they close: rows may wait for them here", async () => {
    const { clock, shared, all } = egress(1);
    const [a] = all as [(typeof all)[0]];
    await block(a.breaker, blocksToOpen);
    await settle();
    const late = process(clock, shared.process());
    clock.advance(FIRST_MS);
    (await begin(a.breaker))?.end(PASSED);
    await settle();
    assert.deepEqual([late.freed, late.changes], [["example.test"], []]);
  });

  it("are known to a process that starts late by its first block", async () => {
    const { clock, shared, all } = egress(1);
    const [a] = all as [(typeof all)[0]];
    await block(a.breaker, blocksToOpen);
    await settle();
    const late = process(clock, shared.process());
    await block(late.breaker, 1);
    await settle();
    assert.equal(await begin(late.breaker), null);
  });

  it("are restored by a process that knows them when the store has lost them", async () => {
    const { clock, shared, all } = egress(2);
    const [a, b] = all as [(typeof all)[0], (typeof all)[0]];
    await block(a.breaker, blocksToOpen);
    await settle();
    shared.clear();
    clock.advance(FIRST_MS);
    const trial = await begin(a.breaker);
    assert.ok(trial);
    assert.equal(await begin(b.breaker), null);
    trial.end(BLOCKED);
    await settle();
    assert.deepEqual(waits(all), [2 * FIRST_MS, 2 * FIRST_MS]);
  });

  it("are given back by a process that ends", async () => {
    const { clock, all } = egress(2);
    const [a, b] = all as [(typeof all)[0], (typeof all)[0]];
    await block(a.breaker, blocksToOpen);
    await settle();
    clock.advance(FIRST_MS);
    assert.ok(await begin(a.breaker));
    assert.equal(await begin(b.breaker), null);
    await a.authority.close();
    assert.ok(await begin(b.breaker));
  });
});
