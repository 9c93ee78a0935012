import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/core/limits.ts";
import { createOverlays } from "../../../../src/services/authenticate/overlays.ts";
import type { Queryable } from "../../../../src/store/postgres.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const { overlaysFreshMs, overlaysKept } = LIMITS.bulk;

/** Postgres with one blocklist for all teams; counts who reads it. */
function createBlocklist() {
  const blocked: { domain: string; includeSubdomains: boolean }[] = [];
  const list = { blocked, reads: 0, fails: false };
  const sql = async (parts: TemplateStringsArray) => {
    if (list.fails) throw new Error("away");
    if (!parts.join("").includes("from blocklist")) return [];
    list.reads += 1;
    return [...blocked];
  };
  return Object.assign(list, { sql: sql as unknown as Queryable });
}

function setUp() {
  const clock = createFakeClock();
  const list = createBlocklist();
  return { clock, list, overlayOf: createOverlays({ sql: list.sql, clock }) };
}

describe("what teams say of domains, for their jobs", () => {
  it("is known from its first row on to a job that was submitted behind a change", async () => {
    const { clock, list, overlayOf } = setUp();
    assert.equal((await overlayOf("team", "a")).isBlocked("one.test"), false);
    list.blocked.push({ domain: "one.test", includeSubdomains: false });
    assert.equal((await overlayOf("team", "b")).isBlocked("one.test"), true);
    assert.equal((await overlayOf("team", "a")).isBlocked("one.test"), false);
    clock.advance(overlaysFreshMs);
    assert.equal((await overlayOf("team", "a")).isBlocked("one.test"), true);
  });

  it("is read once for the chunks of a job while it is fresh", async () => {
    const { clock, list, overlayOf } = setUp();
    const [first, second] = await Promise.all([overlayOf("team", "a"), overlayOf("team", "a")]);
    assert.equal(first, second);
    clock.advance(overlaysFreshMs - 1);
    await overlayOf("team", "a");
    assert.equal(list.reads, 1);
    clock.advance(1);
    await overlayOf("team", "a");
    assert.equal(list.reads, 2);
  });

  it("is the same object, in all jobs of a team, as long as that says the same", async () => {
    const { clock, list, overlayOf } = setUp();
    list.blocked.push({ domain: "one.test", includeSubdomains: false });
    const first = await overlayOf("team", "a");
    assert.equal(await overlayOf("team", "b"), first);
    clock.advance(overlaysFreshMs);
    assert.equal(await overlayOf("team", "a"), first);
    list.blocked.push({ domain: "two.test", includeSubdomains: false });
    clock.advance(overlaysFreshMs);
    const second = await overlayOf("team", "a");
    assert.notEqual(second, first);
    assert.deepEqual([second.isBlocked("two.test"), first.isBlocked("two.test")], [true, false]);
  });

  it("is kept for no more jobs than its bound, those that came last", async () => {
    const { list, overlayOf } = setUp();
    for (let job = 0; job <= overlaysKept; job++) await overlayOf("team", `${job}`);
    await overlayOf("team", `${overlaysKept}`);
    await overlayOf("team", "1");
    assert.equal(list.reads, overlaysKept + 1);
    await overlayOf("team", "0");
    assert.equal(list.reads, overlaysKept + 2);
  });

  it("is dropped when it is no longer fresh, whoever asks next", async (t) => {
    const { clock, overlayOf } = setUp();
    const deleted: unknown[] = [];
    const { delete: remove } = Map.prototype;
    for (let job = 0; job < overlaysKept; job++) await overlayOf("team", `${job}`);
    clock.advance(overlaysFreshMs);
    t.mock.method(Map.prototype, "delete", function (this: Map<unknown, unknown>, key: unknown) {
      if (remove.call(this, key)) deleted.push(key);
      return true;
    });
    const asked = overlayOf("team", "later");
    t.mock.restoreAll();
    assert.equal(deleted.filter((key) => /^team \d+$/.test(String(key))).length, overlaysKept);
    await asked;
  });

  it("is asked for anew when it could not be read", async () => {
    const { list, overlayOf } = setUp();
    list.fails = true;
    await assert.rejects(overlayOf("team", "a"), /away/);
    list.fails = false;
    assert.equal((await overlayOf("team", "a")).isBlocked("one.test"), false);
  });
});
