import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import type { CacheEntry } from "../../../../../src/features/verify/cache/cache-entry.ts";
import { evidenceBut } from "../../../../../src/verification/evidence.ts";
import {
  EVIDENCE,
  entryOf,
  question,
  rest,
  type Sent,
  shown,
  createBatchWorld as world,
} from "../../../../support/batch-world.ts";

const allKnown = (batch: Sent) => batch.answer(batch.addresses.map(() => EVIDENCE));

describe("a batch of questions", () => {
  it("is looked up once, checked where no cache knows it, and stored once", async () => {
    const { examine, memory, redis, seen, sent } = world(allKnown);
    memory.set("in.memory@one.test", entryOf());
    redis.set("in.redis@one.test", entryOf());
    const answers = await examine([
      question("new@one.test"),
      question("in.memory@one.test"),
      question("no address"),
      question("in.redis@one.test"),
      question("blocked@one.test", { blocked: true }),
      question("new@two.test"),
    ]).done;
    assert.deepEqual(shown(answers), ["fresh", "cached", "none", "cached", "fresh", "fresh"]);
    assert.equal(answers[4]?.finding?.entry?.evidence.mx.status, "skipped");
    assert.deepEqual(seen.fetches, [3]);
    assert.deepEqual(
      sent.map(({ addresses, mode }) => [addresses, mode]),
      [[["new@one.test", "new@two.test"], "bulk"]],
    );
    assert.deepEqual(
      seen.deposits.map(({ cacheKey }) => cacheKey),
      ["new@one.test", "new@two.test"],
    );
    assert.equal(seen.writes, 1);
    assert.deepEqual(seen.lookups.toSorted(), ["memory", "miss", "miss", "miss"]);
  });

  it("asks no server where none has to be asked", async () => {
    const { examine, seen, sent } = world();
    assert.deepEqual(shown(await examine([question("no address")]).done), ["none"]);
    assert.deepEqual(await examine([]).done, []);
    assert.deepEqual([seen.fetches, sent], [[], []]);
  });

  it("asks again where an entry is not good enough, wherever it is stored, and waits for sites on request", async () => {
    const { examine, memory, redis, sent } = world(allKnown);
    memory.set("a@one.test", entryOf(1));
    redis.set("a@one.test", entryOf(2));
    redis.set("b@one.test", entryOf(1));
    const refresh = ({ storedAt }: CacheEntry) => storedAt < 2;
    const answers = await examine([question("a@one.test"), question("b@one.test")], {
      refresh,
      waitsForSite: true,
    }).done;
    assert.deepEqual(shown(answers), ["cached", "fresh"]);
    assert.deepEqual(
      sent.map(({ addresses, mode }) => [addresses, mode]),
      [[["b@one.test"], "patient"]],
    );
  });

  it("never mixes scopes in a message", async () => {
    const { examine, sent } = world(allKnown);
    const questions = [question("a@one.test"), question("b@one.test", { scope: "unprobed" })];
    assert.deepEqual(shown(await examine(questions).done), ["fresh", "fresh"]);
    assert.equal(sent.length, 2);
  });

  it("says which rows a busy site, a bug or a halt left without an answer", async () => {
    const { examine } = world((batch) =>
      batch.answer([{ deferred: { site: "one.test", cause: "busy" } }, "broken", null]),
    );
    const answers = await examine([question("a@one.test"), question("b@one.test"), question("c@one.test")])
      .done;
    assert.deepEqual(shown(answers), ["busy one.test", "internal_error", "unfinished"]);
  });

  it("counts what is left, also within messages in transit", async () => {
    const { examine, sent } = world();
    const run = examine([question("no address"), question("a@one.test"), question("b@one.test")]);
    assert.equal(run.left, 2);
    await rest();
    const [batch] = sent;
    assert.ok(batch);
    batch.remaining = 1;
    assert.equal(run.left, 1);
    allKnown(batch);
    await run.done;
    assert.equal(run.left, 0);
  });
});

