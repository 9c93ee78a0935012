import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { ChangePage } from "../../../../src/features/auth/auth-changes.ts";
import { createChangeFeed } from "../../../../src/features/auth/feed.ts";
import { createLog } from "../../../../src/platform/log.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

/** A feed on a Postgres and a bus that the test switches off and on. */
function setUp() {
  const clock = createFakeClock();
  const postgres = { up: true, page: { changes: [], cursor: "1", overflow: false } as ChangePage, reads: 0 };
  const redis = { session: 1 as number | null, answers: true };
  const applied: string[] = [];
  let resets = 0;
  let polls = 0;
  const feed = createChangeFeed({
    changes: {
      async since() {
        postgres.reads += 1;
        if (!postgres.up) throw new Error("down");
        return postgres.page;
      },
      prune: async () => undefined,
    },
    bus: {
      announce: async () => undefined,
      listen: () => undefined,
      get session() {
        return redis.session;
      },
      async settle() {
        if (!redis.answers) throw new Error("down");
      },
    },
    clock,
    log: createLog("silent"),
    apply: (change) => applied.push(change.subject),
    reset: () => {
      resets += 1;
    },
    onPoll: () => {
      polls += 1;
    },
  });
  /** Moves time by one poll and runs it. */
  async function step(): Promise<void> {
    clock.advance(LIMITS.keys.pollMs);
    await feed.poll();
  }
  return { clock, postgres, redis, applied, feed, step, resets: () => resets, polls: () => polls };
}

describe("the feed of changes", () => {
  it("starts afresh, then applies each change, and starts afresh again when there were too many", async () => {
    const { feed, postgres, applied, resets, step } = setUp();
    await feed.poll();
    assert.equal(resets(), 1);
    postgres.page = { changes: [{ kind: "team", subject: "a" }], cursor: "2", overflow: false };
    await step();
    postgres.page = {
      changes: [{ kind: "team", subject: "b" }],
      cursor: "3",
      overflow: false,
    };
    await step();
    assert.deepEqual(applied, ["a", "b"]);
    postgres.page = { changes: [], cursor: "9", overflow: true };
    await step();
    assert.equal(resets(), 2);
  });

  it("reports each poll, also one that Postgres does not answer", async () => {
    const { postgres, polls, step } = setUp();
    await step();
    postgres.up = false;
    await step();
    assert.equal(polls(), 2);
  });

  it("confirms as of when a poll began", async () => {
    const { feed, clock, step } = setUp();
    await feed.poll();
    assert.equal(feed.confirmedAtMs(), 0);
    await step();
    assert.equal(feed.confirmedAtMs(), LIMITS.keys.pollMs);
    clock.advance(5_000);
    assert.equal(feed.confirmedAtMs(), LIMITS.keys.pollMs);
  });

  it("confirms by the bus while Postgres is away, for a while", async () => {
    const { feed, clock, postgres, step } = setUp();
    await feed.poll();
    postgres.up = false;
    await step();
    assert.equal(feed.confirmedAtMs(), clock.monotonic());
    while (clock.monotonic() < LIMITS.keys.busOnlyMs) await step();
    const last = feed.confirmedAtMs();
    assert.ok(last >= LIMITS.keys.busOnlyMs - 2 * LIMITS.keys.pollMs && last < LIMITS.keys.busOnlyMs);
    await step();
    assert.equal(feed.confirmedAtMs(), last);
  });

  it("does not trust a bus that is silent, or whose subscription is younger than the last good poll", async () => {
    const { feed, postgres, redis, step } = setUp();
    await feed.poll();
    postgres.up = false;
    redis.answers = false;
    await step();
    assert.equal(feed.confirmedAtMs(), 0);
    redis.answers = true;
    redis.session = 2;
    await step();
    assert.equal(feed.confirmedAtMs(), 0);
    redis.session = null;
    await step();
    assert.equal(feed.confirmedAtMs(), 0);
  });

  it("starts afresh after a silence in which changes may have been pruned", async () => {
    const { feed, clock, resets } = setUp();
    await feed.poll();
    clock.advance(LIMITS.keys.changesKeptMs / 2 + 1);
    await feed.poll();
    assert.equal(resets(), 2);
  });

  it("starts afresh, once, when Postgres answers again: it may be another server", async () => {
    const { feed, postgres, applied, resets, step } = setUp();
    await feed.poll();
    postgres.up = false;
    await step();
    await step();
    assert.equal(resets(), 1, "what is cached is used while Postgres is away");
    postgres.up = true;
    await step();
    assert.equal(resets(), 2);
    postgres.page = { changes: [{ kind: "team", subject: "a" }], cursor: "2", overflow: false };
    await step();
    assert.equal(resets(), 2);
    assert.deepEqual(applied, ["a"]);
  });

  it("polls by the clock until it is stopped", async () => {
    const { feed, clock, postgres } = setUp();
    await feed.start();
    await clock.advanceAsync(LIMITS.keys.pollMs * 3);
    assert.equal(postgres.reads, 4);
    feed.stop();
    await clock.advanceAsync(LIMITS.keys.pollMs * 3);
    assert.equal(postgres.reads, 4);
    assert.equal(clock.pending, 0);
  });
});
