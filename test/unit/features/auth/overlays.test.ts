import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { AuthChange } from "../../../../src/features/auth/auth-changes.ts";
import { createOverlays } from "../../../../src/features/auth/overlays.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { createGate } from "../../../support/gate.ts";
import { silentLog } from "../../../support/store.ts";
import { createMemoryTeamDomains } from "../../../support/team-domains.ts";

const { overlaysFreshMs } = LIMITS.bulk;

function setUp() {
  const clock = createFakeClock();
  const domains = createMemoryTeamDomains();
  const feed = { reads: 0, fails: false, notes: [] as AuthChange[], before: async () => {} };
  const changes = {
    async since(cursor: string | null) {
      feed.reads += 1;
      await feed.before();
      if (feed.fails) throw new Error("away");
      const noted = feed.notes.splice(0);
      return {
        changes: cursor === null ? [] : noted,
        cursor: "1",
        overflow: noted.some(({ kind }) => kind === "all"),
      };
    },
  };
  /** As the database does: stored, and noted. */
  const block = (teamId: string, domain: string) => {
    domains.stored(teamId).blocked.set(domain, false);
    feed.notes.push({ kind: "team", subject: teamId, domains: [domain] });
  };
  const overlayOf = createOverlays({ changes, domains, clock, log: silentLog });
  return { clock, domains, feed, block, overlayOf };
}

describe("what teams say of domains, for their jobs", () => {
  it("is known from its first row on to a job that was submitted behind a change", async () => {
    const { clock, block, overlayOf, domains } = setUp();
    assert.equal((await overlayOf("team", "a")).isBlocked("one.test"), false);
    block("team", "one.test");
    assert.equal((await overlayOf("team", "a")).isBlocked("one.test"), false, "read a moment ago");
    assert.equal((await overlayOf("team", "b")).isBlocked("one.test"), true);
    block("team", "two.test");
    clock.advance(overlaysFreshMs);
    assert.equal((await overlayOf("team", "a")).isBlocked("two.test"), true);
    assert.deepEqual(domains.reads, { pages: 1, named: 2 });
  });

  it("is not taken from a read that began before the job existed", async () => {
    const { block, feed, overlayOf } = setUp();
    await overlayOf("team", "a");
    const gate = createGate();
    let begun = 0;
    feed.before = async () => {
      begun += 1;
      if (begun === 1) await gate.opened;
    };
    const slow = overlayOf("team", "b");
    const later = [overlayOf("team", "c"), overlayOf("team", "d")];
    block("team", "one.test");
    gate.open();
    await slow;
    for (const overlay of await Promise.all(later)) assert.equal(overlay.isBlocked("one.test"), true);
    assert.equal(feed.reads, 3, "one read for both");
  });

  it("is asked about once for the chunks of a job while it is fresh", async () => {
    const { clock, feed, overlayOf } = setUp();
    await overlayOf("team", "a");
    clock.advance(overlaysFreshMs - 1);
    await overlayOf("team", "a");
    assert.equal(feed.reads, 1);
    clock.advance(1);
    await overlayOf("team", "a");
    assert.equal(feed.reads, 2);
  });

  it("is the same object, in all jobs of a team, as long as that says the same", async () => {
    const { block, overlayOf } = setUp();
    block("team", "one.test");
    const first = await overlayOf("team", "a");
    assert.equal(await overlayOf("team", "b"), first);
    block("team", "two.test");
    const second = await overlayOf("team", "c");
    assert.notEqual(second, first);
    assert.equal(second.isBlocked("two.test"), true);
    assert.equal(await overlayOf("empty", "d"), await overlayOf("empty too", "e"));
  });

  it("is read anew where changes may have been missed", async () => {
    const { clock, domains, feed, overlayOf } = setUp();
    await overlayOf("team", "a");
    domains.stored("team").blocked.set("one.test", false);
    feed.notes.push({ kind: "all", subject: "" });
    assert.equal((await overlayOf("team", "b")).isBlocked("one.test"), true, "more than a read takes");
    domains.stored("team").blocked.set("two.test", false);
    clock.advance(LIMITS.keys.changesKeptMs);
    assert.equal((await overlayOf("team", "c")).isBlocked("two.test"), true, "notes are gone by then");
    domains.stored("team").blocked.set("three.test", false);
    feed.fails = true;
    await assert.rejects(overlayOf("team", "d"), /away/);
    feed.fails = false;
    assert.equal((await overlayOf("team", "d")).isBlocked("three.test"), true, "a read failed");
  });

  it("is asked for anew when it could not be read", async () => {
    const { domains, overlayOf } = setUp();
    domains.fails = true;
    await assert.rejects(overlayOf("team", "a"), /away/);
    domains.fails = false;
    assert.equal((await overlayOf("team", "a")).isBlocked("one.test"), false);
  });
});
