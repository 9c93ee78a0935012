import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createSharedBoard } from "../../../../src/egress/shared-board.ts";
import { CheckBatches } from "../../../../src/engine/threads/check-batches.ts";
import { createCheckPool } from "../../../../src/engine/threads/pool.ts";
import type { CheckBatch, CheckOutcome } from "../../../../src/engine/threads/thread-tasks.ts";
import { OutcomePacker } from "../../../../src/verification/evidence/outcomes.ts";
import { evidenceWith } from "../../../support/evidence.ts";

/** A pool whose threads are the test's. */
function createWorld() {
  const board = createSharedBoard(LIMITS.check.tasksInFlight, 1);
  const time = { ms: 0 };
  const batches = new CheckBatches(board, () => time.ms);
  const threads = {
    ...{ count: 1, piscina: null as never, failed: new Promise<never>(() => {}) },
    ...{ onAttach() {}, hello: async () => {}, close: async () => {} },
  };
  const pool = createCheckPool({ threads, batches, broker: { attach() {}, drain: async () => {} } });
  function attach() {
    const got: CheckBatch[] = [];
    const busy: boolean[] = [];
    const end = batches.attach({
      send: (message) => void (message.type === "check" && got.push(message.batch)),
      setBusy: (isBusy) => void busy.push(isBusy),
    });
    /** Answers batches in one message. */
    function answer(...answered: [CheckBatch | undefined, CheckOutcome[]][]): void {
      const packer = new OutcomePacker();
      for (const [, outcomes] of answered) for (const outcome of outcomes) packer.add(outcome);
      const slots = answered.map(([batch]) => batch?.slot ?? assert.fail("no such batch"));
      end.onAnswers({ slots, outcomes: packer.take(), postedMs: 0 });
    }
    return { got, busy, answer, die: () => end.close() };
  }
  return { board, pool, attach, time };
}

const evidenceOf = (address: string) => evidenceWith({ role: address });

