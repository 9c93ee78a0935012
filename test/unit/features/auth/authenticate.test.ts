import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createAuthenticator } from "../../../../src/features/auth/authenticate.ts";
import { hashSecret, newSecret } from "../../../../src/features/identity/api-key.ts";
import type { Credentials } from "../../../../src/features/identity/credentials.ts";
import { createClientLimiter } from "../../../../src/features/rate-limit/clients.ts";
import { createLog } from "../../../../src/platform/log.ts";
import { createMetrics } from "../../../../src/platform/telemetry/metrics.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { createGate } from "../../../support/gate.ts";
import { createMemoryTeamDomains } from "../../../support/team-domains.ts";

type Found = Awaited<ReturnType<Credentials["find"]>>;

const FOUND: NonNullable<Found> = {
  credential: {
    id: "key_1",
    teamId: "team_1",
    userId: null,
    kind: "live",
    keyRole: "admin",
    memberRole: null,
    expiresInMs: null,
  },
  team: { id: "team_1", tier: "free", limits: {} },
};

/** An authenticator whose look-ups wait until the test answers them. */
function setUp() {
  const clock = createFakeClock();
  const waiting: { answer(found: Found): void }[] = [];
  const domains = createMemoryTeamDomains();
  const authenticator = createAuthenticator({
    credentials: {
      find: () => new Promise((resolve) => waiting.push({ answer: resolve })),
      touch: async () => undefined,
    },
    domains,
    changes: {
      since: async () => ({ changes: [], cursor: "1", overflow: false }),
      prune: async () => undefined,
    },
    bus: {
      announce: async () => undefined,
      listen: () => undefined,
      session: null,
      settle: async () => undefined,
    },
    clients: createClientLimiter(),
    clock,
    log: createLog("silent"),
    metrics: createMetrics(),
  });
  const secret = newSecret("live");
  const from = (address: string, key: string) =>
    authenticator.authenticate(`Bearer ${key}`, { clientAddress: address });
  const ask = () => authenticator.authenticate(`Bearer ${secret}`);
  return { clock, domains, waiting, authenticator, secret, ask, from };
}

describe("a look-up of a credential", () => {
  it("that was in progress while the credential changed serves its waiters and is not cached", async () => {
    const { ask, waiting, authenticator, secret } = setUp();
    const first = ask();
    authenticator.invalidate({ kind: "credential", subject: hashSecret(secret) });
    waiting[0]?.answer(FOUND);
    assert.equal((await first).keyId, "key_1");
    const second = ask();
    assert.ok(second instanceof Promise, "looked up again");
    waiting[1]?.answer(null);
    await assert.rejects(second, { code: "unauthorized" });
  });

  it("that takes too long answers 503, and is not repeated while it is under way", async () => {
    const { ask, waiting, clock } = setUp();
    const first = ask();
    clock.advance(LIMITS.keys.lookupTimeoutMs);
    await assert.rejects(async () => first, { code: "unavailable" });
    await assert.rejects(async () => ask(), { code: "unavailable" });
    assert.equal(waiting.length, 1);
    waiting[0]?.answer(FOUND);
    await new Promise((resolve) => setImmediate(resolve));
    // The late answer is older than a cached credential may be.
    const next = ask();
    assert.equal(waiting.length, 2);
    waiting[1]?.answer(FOUND);
    await next;
    assert.equal(ask() instanceof Promise, false);
  });

  it("is refused when too many are under way", () => {
    const { authenticator, waiting } = setUp();
    for (let i = 0; i < LIMITS.keys.lookupsInFlight; i++)
      authenticator.authenticate(`Bearer ${newSecret("live")}`);
    assert.throws(() => authenticator.authenticate(`Bearer ${newSecret("live")}`), { code: "overloaded" });
    assert.equal(waiting.length, LIMITS.keys.lookupsInFlight);
  });

  it("of unknown credentials may take a share of those in progress for one site; ended ones do not count", async () => {
    const { from, waiting } = setUp();
    const share = LIMITS.keys.lookupsPerSite;
    const asked = Array.from({ length: share }, (_, i) =>
      from(`2001:db8:1:${(i % 9) + 1}::1`, newSecret("live")),
    );
    assert.throws(() => from("2001:db8:1:ffff::1", newSecret("live")), { code: "rate_limited" });
    assert.equal(waiting.length, share);
    const key = newSecret("live");
    const others = [from("192.0.2.1", key), from("192.0.2.1", key)];
    assert.equal(waiting.length, share + 1, "whoever asks for the same joins");
    for (const { answer } of waiting) answer(FOUND);
    await Promise.all([...asked, ...others]);
    assert.ok(from("2001:db8:1:ffff::1", newSecret("live")) instanceof Promise);
  });

  it("in vain is remembered for a moment only", async () => {
    const { ask, waiting, clock } = setUp();
    const first = ask();
    waiting[0]?.answer(null);
    await assert.rejects(async () => first, { code: "unauthorized" });
    assert.throws(ask, { code: "unauthorized" });
    assert.equal(waiting.length, 1);
    clock.advance(LIMITS.keys.negativeMs);
    const again = ask();
    waiting[1]?.answer(FOUND);
    assert.equal((await again).role, "member", "a key without a user");
  });

  it("is joined only while its result is no older than a cached one may be", async () => {
    const { ask, waiting, clock } = setUp();
    const first = ask();
    clock.advance(LIMITS.keys.confirmMs - 1);
    const joiner = ask();
    clock.advance(1);
    const late = ask();
    assert.equal(waiting.length, 2);
    waiting[1]?.answer(null);
    await assert.rejects(async () => late, { code: "unauthorized" });
    waiting[0]?.answer(FOUND);
    assert.equal((await first).keyId, "key_1");
    assert.equal((await joiner).keyId, "key_1");
  });
});

