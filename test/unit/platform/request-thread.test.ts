import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import { AppError } from "../../../src/platform/errors.ts";
import { createLog } from "../../../src/platform/log.ts";
import {
  captureOutcome,
  createRequestThread,
  type RequestThreadLimits,
} from "../../../src/platform/request-thread.ts";
import { systemClock } from "../../../src/platform/time/clock.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

/** Tasks that a thread does, well or badly; each with an outcome took a second. */
const TASKS = `
const tookMs = 1_000;
const tasks = {
  add: ({ a, b }) => ({ tookMs, value: a + b }),
  sum: ({ bytes }) => ({ tookMs, value: bytes.reduce((all, byte) => all + byte, 0) }),
  refuse: () => ({ tookMs, refusal: { code: "malformed_json", detail: "no", errors: [{ path: "a", message: "b" }] } }),
  fail: () => { throw new Error("a fault of the task"); },
  die: () => process.exit(7),
  fill: () => { const kept = []; for (;;) kept.push(new Array(1e5).fill(kept.length)); },
  hang: () => new Promise(() => setInterval(() => {}, 1_000)),
  spin: () => { for (;;); },
};
export default ({ task, input }) => tasks[task](input);
`;
const folder = mkdtempSync(join(tmpdir(), "rcpt-request-thread-"));
const FILE = join(folder, "tasks.mjs");
writeFileSync(FILE, TASKS);
after(() => rmSync(folder, { recursive: true }));

const LIMITS = { tasks: 4, tasksPerShare: 3, tasksKept: 0, taskMs: 60_000, idleMs: 60_000, heapMb: 32 };
const ours = (share = "team_1", isCancelled = () => false) => ({ share, isCancelled });

function threadOf(
  t: TestContext,
  limits: Partial<RequestThreadLimits> = {},
  { file = FILE, clock = systemClock } = {},
) {
  const log = createLog("silent");
  const thread = createRequestThread({ clock, log, file, limits: { ...LIMITS, ...limits } });
  t.after(() => thread.close());
  return thread;
}

const isOverloaded = (error: unknown) => error instanceof AppError && error.code === "overloaded";

