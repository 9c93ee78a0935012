import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CheckCaller, CheckControl, EngineResult } from "../../../src/check/caller.ts";
import type { CheckEngine } from "../../../src/check/engine.ts";
import { OutcomePacker } from "../../../src/check/evidence/outcomes.ts";
import type { Evidence, Scope } from "../../../src/check/evidence.ts";
import { createSharedBoard } from "../../../src/check/shared-board.ts";
import { createSingleChecks } from "../../../src/check/single-checks.ts";
import { createSingleChecksRunner } from "../../../src/check/single-checks-runner.ts";
import type { CheckAnswers, SingleChecksTask } from "../../../src/check/thread-tasks.ts";
import { AppError } from "../../../src/core/errors.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import { evidenceWith } from "../../support/evidence.ts";

interface Asked {
  address: string;
  scope: Scope;
  control: CheckControl;
  end(result: Evidence | "busy" | null): void;
  fail(error: unknown): void;
}

type Answerer = (asked: Asked) => Evidence | null | undefined;

/** Turns of an event loop that the test moves. */
function createTurns() {
  const callbacks: (() => void)[] = [];
  return {
    after: (callback: () => void) => void callbacks.push(callback),
    async end() {
      await settled();
      for (const callback of callbacks.splice(0)) callback();
      await settled();
    },
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

/**
 * Both ends of the checks of requests, and what goes between them.
 * @param atOnce what the engine knows without waiting; it waits for the test otherwise
 */
function bothEnds(atOnce: Answerer = () => undefined) {
  const board = createSharedBoard(LIMITS.check.tasksInFlight, 1);
  const asked: Asked[] = [];
  const tasks: SingleChecksTask[] = [];
  const posted: CheckAnswers[] = [];
  const freed: number[] = [];
  const theirs = createTurns();
  const ours = createTurns();
  let die: (error: Error) => void = () => {};
  const ask = (address: string, scope: Scope, caller: CheckCaller) => {
    const one = {
      address,
      scope,
      control: caller,
      end: (found: EngineResult) => caller.onChecked(found),
      fail: (error: unknown) => caller.onError(error),
    };
    asked.push(one);
    const known = atOnce(one);
    if (known !== undefined) caller.onChecked(known);
  };
  const runner = createSingleChecksRunner({
    board,
    engine: { submit: ask } as unknown as CheckEngine,
    post(answers) {
      posted.push(answers);
      singles.receive(answers);
    },
    afterTick: theirs.after,
    clock: { monotonic: () => 0 },
    now: () => 0,
  });
  const singles = createSingleChecks({
    async run(task) {
      tasks.push(task);
      const death = new Promise<never>((_resolve, reject) => {
        die = reject;
      });
      return await Promise.race([runner(task), death]);
    },
    cancel: (slot) => board.cancel(slot),
    onSlotFree: (slot) => freed.push(slot),
    afterTick: ours.after,
    now: () => 0,
    waits: { onSent: () => {}, onReceived: () => {}, onThreadLost: () => {} },
  });
  let nextSlot = 0;
  function begin(address: string, scope: Scope = "probed") {
    const slot = nextSlot++;
    board.startTask(slot, 1);
    return singles.check(address, scope, slot);
  }
  return { singles, begin, asked, tasks, posted, freed, ours, theirs, die: (error: Error) => die(error) };
}

const evidenceOf = (address: string) => evidenceWith({ role: address });

describe("checks of requests", () => {
  it("that begin in one turn are one task, each of its own scope", async () => {
    const { begin, asked, tasks, ours } = bothEnds(({ address }) => evidenceOf(address));
    const first = begin("a@one.test", "probed");
    const second = begin("b@two.test", "unprobed");
    assert.equal(tasks.length, 0);
    await ours.end();
    assert.equal(tasks.length, 1);
    assert.deepEqual(
      asked.map(({ address, scope, control }) => [address, scope, control.mode]),
      [
        ["a@one.test", "probed", "single"],
        ["b@two.test", "unprobed", "single"],
      ],
    );
    assert.deepEqual(await first.evidence, evidenceOf("a@one.test"));
    assert.deepEqual(await second.evidence, evidenceOf("b@two.test"));
  });

  it("that are many do not wait for the turn's end", async () => {
    const { begin, tasks, ours, singles, freed } = bothEnds(({ address }) => evidenceOf(address));
    const { singlesPerTask } = LIMITS.check;
    const checks = Array.from({ length: singlesPerTask + 1 }, (_, i) => begin(`${i}@one.test`));
    assert.deepEqual(
      tasks.map(({ tickets }) => tickets.length),
      [singlesPerTask],
    );
    await ours.end();
    const found = await Promise.all(checks.map(({ evidence }) => evidence));
    assert.deepEqual(
      found.map((evidence) => evidence?.role),
      checks.map((_, i) => `${i}@one.test`),
    );
    assert.equal(singles.size, 0);
    assert.equal(freed.length, checks.length);
  });

  it("are not told what is said late of one that had their slot before", async () => {
    const { singles, tasks, asked, ours, theirs, die } = bothEnds();
    const first = singles.check("a@one.test", "probed", 7);
    await ours.end();
    die(new Error("the thread is gone"));
    await assert.rejects(first.evidence, /the thread is gone/);
    const second = singles.check("b@one.test", "probed", 7);
    await ours.end();
    const late = new OutcomePacker();
    late.add(evidenceOf("a@one.test"));
    singles.receive({ tickets: tasks[0]?.tickets ?? [], outcomes: late.take(), postedMs: 0, errors: [] });
    assert.equal(singles.size, 1);
    asked[1]?.end(evidenceOf("b@one.test"));
    await theirs.end();
    assert.deepEqual(await second.evidence, evidenceOf("b@one.test"));
    assert.equal(singles.size, 0);
  });

  it("are answered when they are known, whoever of their task is slow", async () => {
    const { begin, asked, posted, ours, theirs, singles, freed } = bothEnds(({ address }) =>
      address === "known@one.test" ? evidenceOf(address) : undefined,
    );
    const slow = begin("slow@one.test");
    const known = begin("known@one.test");
    const quick = begin("quick@one.test");
    await ours.end();
    await theirs.end();
    assert.deepEqual(await known.evidence, evidenceOf("known@one.test"));
    asked[2]?.end(evidenceOf("quick@one.test"));
    await theirs.end();
    assert.deepEqual(await quick.evidence, evidenceOf("quick@one.test"));
    assert.equal(posted.length, 2);
    assert.deepEqual([singles.size, freed], [1, [1, 2]]);
    asked[0]?.end(evidenceOf("slow@one.test"));
    await theirs.end();
    assert.deepEqual(await slow.evidence, evidenceOf("slow@one.test"));
    assert.equal(posted.length, 2, "the last answer goes with the end of the task");
    assert.equal(singles.size, 0);
  });

  it("of several tasks share what is sent", async () => {
    const { begin, asked, posted, ours, theirs } = bothEnds();
    const first = begin("a@one.test");
    await ours.end();
    const second = begin("b@one.test");
    const third = begin("c@one.test");
    await ours.end();
    asked[0]?.end(evidenceOf("a"));
    asked[1]?.end(evidenceOf("b"));
    await theirs.end();
    assert.deepEqual(await first.evidence, evidenceOf("a"));
    assert.deepEqual(await second.evidence, evidenceOf("b"));
    assert.equal(posted.length, 0);
    asked[2]?.end(null);
    await theirs.end();
    assert.equal(await third.evidence, null);
  });

  it("are cancelled one by one, and never after their end", async () => {
    const { begin, asked, ours, theirs } = bothEnds();
    const first = begin("a@one.test");
    const second = begin("b@one.test");
    await ours.end();
    first.cancel();
    assert.deepEqual(
      asked.map(({ control }) => control.cancelled()),
      [true, false],
    );
    asked[0]?.end(null);
    asked[1]?.end(evidenceOf("b"));
    await theirs.end();
    assert.equal(await first.evidence, null);
    await second.evidence;
    second.cancel();
    assert.equal(asked[1]?.control.cancelled(), false);
  });

  it("fail by themselves: overloaded, broken with what was thrown, or a fault of ours", async () => {
    const { begin, asked, ours, theirs } = bothEnds(({ address }) => {
      if (address === "thrown@one.test") throw new Error("a bug at once");
      return undefined;
    });
    const checks = ["full", "broken", "busy", "thrown", "text", "fine"].map((name) =>
      begin(`${name}@one.test`),
    );
    const outcomes = Promise.allSettled(checks.map(({ evidence }) => evidence));
    await ours.end();
    asked[0]?.fail(new AppError("overloaded", "full"));
    asked[1]?.fail(Object.assign(new Error("a bug"), { handle: () => {} }));
    asked[2]?.end("busy");
    asked[4]?.fail("a text");
    asked[5]?.end(evidenceOf("fine"));
    await theirs.end();
    const told = (await outcomes).map((outcome) =>
      outcome.status === "rejected" ? (outcome.reason.code ?? outcome.reason.message) : outcome.value?.role,
    );
    assert.deepEqual(told, [
      "overloaded",
      "a bug",
      "a check of a request left a busy site",
      "a bug at once",
      "a text",
      "fine",
    ]);
  });

  it("that were in a thread which died are rejected, but for those that were answered", async () => {
    const { begin, asked, ours, theirs, die, freed, singles } = bothEnds();
    const answered = begin("a@one.test");
    const lost = begin("b@one.test");
    await ours.end();
    asked[0]?.end(evidenceOf("a"));
    await theirs.end();
    const rejected = assert.rejects(lost.evidence, /the thread died/);
    die(new Error("the thread died"));
    await rejected;
    assert.deepEqual(await answered.evidence, evidenceOf("a"));
    assert.deepEqual(freed, [0, 1]);
    // What it said before comes late.
    asked[1]?.end(evidenceOf("b"));
    await theirs.end();
    assert.deepEqual([singles.size, freed], [0, [0, 1]]);
  });

  it("are nobody's when the pool is closed, also those that were not sent", async () => {
    const { begin, ours, singles, tasks } = bothEnds();
    const sent = begin("a@one.test");
    await ours.end();
    const gathered = begin("b@one.test");
    singles.close();
    await ours.end();
    assert.deepEqual(await Promise.all([sent.evidence, gathered.evidence]), [null, null]);
    assert.deepEqual([tasks.length, singles.size], [1, 0]);
  });
});
