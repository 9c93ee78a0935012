import assert from "node:assert/strict";
import { describe, it } from "node:test";
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
const SITE = "mx.test";
const roomAt = () => ROOM;
const rowsOf = (name: string, count: number, domain = "new.test") =>
  Array.from({ length: count }, (_, i) => question(`${name}${i}@${domain}`));
const count = (answers: readonly string[], wanted: string) => answers.filter((one) => one === wanted).length;

/** A world whose threads say where rows of a domain wait when the test says so. */
function waitingWorld() {
  const told: ((site: string | null) => void)[] = [];
  const made = world(undefined, roomAt, () => new Promise((resolve) => told.push(resolve)));
  return { ...made, told };
}

describe("many rows of a domain that nothing is known of", () => {
  it("leave its site beyond what that has room for, without a look-up or a thread", async () => {
    const { examine, sent, seen } = world(undefined, roomAt, () => SITE);
    const run = examine(rowsOf("a", 100));
    await rest();
    assert.deepEqual([seen.meetings, seen.fetches], [["new.test"], [ROOM]]);
    assert.equal(sent[0]?.addresses.length, ROOM);
    sent[0]?.answer(sent[0].addresses.map(() => EVIDENCE));
    const answers = shown(await run.done);
    assert.deepEqual([count(answers, "fresh"), count(answers, `busy ${SITE}`)], [ROOM, 100 - ROOM]);
    assert.equal(sent.length, 1);
  });

  it("wait for one question together, and it is put anew once its answer is old", async () => {
    const { examine, sent, seen, told, clock } = waitingWorld();
    void examine(rowsOf("a", 100));
    void examine(rowsOf("b", 5));
    await rest();
    assert.deepEqual([seen.meetings.length, sent.length], [1, 0]);
    told[0]?.(SITE);
    await rest();
    assert.deepEqual(
      sent.map(({ addresses }) => addresses.length),
      [ROOM, 5],
    );
    void examine(rowsOf("c", 100));
    await rest();
    assert.equal(seen.meetings.length, 1);
    clock.advance(LIMITS.bulk.fullDomainMs);
    void examine(rowsOf("d", 100));
    await rest();
    assert.equal(seen.meetings.length, 2);
  });

  it("go all where they wait in no line, or nobody can say, and nobody is asked again for a while", async () => {
    const { examine, sent, seen } = world(undefined, roomAt, () => null);
    for (const name of ["a", "b"]) {
      void examine(rowsOf(name, 100));
      await rest();
      assert.equal(sent.at(-1)?.addresses.length, 100);
    }
    assert.equal(seen.meetings.length, 1);
  });

  it("go without an answer that is long in coming", async () => {
    const { examine, sent, told, clock } = waitingWorld();
    void examine(rowsOf("a", 100));
    await rest();
    await clock.advanceAsync(LIMITS.bulk.meetMs - 1);
    assert.equal(sent.length, 0);
    await clock.advanceAsync(1);
    assert.equal(sent[0]?.addresses.length, 100);
    assert.equal(clock.pending, 0);
    // Whoever comes later has it.
    told[0]?.(SITE);
    await rest();
    sent[0]?.answer(sent[0].addresses.map(() => EVIDENCE));
    await rest();
    void examine(rowsOf("b", 100));
    await rest();
    assert.equal(sent[1]?.addresses.length, ROOM);
  });

  it("go by who was turned away meanwhile, where nobody can say", async () => {
    const { examine, sent, told } = waitingWorld();
    void examine(rowsOf("x", 1));
    void examine(rowsOf("a", 100));
    await rest();
    sent[0]?.answer([{ deferred: { site: SITE, cause: "busy" } }]);
    await rest();
    told[0]?.(null);
    await rest();
    assert.equal(sent[1]?.addresses.length, ROOM);
  });

  it("are answered where others know them", async () => {
    const { examine, redis, sent } = world(undefined, roomAt, () => SITE);
    for (let i = 0; i < 100; i++) redis.set(`a${i}@new.test`, entryOf());
    assert.equal(count(shown(await examine(rowsOf("a", 100)).done), "cached"), 100);
    assert.equal(sent.length, 0);
  });

  it("hold up no others, and those that there may be room for, or nobody probes, wait for nobody", async () => {
    const { examine, sent, seen } = waitingWorld();
    const few = rowsOf("a", ROOM, "few.test");
    const unprobed = Array.from({ length: 100 }, (_, i) => question(`u${i}@u.test`, { scope: "unprobed" }));
    void examine([...rowsOf("a", 100), ...few, ...unprobed]);
    await rest();
    assert.deepEqual(seen.meetings, ["new.test"]);
    assert.deepEqual(
      sent.map(({ addresses }) => addresses.length),
      [ROOM, 100],
    );
  });

  it("are unfinished, and never sent, when the run ends before", async () => {
    for (const halt of ["in", "off"] as const) {
      const { examine, sent, told, controls } = waitingWorld();
      const run = examine(rowsOf("a", 100));
      await rest();
      assert.equal(run.left, 100);
      if (halt === "in") run.stopWaiting();
      else controls.cancel();
      assert.equal(count(shown(await run.done), "unfinished"), 100);
      told[0]?.(SITE);
      await rest();
      assert.equal(sent.length, 0);
    }
  });

  it("are not met by who stands in line himself", async () => {
    const { examine, seen, sent } = world(undefined, roomAt, () => SITE);
    void examine(rowsOf("a", 100), { refresh: () => false, waitsForSite: true });
    await rest();
    assert.deepEqual([seen.meetings, sent[0]?.addresses.length], [[], 100]);
  });
});
