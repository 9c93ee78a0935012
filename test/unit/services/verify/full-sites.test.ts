import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CheckOutcome } from "../../../../src/check/thread-tasks.ts";
import { LIMITS } from "../../../../src/core/limits.ts";
import {
  EVIDENCE,
  entryOf,
  question,
  rest,
  shown,
  createBatchWorld as world,
} from "../../../support/batch-world.ts";

const ROOM = 30;
const SITE = "slow.test";
const roomAt = (site: string) => (site === SITE ? ROOM : 1_000);
const BUSY: CheckOutcome = { deferred: { site: SITE, cause: "busy" } };
const rowsOf = (name: string, count: number) =>
  Array.from({ length: count }, (_, i) => question(`${name}${i}@${SITE}`));
const counts = (answers: readonly string[]) =>
  Object.fromEntries([...new Set(answers)].map((one) => [one, answers.filter((a) => a === one).length]));

/** A world in which a thread had no room for a row of the site once. */
async function taughtWorld() {
  const taught = world(undefined, roomAt);
  const run = taught.examine([question(`first@${SITE}`)]);
  await rest();
  taught.sent[0]?.answer([BUSY]);
  await run.done;
  taught.sent.length = 0;
  taught.seen.fetches.length = 0;
  return taught;
}

describe("rows of a chunk at a site that has all it takes", () => {
  it("go to a thread and are looked up where nobody was turned away yet", async () => {
    const { examine, sent, seen } = world(undefined, roomAt);
    void examine(rowsOf("a", 3 * ROOM));
    await rest();
    assert.deepEqual(seen.fetches, [3 * ROOM]);
    assert.equal(sent[0]?.addresses.length, 3 * ROOM);
  });

  it("leave it without a look-up, beyond as many as there is room for", async () => {
    const { examine, sent, seen } = await taughtWorld();
    const run = examine(rowsOf("a", 100));
    await rest();
    assert.deepEqual(seen.fetches, [ROOM]);
    assert.equal(sent.length, 1);
    assert.deepEqual(sent[0]?.addresses[ROOM - 1], `a${ROOM - 1}@${SITE}`);
    assert.equal(run.left, ROOM);
    sent[0]?.answer(sent[0].addresses.map(() => EVIDENCE));
    const answers = shown(await run.done);
    assert.deepEqual(counts(answers), { fresh: ROOM, [`busy ${SITE}`]: 70 });
    assert.equal(answers.indexOf(`busy ${SITE}`), ROOM);
  });

  it("are sent to a thread again once what it said has been so for a while, however often it was asked for", async () => {
    const { clock, examine, sent } = await taughtWorld();
    clock.advance(LIMITS.bulk.fullDomainMs - 1);
    void examine(rowsOf("a", 100));
    await rest();
    assert.equal(sent[0]?.addresses.length, ROOM);
    clock.advance(1);
    void examine(rowsOf("b", 100));
    await rest();
    assert.equal(sent[1]?.addresses.length, 100);
  });

  it("leave room for those that are under way, and have what these leave", async () => {
    const { examine, sent, seen } = await taughtWorld();
    void examine(rowsOf("a", 100));
    await rest();
    const [first] = sent;
    assert(first);
    const second = examine(rowsOf("b", 100));
    await rest();
    assert.deepEqual(counts(shown(await second.done)), { [`busy ${SITE}`]: 100 });
    // A sample is looked up all the same: they may be known elsewhere.
    assert.deepEqual(seen.fetches, [ROOM, LIMITS.bulk.retryRowsPerSite]);
    first.remaining = 4;
    void examine(rowsOf("c", 100));
    await rest();
    assert.equal(sent[1]?.addresses.length, ROOM - 4);
    first.answer(first.addresses.map(() => EVIDENCE));
    (sent[1] as typeof first).answer(sent[1]?.addresses.map(() => EVIDENCE) ?? []);
    await rest();
    void examine(rowsOf("d", 100));
    await rest();
    assert.equal(sent[2]?.addresses.length, ROOM);
  });

  it("are all looked up where some of the first are known elsewhere", async () => {
    const { examine, redis, sent, seen } = await taughtWorld();
    for (let i = 0; i < 100; i++) if (i !== 60) redis.set(`a${i}@${SITE}`, entryOf());
    const run = examine(rowsOf("a", 100));
    await rest();
    assert.deepEqual(seen.fetches, [ROOM, 70]);
    assert.deepEqual(sent[0]?.addresses, [`a60@${SITE}`]);
    sent[0]?.answer([EVIDENCE]);
    assert.deepEqual(counts(shown(await run.done)), { cached: 99, fresh: 1 });
  });

  it("stand among others that go their way", async () => {
    const { examine, sent } = await taughtWorld();
    const run = examine([...rowsOf("a", 100), question("b@other.test"), question("c@else.test")]);
    await rest();
    const asked = sent.flatMap(({ addresses }) => addresses);
    assert.equal(asked.length, ROOM + 2);
    assert(asked.includes("b@other.test") && asked.includes("c@else.test"));
    for (const one of sent) one.answer(one.addresses.map(() => EVIDENCE));
    assert.equal(counts(shown(await run.done)).fresh, ROOM + 2);
  });

  it("count with those of a retry, as many of which as are under way; a retry leaves nobody behind", async () => {
    const { examine, sent } = await taughtWorld();
    void examine(rowsOf("r", 100), { refresh: () => false, waitsForSite: true, atOnce: 10 });
    await rest();
    // The others of its line follow (rows-ahead.test.ts).
    assert.equal(sent[0]?.addresses.length, 10 * LIMITS.bulk.aheadFillings);
    void examine(rowsOf("a", 100));
    await rest();
    assert.equal(sent[1]?.addresses.length, ROOM - 10);
    sent[0]?.die();
    void examine(rowsOf("s", 100), { refresh: () => false, waitsForSite: true, atOnce: 100 });
    await rest();
    assert.equal(sent.find(({ addresses }) => addresses[0] === `s0@${SITE}`)?.addresses.length, 100);
  });
});