describe("a change to a team's lists", () => {
  const BLOCKED = { kind: "team", subject: "team_1", domains: ["new.test"] } as const;

  async function setUpKnown() {
    const world = setUp();
    const first = world.ask();
    world.waiting[0]?.answer(FOUND);
    return { ...world, actor: await first };
  }

  it("is read once, by difference, and makes no key stale", async () => {
    const { ask, actor, authenticator, domains, waiting } = await setUpKnown();
    domains.stored("team_1").blocked.set("new.test", true);
    authenticator.invalidate(BLOCKED);
    const during = ask();
    assert.ok(during instanceof Promise);
    assert.equal(await during, actor);
    assert.equal(actor.overlay.isBlocked("x.new.test"), true);
    assert.equal(ask(), actor);
    assert.equal(waiting.length, 1);
    assert.deepEqual(domains.reads, { pages: 1, named: 1 });
  });

  it("that cannot be read, or not in time, is 503 for the team's keys until it is read", async () => {
    const { ask, authenticator, domains, clock, waiting } = await setUpKnown();
    domains.fails = true;
    authenticator.invalidate(BLOCKED);
    await assert.rejects(async () => ask(), { code: "unavailable" });
    domains.fails = false;
    const gate = createGate();
    domains.beforeRead = () => gate.opened;
    const slow = ask();
    clock.advance(LIMITS.keys.lookupTimeoutMs);
    await assert.rejects(async () => slow, { code: "unavailable" });
    gate.open();
    // Nothing has confirmed the key meanwhile: it is looked up too.
    const next = ask();
    waiting[1]?.answer(FOUND);
    assert.equal((await next).keyId, "key_1");
  });

  it("is not read for a key, nor a key for it", async () => {
    const { ask, authenticator, domains, waiting, secret } = await setUpKnown();
    authenticator.invalidate({ kind: "credential", subject: hashSecret(secret) });
    authenticator.invalidate({ kind: "team", subject: "team_1" });
    const again = ask();
    waiting[1]?.answer(FOUND);
    await again;
    assert.deepEqual(domains.reads, { pages: 1, named: 0 });
  });

  it("may have been missed where the feed broke: the lists are read again", async () => {
    const { ask, authenticator, domains, waiting } = await setUpKnown();
    domains.stored("team_1").blocked.set("new.test", true);
    authenticator.invalidate({ kind: "all", subject: "" });
    const again = ask();
    waiting[1]?.answer(FOUND);
    assert.equal((await again).overlay.isBlocked("new.test"), true);
  });
});

