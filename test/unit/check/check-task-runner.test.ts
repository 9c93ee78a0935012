import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createCheckTaskRunner } from "../../../src/check/check-task-runner.ts";
import type { CheckControl, CheckEngine } from "../../../src/check/engine.ts";
import { type PackedOutcomes, readOutcomes } from "../../../src/check/evidence/outcomes.ts";
import type { Evidence } from "../../../src/check/evidence.ts";
import { createSharedBoard, type SharedBoard } from "../../../src/check/shared-board.ts";
import type { BatchMode, CheckOutcome } from "../../../src/check/thread-tasks.ts";
import { AppError } from "../../../src/core/errors.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import { engineBy } from "../../support/engine-by.ts";
import { evidenceWith } from "../../support/evidence.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { silentLog } from "../../support/store.ts";

const SLOT = 1;

function evidenceOf(address: string): Evidence {
  return evidenceWith({
    mx: { status: "ok", hosts: [`mx.${address}`], provider: null, ttlS: 60, fault: null },
  });
}

interface Asked {
  address: string;
  control: CheckControl;
  end(result: Evidence | "busy" | null): void;
  fail(error: Error): void;
}

/** A runner whose engine answers when the test says so. */
function thread() {
  const clock = createFakeClock();
  const board: SharedBoard = createSharedBoard(4, 1);
  const asked: Asked[] = [];
  const run = createCheckTaskRunner({
    board,
    clock,
    log: silentLog,
    post: () => assert.fail("no single check was begun"),
    afterTick: (callback) => void setImmediate(callback),
    now: () => 0,
    engine: engineBy(
      (address, _scope, control) =>
        new Promise((end, fail) => {
          asked.push({ address, control, end, fail });
        }),
    ),
  });
  async function batch(
    addresses: string[],
    mode: BatchMode = "bulk",
    atOnce = addresses.length,
  ): Promise<CheckOutcome[]> {
    board.startTask(SLOT, addresses.length);
    const task = { addresses: addresses.join("\n"), scope: "probed", mode, atOnce, slot: SLOT } as const;
    return readOutcomes((await run(task)) as PackedOutcomes);
  }
  return { clock, board, asked, run, batch };
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

  it("stays halted for its stragglers when its slot is another's", async () => {
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

describe("a thread that is asked whether it is there", () => {
  it("says so, and asks nobody", () => {
    const { run, asked } = thread();
    assert.equal(run({ mode: "hello" }), null);
    assert.equal(asked.length, 0);
  });
});

describe("a thread that is asked where rows of a domain wait", () => {
  const ask = (lineOf: CheckEngine["queueSiteOf"]) =>
    createCheckTaskRunner({
      board: createSharedBoard(4, 1),
      clock: createFakeClock(),
      log: silentLog,
      post: () => assert.fail("no single check was begun"),
      afterTick: () => assert.fail("no single check was begun"),
      now: () => 0,
      engine: { ...engineBy(() => assert.fail("nobody is to be asked")), queueSiteOf: lineOf },
    })({ mode: "line", domain: "one.test" });

  it("says at which site, or that it cannot say", async () => {
    assert.equal(await ask(async (domain) => `mx.${domain}`), "mx.one.test");
    assert.equal(await ask(async () => null), null);
    const full = async () => {
      throw new AppError("overloaded", "The resolver has too much to do.");
    };
    assert.equal(await ask(full), null);
  });
});

describe("a batch beside patient ones", () => {
  it("is looked at as often as ever", async () => {
    const { clock, board, run, batch } = thread();
    board.startTask(2, 1);
    const task = { addresses: "a@one.test", scope: "probed", mode: "patient", atOnce: 1, slot: 2 } as const;
    const patient = run(task);
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
    const board = createSharedBoard(4, 1);
    const run = createCheckTaskRunner({
      board,
      clock: createFakeClock(),
      log: silentLog,
      post: () => assert.fail("no single check was begun"),
      afterTick: (callback) => void setImmediate(callback),
      now: () => 0,
      engine: engineBy(evidenceOf),
    });
    const { batchAddresses } = LIMITS.check;
    const addresses = Array.from({ length: batchAddresses }, (_, i) => `a${i}@one.test`);
    board.startTask(SLOT, batchAddresses);
    const task = { addresses: addresses.join("\n"), scope: "probed", mode: "patient", atOnce: 1 } as const;
    const lines = readOutcomes((await run({ ...task, slot: SLOT })) as PackedOutcomes);
    assert.deepEqual(lines, addresses.map(evidenceOf));
  });

  it("is answered in order, with what threw in its place, and costs no timer", async () => {
    const clock = createFakeClock();
    const board = createSharedBoard(4, 1);
    function atOnce(address: string): Evidence {
      if (address.startsWith("broken")) throw new Error("a bug");
      if (address.startsWith("full")) throw new AppError("overloaded", "full");
      return evidenceOf(address);
    }
    const run = createCheckTaskRunner({
      board,
      clock,
      log: silentLog,
      post: () => assert.fail("no single check was begun"),
      afterTick: (callback) => void setImmediate(callback),
      now: () => 0,
      engine: engineBy(atOnce),
    });
    board.startTask(SLOT, 3);
    const addresses = "a@one.test\nbroken@one.test\nfull@one.test";
    const result = await run({ addresses, scope: "unprobed", mode: "bulk", atOnce: 3, slot: SLOT });
    assert.deepEqual(readOutcomes(result as PackedOutcomes), [
      evidenceOf("a@one.test"),
      "broken",
      "overloaded",
    ]);
    assert.equal(board.remaining(SLOT), 0);
    assert.equal(clock.pending, 0);
  });
});
