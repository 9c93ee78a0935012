import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { ProbeEnd } from "../../../../src/egress/breaker/messages.ts";
import type { Breaker, ProbeGuard } from "../../../../src/egress/breaker/mirror.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { createLocalBreakers, createLocalMirror, FIRST_MS } from "../../../support/local-breakers.ts";

const { blocksToOpen, domainsOfProvider } = LIMITS.breaker;
const PATH = "192.0.2.1";
const REPLY = "554 5.7.1 Client host [192.0.2.1] blocked using zen.spamhaus.org";
const BLOCKED: ProbeEnd = { kind: "blocked", path: PATH, early: true, rule: "dnsbl", reply: REPLY };
const AT_RCPT: ProbeEnd = { ...BLOCKED, early: false };
const PASSED: ProbeEnd = { kind: "passed", path: PATH };

/** The visit of a probe that may go, null for one that is held back. */
async function begin(breaker: Breaker, domain: string, provider: string): Promise<ProbeGuard | null> {
  const begun = breaker.guard({ site: provider, provider, domain });
  return (await begun.mayProbe(PATH)) ? begun : null;
}

async function block(breaker: Breaker, times: number, domain: string, provider: string): Promise<void> {
  for (let i = 0; i < times; i++) (await begin(breaker, domain, provider))?.end(BLOCKED);
}

function process() {
  const clock = createFakeClock();
  const local = createLocalBreakers(clock);
  return { clock, ...local, ...createLocalMirror(local.authority, clock) };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("a site that many share", () => {
  /** So many blocks at RCPT of each domain. */
  async function refuse(breaker: Breaker, provider: string | null, domains: readonly string[], times = 1) {
    for (const domain of domains)
      for (let i = 0; i < times; i++)
        breaker.guard({ site: provider ?? "hoster.test", provider, domain }).end(AT_RCPT);
    await settle();
  }
  const domains = (count: number) => Array.from({ length: count }, (_, i) => `${i}.test`);

  it("is open for one customer's domain while only that blocks us, to all when as many do as one hardly has", async () => {
    const { breaker, changes, authority } = process();
    const few = domains(domainsOfProvider - 1);
    await refuse(breaker, "google", few, blocksToOpen);
    assert.deepEqual(
      changes,
      few.map((domain) => `opened google ${PATH} ${domain}`),
    );
    assert.equal(await begin(breaker, "0.test", "google"), null);
    assert.ok(await begin(breaker, "victim.test", "google"), "whoever has 4 domains shuts nobody else out");
    await refuse(breaker, "google", ["another.test"]);
    assert.deepEqual(changes.slice(few.length), [`opened google ${PATH}`]);
    assert.equal(await begin(breaker, "victim.test", "google"), null);
    assert.deepEqual([...authority.openByProvider()], [["google", 1]], "the domains' are part of it");
  });

  it("is open to all while rows are accepted in between", async () => {
    const { breaker, changes } = process();
    await refuse(breaker, "google", domains(domainsOfProvider - 1));
    (await begin(breaker, "victim.test", "google"))?.end(PASSED);
    await refuse(breaker, "google", ["another.test"]);
    assert.deepEqual(changes, []);
  });

  it("is open for a domain that blocks us though all others are let through", async () => {
    const { breaker, changes } = process();
    for (let i = 0; i < blocksToOpen; i++) {
      await refuse(breaker, "google", ["a.test"]);
      (await begin(breaker, "b.test", "google"))?.end(PASSED);
    }
    await settle();
    assert.deepEqual(changes, [`opened google ${PATH} a.test`]);
  });

  it("without any history is shut to all when two of its domains block us", async () => {
    const { breaker, changes } = process();
    await refuse(breaker, null, ["a.test"], blocksToOpen);
    assert.deepEqual(changes, [`opened hoster.test ${PATH} a.test`]);
    await refuse(breaker, null, ["b.test"]);
    assert.deepEqual(changes.slice(1), [`opened hoster.test ${PATH}`]);
  });

  it("is shut by greetings, but not where each customer has servers of its own", async () => {
    const { breaker, changes } = process();
    await block(breaker, blocksToOpen, "a.test", "google");
    await block(breaker, blocksToOpen, "a.test", "cisco");
    await settle();
    assert.deepEqual(changes, [`opened google ${PATH}`, `opened cisco ${PATH} a.test`]);
  });

  it("is not kept shut by one customer whose own list its trials meet", async () => {
    const { breaker, clock, changes } = process();
    await block(breaker, blocksToOpen, "evil.test", "google");
    clock.advance(FIRST_MS);
    (await begin(breaker, "evil.test", "google"))?.end(AT_RCPT);
    await settle();
    assert.deepEqual(changes.slice(1), [`opened google ${PATH} evil.test`]);
    assert.equal(await begin(breaker, "evil.test", "google"), null, "who has had his trial");
    (await begin(breaker, "victim.test", "google"))?.end(PASSED);
    await settle();
    assert.deepEqual(changes.slice(2), [`closed google ${PATH}`]);
    assert.equal(await begin(breaker, "evil.test", "google"), null, "its own is open still");
    clock.advance(FIRST_MS);
    assert.ok(await begin(breaker, "evil.test", "google"));
  });

  it("stays shut for longer when the trials of as many domains are blocked", async () => {
    const { breaker, clock, authority } = process();
    await block(breaker, blocksToOpen, "a.test", "google");
    clock.advance(FIRST_MS);
    for (const domain of domains(domainsOfProvider)) (await begin(breaker, domain, "google"))?.end(AT_RCPT);
    assert.equal(await begin(breaker, "another.test", "google"), null);
    clock.advance(FIRST_MS);
    assert.equal(await begin(breaker, "another.test", "google"), null);
    assert.equal(authority.waitMs("google"), LIMITS.breaker.parkedTrialMs, "the domains' own trials are due");
    clock.advance(FIRST_MS);
    assert.ok(await begin(breaker, "another.test", "google"));
  });

  it("that a hostile customer asks about every second for hours lets everybody else in", async () => {
    const { breaker, clock } = process();
    await block(breaker, blocksToOpen, "evil.test", "google");
    let asked = 0;
    for (let s = 0; s < 3 * 3_600; s++) {
      const evil = await begin(breaker, "evil.test", "google");
      if (evil !== null) asked += 1;
      evil?.end(AT_RCPT);
      clock.advance(1_000);
    }
    assert.ok(asked < 30, `it was asked ${asked} times`);
    assert.ok(await begin(breaker, "victim.test", "google"));
  });
});
