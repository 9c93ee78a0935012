import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import type { CacheEntry } from "../../../../../src/features/verify/cache/cache-entry.ts";
import {
  type CheckQuestion,
  createInFlightChecks,
  type VerificationWaiter,
} from "../../../../../src/features/verify/checks/in-flight-checks.ts";
import { AppError } from "../../../../../src/platform/errors.ts";
import { createLog } from "../../../../../src/platform/log.ts";
import { parseAddress } from "../../../../../src/verification/address/address.ts";
import type { Evidence } from "../../../../../src/verification/evidence.ts";
import { evidenceWith } from "../../../../support/evidence.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";

const EVIDENCE = evidenceWith({
  mx: { status: "no_mx", hosts: [], provider: null, ttlS: 60, fault: "recipient" },
});
const DEADLINE_MS = 10_000;

interface Started {
  cancel(): void;
  finish(evidence: Evidence | null): void;
  fail(error: Error): void;
  cancelled: boolean;
}

function world() {
  const clock = createFakeClock();
  const started: Started[] = [];
  const redis = new Map<string, CacheEntry>();
  const kept = new Map<string, CacheEntry>();
  /** Names in Redis under which it was to be stored; undefined: its own. */
  const names: (string | undefined)[] = [];
  let overloaded = false;
  /** The evidence known without a mail server, and the callers that looked it up. */
  const known: { evidence: Evidence | null } = { evidence: null };
  const looks: string[] = [];
  const made = createInFlightChecks({
    clock,
    log: createLog("silent"),
    deadlineMs: DEADLINE_MS,
    keep: () => ({ ttlS: 60, shared: true }),
    onSettled: () => {},
    cache: {
      look(asker) {
        const { scope, cacheKey } = asker;
        queueMicrotask(() => asker.found(redis.get(`${scope} ${cacheKey}`), `in redis: ${cacheKey}`));
      },
      store(scope, key, entry, _shared, redisKey) {
        kept.set(`${scope} ${key}`, entry);
        names.push(redisKey);
      },
    },
    pool: {
      submit(_address, _scope, asker) {
        if (overloaded) throw new AppError("overloaded", "full");
        const check: Started = {
          finish: (evidence) => asker.onEvidence(evidence),
          fail: (error) => asker.onError(error),
          cancelled: false,
          cancel() {
            check.cancelled = true;
          },
        };
        started.push(check);
        return check;
      },
      check(address, scope) {
        looks.push(`${scope} ${address}`);
        return { evidence: Promise.resolve(known.evidence), cancel() {} };
      },
    },
  });
  function overload(): void {
    overloaded = true;
  }
  /** Callers whose check failed. */
  const failed = { count: 0 };
  const checks = {
    join: (question: CheckQuestion, waiter: VerificationWaiter) =>
      made.join(question, waiter, { settled: (outcome) => outcome, failed: () => void failed.count++ }),
    size: () => made.size(),
  };
  return { clock, started, redis, kept, checks, overload, failed, made, names, known, looks };
}

function question(email: string, refresh = false) {
  const parsed = parseAddress(email);
  assert.ok(parsed.ok);
  return { teamId: "team_1", address: parsed.address, scope: "probed" as const, refresh };
}

