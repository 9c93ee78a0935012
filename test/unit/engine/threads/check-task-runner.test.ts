import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createSharedBoard, type SharedBoard } from "../../../../src/egress/shared-board.ts";
import type { CheckControl } from "../../../../src/engine/caller.ts";
import type { CheckEngine } from "../../../../src/engine/engine.ts";
import { CheckTaskRunner } from "../../../../src/engine/threads/check-task-runner.ts";
import type { CheckAnswers, CheckBatch, CheckOutcome } from "../../../../src/engine/threads/thread-tasks.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { readOutcomes } from "../../../../src/verification/evidence/outcomes.ts";
import type { Evidence, Scope } from "../../../../src/verification/evidence.ts";
import { engineBy } from "../../../support/engine-by.ts";
import { evidenceWith } from "../../../support/evidence.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { silentLog } from "../../../support/store.ts";

const SLOT = 1;

function evidenceOf(address: string): Evidence {
  return evidenceWith({
    mx: { status: "ok", hosts: [`mx.${address}`], provider: null, ttlS: 60, fault: null },
  });
}

interface Asked {
  address: string;
  scope: Scope;
  control: CheckControl;
  end(result: Evidence | "busy" | null): void;
  fail(error: Error): void;
}

/** A runner whose answers each batch's caller gets. */
function runnerBy(engine: CheckEngine) {
  const clock = createFakeClock();
  const board: SharedBoard = createSharedBoard(4, 1);
  const waiting = new Map<number, (answers: CheckAnswers) => void>();
  const runner = new CheckTaskRunner({
    board,
    clock,
    engine,
    log: silentLog,
    now: () => 0,
    onAnswers() {
      const answers = runner.takeAnswers() ?? assert.fail("there are answers");
      for (const slot of answers.slots) waiting.get(slot)?.(answers);
    },
  });
  /** @param beforeStart runs while the batch is in transit to the thread */
  async function run(
    addresses: string[],
    over: Partial<CheckBatch> = {},
    beforeStart: (board: SharedBoard) => void = () => {},
  ): Promise<CheckAnswers> {
    const task: CheckBatch = {
      ...{ slot: SLOT, mode: "bulk", scope: "probed", addresses: addresses.join("\n") },
      ...{ atOnce: addresses.length, isTraced: false, askedMs: 0 },
      ...over,
    };
    board.startTask(task.slot, addresses.length);
    beforeStart(board);
    return new Promise((resolve) => {
      waiting.set(task.slot, resolve);
      runner.start(task);
    });
  }
  async function batch(
    addresses: string[],
    mode: CheckBatch["mode"] = "bulk",
    atOnce = addresses.length,
  ): Promise<CheckOutcome[]> {
    return readOutcomes((await run(addresses, { mode, atOnce })).outcomes);
  }
  return { clock, board, run, batch };
}

/** One whose engine answers when the test says so. */
function thread() {
  const asked: Asked[] = [];
  const engine = engineBy(
    (address, scope, control) =>
      new Promise((end, fail) => {
        asked.push({ address, scope, control, end, fail });
      }),
  );
  return { asked, ...runnerBy(engine) };
}

const rest = () => new Promise((resolve) => setImmediate(resolve));

