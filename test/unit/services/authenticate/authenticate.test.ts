import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/core/limits.ts";
import { createLog } from "../../../../src/core/log.ts";
import { createMetrics } from "../../../../src/core/metrics.ts";
import { hashSecret, newSecret } from "../../../../src/services/api-key.ts";
import { createAuthenticator } from "../../../../src/services/authenticate/authenticate.ts";
import type { Credentials } from "../../../../src/store/credentials.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

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
  team: { id: "team_1", tier: "free", limits: {}, blocklist: [], disposable: [] },
};

/** An authenticator whose look-ups wait until the test answers them. */
function setUp() {
  const clock = createFakeClock();
  const waiting: { answer(found: Found): void }[] = [];
  const authenticator = createAuthenticator({
    credentials: {
      find: () => new Promise((resolve) => waiting.push({ answer: resolve })),
      touch: async () => undefined,
    },
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
    clock,
    log: createLog("silent"),
    metrics: createMetrics(),
  });
  const secret = newSecret("live");
  const ask = () => authenticator.authenticate(`Bearer ${secret}`);
  return { clock, waiting, authenticator, secret, ask };
}

describe("a look-up of a credential", () => {
  it("that was under way while the credential changed serves who waits and is not kept", async () => {
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
    assert.equal(ask() instanceof Promise, false);
  });

  it("is refused when too many are under way", () => {
    const { authenticator, waiting } = setUp();
    for (let i = 0; i < LIMITS.keys.lookupsInFlight; i++)
      authenticator.authenticate(`Bearer ${newSecret("live")}`);
    assert.throws(() => authenticator.authenticate(`Bearer ${newSecret("live")}`), { code: "overloaded" });
    assert.equal(waiting.length, LIMITS.keys.lookupsInFlight);
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

  it("ends before what a joiner is told could be older than a cache may be", () => {
    assert.ok(LIMITS.keys.lookupTimeoutMs <= LIMITS.keys.confirmMs);
  });
});

describe("a change to the operator's lists", () => {
  it("is passed on, and drops no credential", async () => {
    const { ask, waiting, authenticator } = setUp();
    let told = 0;
    authenticator.followLists(() => {
      told += 1;
    });
    const first = ask();
    waiting[0]?.answer(FOUND);
    await first;
    authenticator.invalidate({ kind: "lists", subject: "disposable" });
    assert.equal(told, 1);
    assert.equal(ask() instanceof Promise, false);
    authenticator.invalidate({ kind: "team", subject: "team_1" });
    assert.equal(told, 1);
    assert.ok(ask() instanceof Promise);
  });

  it("may have been missed where the feed begins or broke: it is passed on then too", async () => {
    const { authenticator } = setUp();
    let told = 0;
    authenticator.followLists(() => {
      told += 1;
    });
    await authenticator.start();
    assert.equal(told, 1);
    await authenticator.stop();
  });
});