function waiter(): VerificationWaiter & { go(): void } {
  let gone: (() => void) | null = null;
  let cancelled = false;
  return {
    startedMs: 0,
    cancelled: () => cancelled,
    onCancel(callback) {
      gone = callback;
    },
    go() {
      cancelled = true;
      gone?.();
    },
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("single flight", () => {
  it("shares one check among simultaneous requests", async () => {
    const { checks, started, kept } = world();
    const asked = Array.from({ length: 20 }, () => checks.join(question("a@example.com"), waiter()));
    await turn();
    assert.equal(started.length, 1);
    started[0]?.finish(EVIDENCE);
    for (const landing of await Promise.all(asked)) assert.equal(landing.entry?.evidence, EVIDENCE);
    assert.equal(kept.size, 1);
    assert.equal(checks.size(), 0);
  });

  it("keeps addresses and scopes apart", async () => {
    const { checks, started } = world();
    void checks.join(question("a@example.com"), waiter());
    void checks.join(question("b@example.com"), waiter());
    void checks.join({ ...question("a@example.com"), scope: "unprobed" }, waiter());
    await turn();
    assert.equal(started.length, 3);
  });

  it("is content with Redis, unless fresh evidence was asked for", async () => {
    const { checks, started, redis } = world();
    redis.set("probed a@example.com", { evidence: EVIDENCE, storedAt: 5, ttlS: 60 });
    const landing = await checks.join(question("a@example.com"), waiter());
    assert.deepEqual([landing.cached, landing.entry?.storedAt, started.length], [true, 5, 0]);
    void checks.join(question("a@example.com", true), waiter());
    await turn();
    assert.equal(started.length, 1);
  });

  it("hashes the address for Redis once", async () => {
    const { checks, started, names } = world();
    for (const refresh of [false, true]) {
      const asked = checks.join(question("a@example.com", refresh), waiter());
      await turn();
      started.at(-1)?.finish(EVIDENCE);
      await asked;
    }
    assert.deepEqual(names, ["in redis: a@example.com", undefined]);
  });

  it("lets a refresh join a check in flight, never a look-up of the cache", async () => {
    const { checks, started, redis } = world();
    redis.set("probed a@example.com", { evidence: EVIDENCE, storedAt: 5, ttlS: 60 });
    const content = checks.join(question("a@example.com"), waiter());
    const fresh = checks.join(question("a@example.com", true), waiter());
    const joined = checks.join(question("a@example.com", true), waiter());
    assert.equal((await content).cached, true);
    await turn();
    assert.equal(started.length, 1);
    started[0]?.finish(EVIDENCE);
    assert.deepEqual([(await fresh).cached, (await joined).cached], [false, false]);
  });
});

describe("deadline", () => {
  it("brings what is known without the mail server, looked up once shortly before", async () => {
    const { clock, checks, known, looks } = world();
    known.evidence = EVIDENCE;
    const asked = [1, 2].map(() => checks.join(question("a@example.com"), waiter()));
    await turn();
    await clock.advanceAsync(DEADLINE_MS - LIMITS.inFlightChecks.knownAheadMs - 1);
    assert.deepEqual(looks, []);
    await clock.advanceAsync(1);
    assert.deepEqual(looks, ["unprobed a@example.com"]);
    await clock.advanceAsync(LIMITS.inFlightChecks.knownAheadMs);
    for (const landing of await Promise.all(asked)) {
      assert.equal(landing.failure, "deadline");
      assert.equal(landing.entry === null && landing.known, EVIDENCE);
    }
    assert.equal(looks.length, 1);
  });

  it("answers at the deadline while the check goes on to fill the cache", async () => {
    const { checks, started, clock, kept } = world();
    const asked = checks.join(question("slow@example.com"), waiter());
    await turn();
    clock.advance(DEADLINE_MS);
    assert.deepEqual(await asked, { entry: null, cached: false, failure: "deadline", known: null });
    assert.equal(started[0]?.cancelled, false);
    started[0]?.finish(EVIDENCE);
    await turn();
    assert.equal(kept.size, 1);
  });

  it("counts from when the request came, not from when the check began", async () => {
    const { checks, clock } = world();
    clock.advance(DEADLINE_MS - 1);
    const asked = checks.join(question("late@example.com"), waiter());
    await turn();
    clock.advance(1);
    assert.equal((await asked).failure, "deadline");
  });

  it("leaves no timer behind", async () => {
    const { checks, started, clock } = world();
    const asked = checks.join(question("a@example.com"), waiter());
    await turn();
    started[0]?.finish(EVIDENCE);
    await asked;
    assert.equal(clock.pending, 0);
  });
});

describe("clients that go away", () => {
  it("ends the check when the last one has gone", async () => {
    const { checks, started } = world();
    const [one, two] = [waiter(), waiter()];
    void checks.join(question("a@example.com"), one);
    void checks.join(question("a@example.com"), two);
    await turn();
    one.go();
    assert.equal(started[0]?.cancelled, false);
    two.go();
    assert.equal(started[0]?.cancelled, true);
  });

  it("never ends a check that a caller was promised at the deadline", async () => {
    const { checks, started, clock } = world();
    void checks.join(question("a@example.com"), waiter());
    await turn();
    clock.advance(DEADLINE_MS);
    const late = waiter();
    void checks.join(question("a@example.com"), late);
    late.go();
    assert.equal(started[0]?.cancelled, false);
  });

  it("starts a new check for a request after an abandoned one", async () => {
    const { checks, started } = world();
    const gone = waiter();
    void checks.join(question("a@example.com"), gone);
    await turn();
    gone.go();
    const next = checks.join(question("a@example.com"), waiter());
    await turn();
    started[0]?.finish(null);
    started[1]?.finish(EVIDENCE);
    assert.equal((await next).entry?.evidence, EVIDENCE);
  });

  it("does not start a check for a client that left while Redis was asked", async () => {
    const { checks, started } = world();
    const gone = waiter();
    void checks.join(question("a@example.com"), gone);
    gone.go();
    await turn();
    assert.equal(started.length, 0);
  });

  it("does not start a check for a client that had left before it asked", async () => {
    const { checks, started } = world();
    const gone: VerificationWaiter = {
      startedMs: 0,
      cancelled: () => true,
      onCancel: (callback) => callback(),
    };
    for (const refresh of [true, false]) {
      const landing = await checks.join(question("a@example.com", refresh), gone);
      assert.equal(landing.failure, "internal_error");
    }
    await turn();
    assert.deepEqual([started.length, checks.size()], [0, 0]);
  });
});

describe("faults of our own", () => {
  it("answers internal_error when a check breaks, and keeps nothing", async () => {
    const { checks, started, kept } = world();
    const asked = checks.join(question("a@example.com"), waiter());
    await turn();
    started[0]?.fail(new Error("boom"));
    assert.equal((await asked).failure, "internal_error");
    assert.equal(kept.size, 0);
  });

  it("gives every waiter the error that a callback throws, each its own", async () => {
    const { checks, made, started } = world();
    let gaveUp = 0;
    const thrower = {
      settled: () => {
        throw new Error("cannot be rendered");
      },
      failed: () => void gaveUp++,
    };
    const [broken, good] = [
      made.join(question("a@example.com"), waiter(), thrower),
      checks.join(question("a@example.com"), waiter()),
    ];
    await turn();
    started[0]?.finish(EVIDENCE);
    await assert.rejects(broken, /cannot be rendered/);
    assert.equal((await good).entry?.evidence, EVIDENCE);
    assert.deepEqual([gaveUp, checks.size()], [1, 0]);
  });

  it("lets no team have all checks to itself", async () => {
    const { checks, started, failed } = world();
    const share = LIMITS.check.tasksInFlight / LIMITS.inFlightChecks.teamShare;
    for (let i = 0; i < share; i++) void checks.join(question(`a${i}@example.com`), waiter());
    await assert.rejects(checks.join(question("one-more@example.com"), waiter()), { code: "overloaded" });
    assert.equal(failed.count, 1);
    await turn();
    const other = checks.join({ ...question("b@example.com"), teamId: "team_2" }, waiter());
    await turn();
    started.at(-1)?.finish(EVIDENCE);
    assert.equal((await other).entry?.evidence, EVIDENCE);
    started[0]?.finish(EVIDENCE);
    await turn();
    const again = checks.join(question("again@example.com"), waiter());
    await turn();
    started.at(-1)?.finish(EVIDENCE);
    assert.equal((await again).entry?.evidence, EVIDENCE);
  });

  it("frees the slot of a request that joins a check", async () => {
    const { checks, started } = world();
    let freed = 0;
    const slot = () => ({ admit() {}, release: () => void freed++ });
    const first = checks.join(question("a@example.com"), { ...waiter(), slot: slot() });
    await turn();
    assert.equal(freed, 0);
    const joined = checks.join(question("a@example.com"), { ...waiter(), slot: slot() });
    assert.equal(freed, 1);
    started[0]?.finish(EVIDENCE);
    for (const outcome of await Promise.all([first, joined])) assert.equal(outcome.entry?.evidence, EVIDENCE);
  });

  it("passes overload on to the caller", async () => {
    const { checks, overload, failed } = world();
    overload();
    await assert.rejects(checks.join(question("a@example.com"), waiter()), { code: "overloaded" });
    assert.equal(checks.size(), 0);
    assert.equal(failed.count, 1);
  });
});
