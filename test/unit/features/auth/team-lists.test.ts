import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createTeamLists } from "../../../../src/features/auth/team-lists.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { createGate } from "../../../support/gate.ts";
import fc from "../../../support/properties.ts";
import { silentLog } from "../../../support/store.ts";
import { createMemoryTeamDomains } from "../../../support/team-domains.ts";

const ALWAYS = Number.NEGATIVE_INFINITY;
const { domainsPerPage, domainsHeld } = LIMITS.keys;

function setUp() {
  const clock = createFakeClock();
  const domains = createMemoryTeamDomains();
  const evicted: string[] = [];
  const store = createTeamLists({
    domains,
    clock,
    log: silentLog,
    onEvicted: (teamId) => void evicted.push(teamId),
  });
  return { clock, domains, store, evicted, stored: domains.stored("team") };
}

const names = (count: number, prefix = "d") => Array.from({ length: count }, (_, i) => `${prefix}${i}.test`);

describe("a team's lists", () => {
  it("are read once, page by page, for all callers", async () => {
    const { store, domains, stored } = setUp();
    for (const name of names(2 * domainsPerPage + 1)) stored.blocked.set(name, true);
    for (const name of names(3, "throwaway")) stored.disposable.add(name);
    const asked = Array.from({ length: 300 }, () => store.of("team", ALWAYS));
    const [first, ...others] = await Promise.all(asked);
    assert.ok(others.every((lists) => lists === first));
    assert.equal(domains.reads.pages, 3);
    assert.equal(first?.size, 2 * domainsPerPage + 4);
    assert.equal(first?.isBlocked("x.d1000.test"), true);
    assert.equal(first?.isDisposable("x.throwaway2.test"), true);
    assert.equal(store.of("team", ALWAYS), first, "at once");
  });

  it("are changed by difference, and not used until the change is read", async () => {
    const { store, domains, stored } = setUp();
    for (const name of names(domainsPerPage + 1)) stored.blocked.set(name, false);
    const lists = await store.of("team", ALWAYS);
    stored.blocked.set("new.test", true);
    stored.blocked.delete("d0.test");
    stored.disposable.add("d1.test");
    store.changed("team", ["new.test", "d0.test", "d1.test"]);
    assert.equal(lists.isSettled, false);
    const again = store.of("team", ALWAYS);
    assert.ok(again instanceof Promise);
    assert.equal(await again, lists);
    assert.deepEqual(
      [lists.isBlocked("x.new.test"), lists.isBlocked("d0.test"), lists.isBlocked("d1.test")],
      [true, false, true],
    );
    assert.equal(lists.isDisposable("d1.test"), true);
    assert.deepEqual(domains.reads, { pages: 2, named: 1 });
  });

  it("are read again, whole, where a change names no domain", async () => {
    const { store, domains, stored } = setUp();
    const lists = await store.of("team", ALWAYS);
    stored.blocked.set("new.test", true);
    store.changed("team", []);
    assert.equal(await store.of("team", ALWAYS), lists);
    assert.equal(lists.isBlocked("new.test"), true);
    assert.deepEqual(domains.reads, { pages: 2, named: 0 });
  });

  it("have what was noted while a page was being read", async () => {
    const { store, domains, stored } = setUp();
    stored.blocked.set("old.test", true);
    const gate = createGate();
    const { beforeRead } = domains;
    const first = store.of("team", ALWAYS);
    domains.beforeRead = () => gate.opened;
    stored.blocked.set("new.test", true);
    store.changed("team", ["new.test"]);
    gate.open();
    domains.beforeRead = beforeRead;
    assert.equal((await first).isBlocked("new.test"), true);
    assert.equal(domains.reads.named, 1);
  });

  it("are asked for again when they could not be read, and not before that are they settled", async () => {
    const { store, domains, stored } = setUp();
    domains.fails = true;
    await assert.rejects(async () => store.of("team", ALWAYS), /away/);
    domains.fails = false;
    const lists = await store.of("team", ALWAYS);
    domains.fails = true;
    stored.blocked.set("new.test", true);
    store.changed("team", ["new.test"]);
    await assert.rejects(async () => store.of("team", ALWAYS), /away/);
    assert.equal(lists.isSettled, false);
    domains.fails = false;
    await store.settled("team", lists);
    assert.equal(lists.isBlocked("new.test"), true);
  });

  it("are read again once for all when nothing has proven them for too long", async () => {
    const { store, domains, clock } = setUp();
    const lists = await store.of("team", ALWAYS);
    clock.advance(1000);
    assert.deepEqual(await Promise.all([store.of("team", 0), store.of("team", 0)]), [lists, lists]);
    assert.equal(domains.reads.pages, 2);
    assert.equal(lists.loadedAtMs, 1000);
  });

  it("that are not in memory are not read for a change", () => {
    const { store, domains } = setUp();
    store.changed("team", ["new.test"]);
    assert.deepEqual(domains.reads, { pages: 0, named: 0 });
  });

  it("are evicted by their number of domains, and reported then", async () => {
    const { store, evicted, domains } = setUp();
    const perTeam = LIMITS.keys.blocklistEntriesPerTeam;
    const full = names(perTeam);
    const teams = Math.ceil(domainsHeld / perTeam) + 1;
    for (let team = 0; team < teams; team++) {
      const { blocked } = domains.stored(`team_${team}`);
      for (const name of full) blocked.set(name, true);
      await store.of(`team_${team}`, ALWAYS);
      blocked.clear();
    }
    assert.deepEqual(evicted, ["team_0", "team_1"]);
    store.reset();
    assert.equal(evicted.length, 2, "a reset is no news to who made it");
  });

  it("come to what is stored, however changes, notes and reads fall", async () => {
    const name = fc.constantFrom("a.test", "b.test", "c.test");
    const step = fc.record({
      name,
      block: fc.constantFrom(true, false, null),
      override: fc.boolean(),
      note: fc.constantFrom("named", "any", "twice"),
      wait: fc.integer({ min: 0, max: 3 }),
      fails: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const { store, domains, stored } = setUp();
        const lists = await store.of("team", ALWAYS);
        for (const { name: domain, block, override, note, wait, fails } of steps) {
          if (block === null) stored.blocked.delete(domain);
          else stored.blocked.set(domain, block);
          if (override) stored.disposable.add(domain);
          else stored.disposable.delete(domain);
          domains.fails = fails;
          store.changed("team", note === "any" ? [] : [domain]);
          if (note === "twice") store.changed("team", [domain]);
          for (let turn = 0; turn < wait; turn++) await Promise.resolve();
        }
        domains.fails = false;
        // A read in progress may still fail.
        await Promise.allSettled([store.of("team", ALWAYS)]);
        assert.equal(await store.of("team", ALWAYS), lists);
        for (const domain of ["a.test", "b.test", "c.test"]) {
          assert.equal(lists.isBlocked(domain), stored.blocked.has(domain));
          assert.equal(lists.isBlocked(`x.${domain}`), stored.blocked.get(domain) === true);
          assert.equal(lists.isDisposable(domain), stored.disposable.has(domain));
        }
      }),
    );
  });
});