describe("a question that memory had no answer to", () => {
  it("is asked of all processes' cache without a second look, which has what memory learnt meanwhile", async () => {
    const { ready, memory, redis, examine, seen, sent } = world(allKnown);
    const asked = question("a@one.test");
    assert.equal(ready(asked), undefined);
    memory.set("a@one.test", entryOf(1));
    redis.set("a@one.test", entryOf(2));
    const [answer] = await examine([asked]).done;
    assert.equal(answer?.finding?.entry?.storedAt, 2);
    assert.deepEqual([sent.length, seen.fetches], [0, [1]]);
  });
});

describe("a throw-away domain that was checked", () => {
  const LISTED = evidenceBut(EVIDENCE, { disposable: { listed: true, source: "builtin" } });
  const checked = async () => {
    const made = world((batch) => batch.answer(batch.addresses.map(() => LISTED)));
    assert.equal(made.ready(question("b@throw.test")), undefined);
    assert.deepEqual(shown(await made.examine([question("a@throw.test")]).done), ["fresh"]);
    return made;
  };

  it("answers its other rows at once, and asks no server", async () => {
    const { ready, clock, sent, seen } = await checked();
    const found = ready(question("b@throw.test"));
    assert.deepEqual(found, {
      entry: { evidence: LISTED, storedAt: clock.now(), ttlS: 60 },
      cached: false,
    });
    assert.equal(ready(question("b@throw.test", { scope: "unprobed" })), undefined);
    assert.equal(ready(question("b@other.test")), undefined);
    assert.deepEqual([sent.length, seen.fetches, seen.deposits.length], [1, [1], 1]);
  });

  it("answers before memory is asked, until it is to be checked again", async () => {
    const { ready, memory, clock } = await checked();
    const storedAt = clock.now();
    memory.set("b@throw.test", entryOf());
    const found = { entry: { evidence: LISTED, storedAt, ttlS: 60 }, cached: false };
    assert.deepEqual(ready(question("b@throw.test")), found);
    clock.advance(LIMITS.check.planKeptMs);
    assert.deepEqual(ready(question("b@throw.test")), { entry: entryOf(), cached: true });
  });

  it("answers no question of a team that blocks it, nor of one that calls it disposable itself", async () => {
    const { ready } = await checked();
    const blocked = ready(question("b@throw.test", { blocked: true }));
    assert.equal(blocked?.entry?.evidence.mx.status, "skipped");
    assert.equal(ready(question("b@throw.test", { overridden: true, scope: "unprobed" })), undefined);
  });
});

describe("handing a batch in", () => {
  it("stops its checks in progress, and says which rows have no answer then", async () => {
    const { examine, sent } = world();
    const run = examine(
      Array.from({ length: LIMITS.bulk.batchRows + 1 }, (_, i) => question(`a@d${i}.test`)),
    );
    await rest();
    assert.deepEqual(
      sent.map(({ addresses }) => addresses.length),
      [LIMITS.bulk.batchRows, 1],
    );
    run.stopWaiting();
    run.stopWaiting();
    for (const batch of sent) {
      assert.deepEqual(new Set(batch.halts), new Set(["in"]));
      batch.answer(
        batch.addresses.map((_, i) =>
          i === 0 ? EVIDENCE : { deferred: { site: "s", cause: "unfinished" } },
        ),
      );
    }
    const answers = shown(await run.done);
    assert.equal(answers.filter((answer) => answer === "fresh").length, 2);
    assert.equal(answers.filter((answer) => answer === "unfinished s").length, LIMITS.bulk.batchRows - 1);
  });

  it("ends the wait for a pool that is full", async () => {
    const { examine, overload, clock } = world();
    overload(Infinity);
    const run = examine([question("a@one.test")]);
    await clock.advanceAsync(LIMITS.bulk.retryMs * 3);
    run.stopWaiting();
    assert.deepEqual(shown(await run.done), ["unfinished"]);
    assert.equal(clock.pending, 0);
  });

  it("before anything was sent sends nothing", async () => {
    const { examine, sent } = world();
    const run = examine([question("a@one.test")]);
    run.stopWaiting();
    assert.deepEqual(shown(await run.done), ["unfinished"]);
    assert.deepEqual(sent, []);
  });
});