describe("batches of checks in transit to threads", () => {
  it("wait for the first thread, in order", async () => {
    const { pool, attach } = createWorld();
    const single = pool.check("a@one.test", "unprobed");
    const batch = pool.checkBatch(["b@one.test", "c@one.test"], "probed", "patient", 1);
    const { got, answer } = attach();
    assert.deepEqual(
      got.map(({ addresses, scope, mode, atOnce }) => [addresses, scope, mode, atOnce]),
      [
        ["a@one.test", "unprobed", "single", 1],
        ["b@one.test\nc@one.test", "probed", "patient", 1],
      ],
    );
    answer([got[1], [evidenceOf("b"), "broken"]], [got[0], [evidenceOf("a")]]);
    assert.deepEqual(await single.evidence, evidenceOf("a"));
    assert.deepEqual(await batch.outcomes, [evidenceOf("b"), "broken"]);
    assert.equal(pool.inFlight, 0);
  });

  it("go to the thread that has fewest, which is busy while it has some", async () => {
    const { pool, attach } = createWorld();
    const [a, b] = [attach(), attach()];
    const checks = ["a", "b", "c"].map((name) => pool.check(`${name}@one.test`, "probed"));
    assert.deepEqual([a.got.length, b.got.length], [2, 1]);
    b.answer([b.got[0], [null]]);
    assert.equal(await checks[1]?.evidence, null);
    pool.check("d@one.test", "probed");
    assert.deepEqual([a.got.length, b.got.length], [2, 2]);
    assert.deepEqual([a.busy, b.busy], [[true], [true, false, true]]);
  });

  it("are lost with their thread, but for those that were answered", async () => {
    const { pool, attach } = createWorld();
    const { got, answer, die } = attach();
    const answered = pool.check("a@one.test", "probed");
    const lost = pool.check("b@one.test", "probed");
    const batch = pool.checkBatch(["c@one.test", "d@one.test"], "probed", "bulk");
    assert.equal(pool.inFlight, 4);
    answer([got[0], [evidenceOf("a")]]);
    die();
    await assert.rejects(lost.evidence, /the check thread ended/);
    await assert.rejects(batch.outcomes, /the check thread ended/);
    assert.deepEqual(await answered.evidence, evidenceOf("a"));
    assert.deepEqual([pool.inFlight, batch.remaining], [0, 0]);
  });

  it("that a living thread has not started still wait when another is lost with those that it had started", () => {
    const { board, pool, attach, time } = createWorld();
    const [lost, living] = [attach(), attach()];
    for (const name of ["a", "b", "c"]) pool.check(`${name}@one.test`, "probed").evidence.catch(() => {});
    board.noteStarted(lost.got[0]?.slot ?? assert.fail("it has one"), 0);
    assert.deepEqual([lost.got.length, living.got.length, pool.takeWaitMs()], [2, 1, 0]);
    lost.die();
    time.ms += 40;
    assert.equal(pool.takeWaitMs(), 40);
    board.noteStarted(living.got[0]?.slot ?? assert.fail("it has one"), 40);
    assert.equal(pool.takeWaitMs(), 40);
    time.ms += 40;
    assert.equal(pool.takeWaitMs(), 0);
  });

  it("are answered when they are halted while no thread is there, and give their slots back", async () => {
    const { pool, attach } = createWorld();
    attach().die();
    const single = pool.check("a@one.test", "probed");
    const cancelled = pool.checkBatch(["b@one.test", "c@one.test"], "probed", "bulk");
    const early = pool.checkBatch(["d@one.test"], "probed", "patient");
    const waiting = pool.check("e@one.test", "probed");
    single.cancel();
    cancelled.cancel();
    early.finishEarly();
    early.finishEarly();
    assert.equal(await single.evidence, null);
    assert.deepEqual(await cancelled.outcomes, [null, null]);
    assert.deepEqual(await early.outcomes, [{ deferred: { site: "", cause: "unfinished" } }]);
    assert.equal(pool.inFlight, 1);
    const next = pool.check("f@one.test", "probed");
    const { got, answer } = attach();
    assert.deepEqual(
      got.map(({ addresses }) => addresses),
      ["e@one.test", "f@one.test"],
    );
    answer([got[0], [evidenceOf("e")]], [got[1], [evidenceOf("f")]]);
    assert.deepEqual([await waiting.evidence, await next.evidence], [evidenceOf("e"), evidenceOf("f")]);
    assert.equal(pool.inFlight, 0);
  });

  it("are cancelled one by one, and never after their end", async () => {
    const { board, pool, attach } = createWorld();
    const { got, answer } = attach();
    const first = pool.check("a@one.test", "probed");
    const second = pool.check("b@one.test", "probed");
    first.cancel();
    assert.deepEqual(
      got.map(({ slot }) => board.isCancelled(slot)),
      [true, false],
    );
    answer([got[1], [evidenceOf("b")]]);
    await second.evidence;
    second.cancel();
    assert.equal(board.isCancelled(got[1]?.slot ?? 0), false);
  });

  it("of one fail by themselves: overloaded, broken, or a fault of ours", async () => {
    const { pool, attach } = createWorld();
    const { got, answer } = attach();
    const checks = ["full", "broken", "busy", "fine"].map((name) => pool.check(`${name}@one.test`, "probed"));
    const settled = Promise.allSettled(checks.map(({ evidence }) => evidence));
    const deferred: CheckOutcome = { deferred: { site: "one.test", cause: "busy" } };
    const outcomes: CheckOutcome[] = ["overloaded", "broken", deferred, evidenceOf("fine")];
    answer(...outcomes.map((outcome, i): [CheckBatch | undefined, CheckOutcome[]] => [got[i], [outcome]]));
    assert.deepEqual(
      (await settled).map((one) =>
        one.status === "rejected" ? (one.reason.code ?? one.reason.message) : one.value?.role,
      ),
      ["overloaded", "a check broke, see its thread's log", "a check of a request was deferred", "fine"],
    );
  });

  it("have no answer once the pool is closed, and no batch is accepted then", async () => {
    const { pool, attach } = createWorld();
    const { got, answer } = attach();
    const single = pool.check("a@one.test", "probed");
    const batch = pool.checkBatch(["b@one.test", "c@one.test"], "probed", "bulk");
    await pool.close();
    assert.deepEqual([await single.evidence, await batch.outcomes], [null, [null, null]]);
    answer([got[0], [evidenceOf("a")]]);
    assert.throws(() => pool.check("d@one.test", "probed"), { code: "overloaded" });
    assert.throws(() => pool.checkBatch(["d@one.test"], "probed", "bulk"), { code: "unavailable" });
  });

  it("are turned away beyond the bound: a batch counts those that are checked at once", () => {
    const { pool, attach } = createWorld();
    attach();
    const addresses = Array.from({ length: LIMITS.check.batchAddresses }, (_, i) => `a${i}@one.test`);
    pool.checkBatch(addresses, "probed", "patient", 2);
    pool.checkBatch(addresses, "probed", "bulk");
    pool.checkBatch(addresses, "probed", "bulk");
    assert.equal(pool.inFlight, 2 + 2 * addresses.length);
    assert.throws(() => pool.checkBatch(addresses, "probed", "bulk"), { code: "overloaded" });
    pool.check("a@one.test", "probed");
  });
});