describe("an address that sends invalid credentials", () => {
  const STRANGER = "192.0.2.1";
  const { burst, unitsPerS } = LIMITS.clients;
  /** A caller whose address must not be read. */
  const unread = {
    get clientAddress(): string {
      throw new Error("the address was read");
    },
  };

  async function sendUnknown({ from, waiting }: ReturnType<typeof setUp>, count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const asked = from(STRANGER, newSecret("live"));
      waiting.at(-1)?.answer(null);
      await assert.rejects(async () => asked, { code: "unauthorized" });
    }
  }

  it("is refused before any look-up once too many were unknown, until it has waited", async () => {
    const world = setUp();
    await sendUnknown(world, burst);
    assert.equal(world.waiting.length, burst);
    for (let i = 0; i < 50; i++)
      assert.throws(() => world.from(STRANGER, newSecret("live")), { code: "rate_limited", retryAfterS: 1 });
    assert.equal(world.waiting.length, burst);
    assert.ok(world.from("192.0.2.2", newSecret("live")) instanceof Promise, "another address");
    world.clock.advance(1000 / unitsPerS);
    await sendUnknown(world, 1);
    assert.throws(() => world.from(STRANGER, newSecret("live")), { code: "rate_limited" });
  });

  it("pays for the same unknown one each time, and for what is mistyped or no credential at all", async () => {
    const { from, waiting } = setUp();
    const unknown = newSecret("live");
    const first = from(STRANGER, unknown);
    waiting[0]?.answer(null);
    await assert.rejects(async () => first, { code: "unauthorized" });
    const last = unknown.at(-1) === "a" ? "b" : "a";
    const kinds = [unknown, unknown.slice(0, -1) + last, "short"];
    for (let i = 1; i < burst; i++)
      assert.throws(() => from(STRANGER, kinds[i % kinds.length] as string), { code: "unauthorized" });
    for (const key of kinds) assert.throws(() => from(STRANGER, key), { code: "rate_limited" });
    assert.equal(waiting.length, 1);
  });

  it("is charged for all that were in progress at once", async () => {
    const { from, waiting } = setUp();
    const asked = Array.from({ length: burst + unitsPerS }, () => from(STRANGER, newSecret("live")));
    for (const { answer } of waiting) answer(null);
    const settled = await Promise.allSettled(asked);
    assert.ok(settled.every(({ status }) => status === "rejected"));
    assert.throws(() => from(STRANGER, newSecret("live")), { code: "rate_limited", retryAfterS: 2 });
  });

  it("pays nothing for a credential that is good, nor for one that could not be looked up", async () => {
    const { from, waiting, clock } = setUp();
    for (let i = 0; i < 2 * burst; i++) {
      const asked = from(STRANGER, newSecret("live"));
      if (i % 2 === 0) waiting.at(-1)?.answer(FOUND);
      else clock.advance(LIMITS.keys.lookupTimeoutMs);
      await Promise.allSettled([asked]);
      waiting.at(-1)?.answer(FOUND);
    }
    assert.ok(from(STRANGER, newSecret("live")) instanceof Promise);
  });

  it("does not keep out a credential that was good when it was last seen", async () => {
    const world = setUp();
    const { ask, authenticator, from, secret, waiting } = world;
    const first = ask();
    waiting[0]?.answer(FOUND);
    await first;
    await sendUnknown(world, burst);
    assert.equal(authenticator.authenticate(`Bearer ${secret}`, unread), await first);
    for (const change of [
      { kind: "team", subject: "team_1" },
      { kind: "credential", subject: hashSecret(secret) },
      { kind: "all", subject: "" },
    ] as const) {
      authenticator.invalidate(change);
      const again = from(STRANGER, secret);
      assert.ok(again instanceof Promise, `looked up after a change of ${change.kind}`);
      waiting.at(-1)?.answer(FOUND);
      assert.equal((await again).keyId, "key_1");
    }
    authenticator.invalidate({ kind: "credential", subject: hashSecret(secret) });
    const revoked = from(STRANGER, secret);
    waiting.at(-1)?.answer(null);
    await assert.rejects(async () => revoked, { code: "unauthorized" });
    assert.throws(() => from(STRANGER, secret), { code: "rate_limited" });
  });

  it("is not asked for where no credential is sent", () => {
    const { authenticator } = setUp();
    assert.throws(() => authenticator.authenticate("", unread), { code: "unauthorized" });
  });

  it("cannot push out what others sent: unknown ones are remembered apart", async () => {
    const world = setUp();
    const { ask, authenticator, from, secret, waiting } = world;
    const first = ask();
    waiting[0]?.answer(FOUND);
    await first;
    for (let i = 0; i <= LIMITS.keys.negativeEntries; i++) {
      const asked = from(`192.0.${i >> 8}.${i & 255}`, newSecret("live"));
      waiting.at(-1)?.answer(null);
      await Promise.allSettled([asked]);
    }
    assert.equal(authenticator.authenticate(`Bearer ${secret}`, unread), await first);
  });
});

describe("a change to the operator's lists", () => {
  it("is passed on, and drops no credential", async () => {
    const { ask, waiting, authenticator } = setUp();
    let reported = 0;
    authenticator.followLists(() => {
      reported += 1;
    });
    const first = ask();
    waiting[0]?.answer(FOUND);
    await first;
    authenticator.invalidate({ kind: "lists", subject: "disposable" });
    assert.equal(reported, 1);
    assert.equal(ask() instanceof Promise, false);
    authenticator.invalidate({ kind: "team", subject: "team_1" });
    assert.equal(reported, 1);
    assert.ok(ask() instanceof Promise);
  });

  it("may have been missed where the feed begins or broke: it is passed on then too", async () => {
    const { authenticator } = setUp();
    let reported = 0;
    authenticator.followLists(() => {
      reported += 1;
    });
    await authenticator.start();
    assert.equal(reported, 1);
    await authenticator.stop();
  });
});