describe("cancelling a batch", () => {
  it("cancels what is under way", async () => {
    const { examine, sent, controls } = world();
    const run = examine([question("a@one.test")]);
    await rest();
    controls.cancel();
    run.stopWaiting();
    assert.deepEqual(sent[0]?.halts, ["off", "in"]);
    sent[0]?.answer([null]);
    assert.deepEqual(shown(await run.done), ["unfinished"]);
  });
});

describe("a full pool", () => {
  it("is asked again, also for the rows alone that a thread turned away, until their time is up", async () => {
    let calls = 0;
    const { examine, overload, clock, sent } = world((batch) => {
      calls += 1;
      batch.answer(calls === 1 ? [EVIDENCE, "overloaded"] : ["overloaded"]);
    });
    overload(1);
    const run = examine([question("a@one.test"), question("b@one.test")]);
    await clock.advanceAsync(LIMITS.bulk.retryMs * 2);
    assert.deepEqual(
      sent.map(({ addresses }) => addresses),
      [["a@one.test", "b@one.test"], ["b@one.test"]],
    );
    await clock.advanceAsync(LIMITS.bulk.rowDeadlineMs);
    assert.deepEqual(shown(await run.done), ["fresh", "unfinished"]);
  });
});

describe("a pool that was closed", () => {
  it("leaves its rows unfinished and is not asked again", async () => {
    const { examine, close, clock } = world();
    close();
    assert.deepEqual(shown(await examine([question("a@one.test")]).done), ["unfinished"]);
    assert.equal(clock.pending, 0);
  });
});

describe("a thread that dies", () => {
  const rows = (count: number) => Array.from({ length: count }, (_, i) => question(`a${i}@d${i}.test`));

  it("costs its rows nothing when none of them killed it", async () => {
    let deaths = 0;
    const { examine } = world((batch) => (deaths++ === 0 ? batch.die() : allKnown(batch)));
    assert.deepEqual(new Set(shown(await examine(rows(40)).done)), new Set(["fresh"]));
  });

  it("is answered `internal_error` for those alone that kill it", async () => {
    const culprits = new Set(["a7@d7.test", "a8@d8.test", "a39@d39.test"]);
    const { examine, sent } = world((batch) =>
      batch.addresses.some((address) => culprits.has(address)) ? batch.die() : allKnown(batch),
    );
    const answers = shown(await examine(rows(40)).done);
    assert.deepEqual(
      answers.flatMap((answer, i) => (answer === "internal_error" ? [i] : [])),
      [7, 8, 39],
    );
    assert.equal(answers.filter((answer) => answer === "fresh").length, 37);
    assert.ok(sent.length < 60, `${sent.length} attempts`);
  });

  it("is looked into one search at a time, so that no row is blamed for another search's culprit", async () => {
    const { examine, sent } = world();
    const runs = [examine([question("a@one.test")]), examine([question("b@two.test")])];
    await rest();
    assert.equal(sent.length, 2);
    for (const batch of sent) batch.die();
    await rest();
    assert.deepEqual(
      sent.slice(2).map(({ addresses }) => addresses),
      [["a@one.test"]],
    );
    sent[2]?.die();
    await rest();
    assert.equal(sent.length, 4, "a single one is tried twice");
    if (sent[3]) allKnown(sent[3]);
    await rest();
    assert.deepEqual(sent[4]?.addresses, ["b@two.test"]);
    if (sent[4]) allKnown(sent[4]);
    assert.deepEqual(shown((await Promise.all(runs.map(({ done }) => done))).flat()), ["fresh", "fresh"]);
  });

  it("does not hold up a batch that is handed in", async () => {
    const { examine, sent } = world();
    const first = examine([question("a@one.test")]);
    const second = examine([question("b@two.test")]);
    await rest();
    for (const batch of sent) batch.die();
    await rest();
    second.stopWaiting();
    assert.deepEqual(shown(await second.done), ["unfinished"]);
    if (sent[2]) allKnown(sent[2]);
    assert.deepEqual(shown(await first.done), ["fresh"]);
  });
});