describe("a batch of checks in a thread", () => {
  it("is asked about all at once and answered line by line in order, whatever order answers came in", async () => {
    const { batch, asked, board } = thread();
    const lines = batch(["a@one.test", "b@two.test", "c@three.test"]);
    assert.deepEqual(
      asked.map(({ address, control }) => [address, control.mode]),
      [
        ["a@one.test", "bulk"],
        ["b@two.test", "bulk"],
        ["c@three.test", "bulk"],
      ],
    );
    asked[2]?.end(evidenceOf("c"));
    asked[1]?.control.onSite("two.test");
    asked[1]?.end("busy");
    await rest();
    assert.equal(board.remaining(SLOT), 1);
    asked[0]?.end(evidenceOf("a"));
    assert.deepEqual(await lines, [
      evidenceOf("a"),
      { deferred: { site: "two.test", cause: "busy" } },
      evidenceOf("c"),
    ]);
  });

  it("says of each address alone that there was no room for it, or that its check broke", async () => {
    const { batch, asked } = thread();
    const lines = batch(["a@one.test", "b@two.test", "c@three.test"]);
    asked[0]?.fail(new AppError("overloaded", "full"));
    asked[1]?.fail(new Error("a bug"));
    asked[2]?.end(evidenceOf("c"));
    assert.deepEqual(await lines, ["overloaded", "broken", evidenceOf("c")]);
  });

  it("that is handed in answers what it knows, and where the rest waits", async () => {
    const { batch, asked, board, clock } = thread();
    const lines = batch(["a@one.test", "b@two.test", "c@three.test"]);
    asked[0]?.end(evidenceOf("a"));
    asked[1]?.control.onSite("two.test");
    await rest();
    board.finishEarly(SLOT);
    assert.equal(asked[1]?.control.cancelled(), true);
    await clock.advanceAsync(LIMITS.check.haltPollMs);
    assert.deepEqual(await lines, [
      evidenceOf("a"),
      { deferred: { site: "two.test", cause: "unfinished" } },
      { deferred: { site: "", cause: "unfinished" } },
    ]);
  });

  it("remains halted for its last rows when its slot is another's", async () => {
    const { batch, asked, board, clock } = thread();
    const first = batch(["a@one.test"]);
    board.finishEarly(SLOT);
    await clock.advanceAsync(LIMITS.check.haltPollMs);
    await first;
    const second = batch(["b@two.test"]);
    assert.deepEqual(
      asked.map(({ control }) => control.cancelled()),
      [true, false],
    );
    asked[0]?.end(evidenceOf("a"));
    await rest();
    assert.equal(board.remaining(SLOT), 1, "a straggler is not counted against the slot's new task");
    asked[1]?.end(evidenceOf("b"));
    assert.deepEqual(await second, [evidenceOf("b")]);
  });

  it("that is cancelled answers nothing that it did not know", async () => {
    const { batch, asked, board, clock } = thread();
    const lines = batch(["a@one.test", "b@two.test"]);
    asked[0]?.end(evidenceOf("a"));
    await rest();
    board.cancel(SLOT);
    await clock.advanceAsync(LIMITS.check.haltPollMs);
    assert.deepEqual(await lines, [evidenceOf("a"), null]);
  });

  it("that every check gives up for a halt is answered without waiting for the look", async () => {
    const { batch, asked, board } = thread();
    const lines = batch(["a@one.test"], "patient");
    asked[0]?.control.onSite("one.test");
    board.finishEarly(SLOT);
    asked[0]?.end(null);
    assert.deepEqual(await lines, [{ deferred: { site: "one.test", cause: "unfinished" } }]);
  });

  it("costs no timer once all batches have ended", async () => {
    const { batch, asked, clock } = thread();
    const lines = batch(["a@one.test"]);
    asked[0]?.end(evidenceOf("a"));
    await lines;
    await clock.advanceAsync(LIMITS.check.haltPollMs);
    assert.equal(clock.pending, 0);
  });
});

describe("a batch of which some are asked about at once", () => {
  const ADDRESSES = ["a@one.test", "b@one.test", "c@one.test", "d@one.test", "e@one.test"];

  it("goes on with the next for each that is answered, in order, and is answered as any other", async () => {
    const { batch, asked, board } = thread();
    const lines = batch(ADDRESSES, "patient", 2);
    const begun = () => asked.map(({ address }) => address[0]).join("");
    assert.equal(begun(), "ab");
    asked[1]?.end(evidenceOf("b"));
    await rest();
    assert.deepEqual([begun(), board.remaining(SLOT)], ["abc", 4]);
    asked[0]?.end(evidenceOf("a"));
    asked[2]?.fail(new Error("a bug"));
    await rest();
    assert.deepEqual([begun(), board.remaining(SLOT)], ["abcde", 2]);
    asked[4]?.end(evidenceOf("e"));
    asked[3]?.end(evidenceOf("d"));
    const expected = [evidenceOf("a"), evidenceOf("b"), "broken", evidenceOf("d"), evidenceOf("e")];
    assert.deepEqual(await lines, expected);
  });

  it("begins no more once it was handed in: whose turn never came waits for no site that it knows", async () => {
    const { batch, asked, board, clock } = thread();
    const lines = batch(ADDRESSES, "patient", 2);
    asked[0]?.end(evidenceOf("a"));
    asked[1]?.control.onSite("one.test");
    await rest();
    board.finishEarly(SLOT);
    asked[2]?.end(evidenceOf("c"));
    await rest();
    assert.equal(asked.length, 3);
    await clock.advanceAsync(LIMITS.check.patientHaltPollMs);
    const unfinished = (site: string) => ({ deferred: { site, cause: "unfinished" } });
    assert.deepEqual(await lines, [
      evidenceOf("a"),
      unfinished("one.test"),
      evidenceOf("c"),
      unfinished(""),
      unfinished(""),
    ]);
  });

  it("is answered when its last check in progress is, once it was halted", async () => {
    const { batch, asked, board } = thread();
    const lines = batch(ADDRESSES, "patient", 2);
    asked[0]?.end(evidenceOf("a"));
    await rest();
    board.finishEarly(SLOT);
    asked[1]?.end(evidenceOf("b"));
    asked[2]?.end(evidenceOf("c"));
    const unfinished = { deferred: { site: "", cause: "unfinished" } };
    const expected = [evidenceOf("a"), evidenceOf("b"), evidenceOf("c"), unfinished, unfinished];
    assert.deepEqual(await lines, expected);
  });

  it("that is cancelled keeps what it knew, and nothing else was asked", async () => {
    const { batch, asked, board, clock } = thread();
    const lines = batch(ADDRESSES, "patient", 2);
    asked[0]?.end(evidenceOf("a"));
    await rest();
    board.cancel(SLOT);
    await clock.advanceAsync(LIMITS.check.patientHaltPollMs);
    assert.deepEqual(await lines, [evidenceOf("a"), null, null, null, null]);
    asked[1]?.end(evidenceOf("b"));
    await rest();
    assert.equal(asked.length, 3);
  });
});