describe("the request thread", () => {
  it("does tasks one behind the other, and takes what it is given", async (t) => {
    const thread = threadOf(t);
    const bytes = Uint8Array.from([1, 2, 3]);
    const sums = [
      thread.run("add", { a: 1, b: 2 }, ours()),
      thread.run("sum", { bytes }, ours(), [bytes.buffer]),
    ];
    assert.deepEqual(await Promise.all(sums), [3, 6]);
    assert.equal(bytes.length, 0);
  });

  it("throws what a task refuses, as it was", async (t) => {
    await assert.rejects(threadOf(t).run("refuse", {}, ours()), (error) => {
      assert.ok(error instanceof AppError);
      assert.deepEqual([error.code, error.message], ["malformed_json", "no"]);
      assert.deepEqual(error.errors, [{ path: "a", message: "b" }]);
      return true;
    });
  });

  for (const [how, task] of [
    ["throws", "fail"],
    ["ends its thread", "die"],
    ["fills the memory", "fill"],
  ]) {
    it(`fails the one request whose task ${how}, and serves those behind it`, async (t) => {
      const thread = threadOf(t);
      const failed = thread.run(task ?? "", {}, ours());
      const next = thread.run("add", { a: 1, b: 1 }, ours());
      await assert.rejects(failed, (error) => error instanceof Error && !(error instanceof AppError));
      assert.equal(await next, 2);
    });
  }

  for (const task of ["hang", "spin"]) {
    it(`gives up a task that does not end (${task}), with its thread`, async (t) => {
      const thread = threadOf(t, { taskMs: 300 });
      await assert.rejects(thread.run(task, {}, ours()), /failed at/);
    });
  }

  it("fails a task whose thread cannot be loaded", async (t) => {
    const thread = threadOf(t, {}, { file: join(folder, "missing.mjs") });
    await assert.rejects(thread.run("add", {}, ours()), /failed at add/);
  });

  it("refuses more tasks than may wait, of a team and in all, and takes more when they are done", async (t) => {
    const thread = threadOf(t);
    const work = ["a", "a", "a", "b"].map((team) => thread.run("add", { a: 1, b: 1 }, ours(team)));
    await assert.rejects(thread.run("add", {}, ours("a")), isOverloaded);
    await assert.rejects(thread.run("add", {}, ours("c")), isOverloaded);
    await Promise.all(work);
    assert.equal(await thread.run("add", { a: 2, b: 2 }, ours("a")), 4);
  });

  it("next does a task of the team that was served longest ago", async (t) => {
    const thread = threadOf(t);
    const done: string[] = [];
    const run = (team: string, name: string) =>
      thread.run("add", { a: 1, b: 1 }, ours(team)).then(() => done.push(name));
    await Promise.all([run("a", "a1"), run("a", "a2"), run("a", "a3"), run("b", "b1")]);
    assert.deepEqual(done, ["a1", "b1", "a2", "a3"]);
  });

  it("keeps room for teams that have no task yet", async (t) => {
    const thread = threadOf(t, { tasks: 4, tasksKept: 2 });
    const run = (team: string) => thread.run("add", { a: 1, b: 1 }, ours(team));
    const work = [run("a"), run("a")];
    await assert.rejects(run("a"), isOverloaded);
    work.push(run("b"), run("c"));
    await assert.rejects(run("d"), isOverloaded);
    assert.deepEqual(await Promise.all(work), [2, 2, 2, 2]);
  });

  it("does not begin a task whose client has disconnected meanwhile", async (t) => {
    const thread = threadOf(t);
    let isGone = false;
    const first = thread.run("add", { a: 1, b: 1 }, ours());
    const bytes = new Uint8Array(8);
    const second = thread.run(
      "sum",
      { bytes },
      ours("team_1", () => isGone),
      [bytes.buffer],
    );
    isGone = true;
    await first;
    await assert.rejects(second, AppError);
    assert.equal(bytes.length, 8);
  });

  it("gives a share its time of the day, whatever comes of its tasks, and other shares theirs", async (t) => {
    const fake = createFakeClock();
    const clock = { ...systemClock, now: fake.now };
    const thread = threadOf(t, { shareMsPerDay: 2_000 }, { clock });
    const isUsedUp = (error: unknown) => error instanceof AppError && error.code === "limit_reached";
    await thread.run("add", { a: 1, b: 1 }, ours());
    await assert.rejects(thread.run("refuse", {}, ours()), { code: "malformed_json" });
    await assert.rejects(thread.run("add", { a: 1, b: 1 }, ours()), isUsedUp);
    assert.throws(() => thread.requireTime("team_1"), isUsedUp);
    assert.equal(await thread.run("add", { a: 1, b: 1 }, ours("team_1:test")), 2);
    fake.advance(86_400_000);
    assert.equal(await thread.run("add", { a: 1, b: 1 }, ours()), 2);
  });

  it("does not begin what waits when the share's time is used up meanwhile", async (t) => {
    const thread = threadOf(t, { shareMsPerDay: 1 });
    const both = [thread.run("add", { a: 1, b: 1 }, ours()), thread.run("add", { a: 1, b: 1 }, ours())];
    const settled = await Promise.allSettled(both);
    assert.deepEqual(
      settled.map(({ status }) => status),
      ["fulfilled", "rejected"],
    );
  });

  it("charges a share what its tasks took in the thread, not the thread's start, and one without an outcome all", async (t) => {
    let nowMs = 0;
    // By this clock 100 s pass whenever it is asked.
    const clock = { ...systemClock, monotonic: () => (nowMs += 100_000) };
    const thread = threadOf(t, { shareMsPerDay: 50_000 }, { clock });
    for (let i = 0; i < 3; i++) assert.equal(await thread.run("add", { a: 1, b: i }, ours()), 1 + i);
    await assert.rejects(thread.run("fail", {}, ours()), /failed at fail/);
    await assert.rejects(thread.run("add", { a: 1, b: 1 }, ours()), { code: "limit_reached" });
  });

  it("fails what is under way, and what waits, when it is closed", async (t) => {
    const thread = threadOf(t);
    const work = [thread.run("hang", {}, ours()), thread.run("add", {}, ours())];
    const settled = Promise.allSettled(work);
    await thread.close();
    assert.deepEqual(
      (await settled).map(({ status }) => status),
      ["rejected", "rejected"],
    );
    await assert.rejects(thread.run("add", {}, ours()), (error) => error instanceof AppError);
  });
});

describe("the outcome of a task", () => {
  it("is what it returns, or its refusal as plain data", async () => {
    const clock = createFakeClock();
    const work = () => {
      clock.advance(20);
      return 1;
    };
    assert.deepEqual(await captureOutcome(work, clock), { value: 1, tookMs: 20 });
    const refused = () => {
      throw new AppError("overloaded", "later", { retryAfterS: 2 });
    };
    assert.deepEqual(structuredClone(await captureOutcome(refused, clock)), {
      tookMs: 0,
      refusal: { code: "overloaded", detail: "later", retryAfterS: 2 },
    });
  });

  it("is none when it fails", async () => {
    await assert.rejects(
      captureOutcome(() => {
        throw new TypeError("a fault");
      }, createFakeClock()),
      TypeError,
    );
  });
});