describe("a request's check in a thread", () => {
  it("is a batch of one, of its own scope, that is never halted for others", async () => {
    const { run, asked, board } = thread();
    const first = run(["a@one.test"], { mode: "single" });
    const second = run(["b@two.test"], { mode: "single", scope: "unprobed", slot: 2 });
    assert.deepEqual(
      asked.map(({ address, scope, control }) => [address, scope, control.mode]),
      [
        ["a@one.test", "probed", "single"],
        ["b@two.test", "unprobed", "single"],
      ],
    );
    board.cancel(SLOT);
    assert.deepEqual(
      asked.map(({ control }) => control.cancelled()),
      [true, false],
    );
    asked[0]?.end(null);
    asked[1]?.end(evidenceOf("b"));
    assert.deepEqual(readOutcomes((await first).outcomes), [null]);
    assert.deepEqual(readOutcomes((await second).outcomes), [evidenceOf("b")]);
  });

  it("that is cancelled keeps its slot until the engine lets it go", async () => {
    const { run, asked, board, clock } = thread();
    let isAnswered = false;
    const answer = run(["a@one.test"], { mode: "single" }).finally(() => {
      isAnswered = true;
    });
    board.cancel(SLOT);
    await clock.advanceAsync(10 * LIMITS.check.patientHaltPollMs);
    assert.deepEqual([isAnswered, clock.pending], [false, 0]);
    asked[0]?.end(null);
    assert.deepEqual(readOutcomes((await answer).outcomes), [null]);
  });

  it("that is cancelled before its thread has read it is answered at once, without a question", async () => {
    const { run, asked, clock } = thread();
    const answer = await run(["a@one.test"], { mode: "single" }, (board) => board.cancel(SLOT));
    assert.deepEqual(readOutcomes(answer.outcomes), [null]);
    assert.deepEqual([asked.length, clock.pending], [0, 0]);
  });

  it("reports how it went where it is traced", async () => {
    const { run, asked } = thread();
    const traced = run(["a@one.test"], { mode: "single", isTraced: true });
    const untraced = run(["b@one.test"], { mode: "single", slot: 2 });
    asked[0]?.end(evidenceOf("a"));
    asked[1]?.end(evidenceOf("b"));
    assert.deepEqual((await traced).times, [{ slot: SLOT, totalMs: 0, plannedMs: 0, attempts: [] }]);
    assert.equal((await untraced).times, undefined);
  });
});

describe("a batch beside patient ones", () => {
  it("is looked at as often as ever", async () => {
    const { clock, board, run, batch } = thread();
    const patient = run(["a@one.test"], { mode: "patient", slot: 2 });
    await clock.advanceAsync(1);
    const lines = batch(["b@two.test"]);
    board.finishEarly(SLOT);
    await clock.advanceAsync(LIMITS.check.haltPollMs);
    assert.deepEqual(await lines, [{ deferred: { site: "", cause: "unfinished" } }]);
    board.finishEarly(2);
    await clock.advanceAsync(LIMITS.check.patientHaltPollMs);
    await patient;
    assert.equal(clock.pending, 0);
  });
});

describe("a batch whose engine knows at once", () => {
  it("is as long as may be, one after the other", async () => {
    const { batch } = runnerBy(engineBy(evidenceOf));
    const addresses = Array.from({ length: LIMITS.check.batchAddresses }, (_, i) => `a${i}@one.test`);
    assert.deepEqual(await batch(addresses, "patient", 1), addresses.map(evidenceOf));
  });

  it("is answered in order, with what threw in its place, and costs no timer", async () => {
    function atOnce(address: string): Evidence {
      if (address.startsWith("broken")) throw new Error("a bug");
      if (address.startsWith("full")) throw new AppError("overloaded", "full");
      return evidenceOf(address);
    }
    const { batch, board, clock } = runnerBy(engineBy(atOnce));
    assert.deepEqual(await batch(["a@one.test", "broken@one.test", "full@one.test"]), [
      evidenceOf("a@one.test"),
      "broken",
      "overloaded",
    ]);
    assert.equal(board.remaining(SLOT), 0);
    assert.equal(clock.pending, 0);
  });
});
