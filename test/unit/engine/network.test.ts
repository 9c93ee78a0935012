import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createNetworkHealth, suggestsCutOff } from "../../../src/egress/network-health.ts";
import { createSharedBoard, openSharedBoard } from "../../../src/egress/shared-board.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const { trialEveryMs, trialDials, windowS, sitesRemembered } = LIMITS.network;

const WAY = 0;

function watched() {
  const clock = createFakeClock();
  const board = createSharedBoard(4, 1);
  const states: boolean[] = [];
  const dialled: string[] = [];
  const up = new Set<string>();
  const health = createNetworkHealth({
    clock,
    board,
    routes: ["direct"],
    routesInUse: ["direct"],
    async dial(trial) {
      const address = trial.replace("direct ", "");
      dialled.push(address);
      return up.has(address);
    },
    onChange: (_way, down) => states.push(down),
  });
  const fail = (site: string) => health.onFailed({ site, address: `direct 192.0.2.${site.length}` });
  const reached = (address: string) => health.onReached({ site: "alive", address: `direct ${address}` });
  const reach = () => board.noteReached(WAY, clock.now());
  return { clock, board, states, dialled, up, health, fail, reach, reached };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("network health", () => {
  it("asks the servers that last answered, and the suspects themselves, before the network counts as down", async () => {
    const { reached, up, fail, states, dialled } = watched();
    reached("198.51.100.7");
    up.add("198.51.100.7");
    for (const site of ["a", "b", "c", "d", "e"]) fail(site);
    await settled();
    assert.deepEqual([states, dialled], [[], ["198.51.100.7", "192.0.2.1"]]);
  });

  it("believes it when they are silent too", async () => {
    const { reached, fail, states } = watched();
    reached("198.51.100.7");
    for (const site of ["a", "b", "c", "d"]) fail(site);
    await settled();
    assert.deepEqual(states, [true]);
  });

  it("calls the network down when several sites fail and none succeeds", async () => {
    const { fail, states, board } = watched();
    for (const site of ["a", "b", "c"]) fail(site);
    assert.deepEqual(states, []);
    fail("d");
    await settled();
    assert.deepEqual(states, [true]);
    assert.equal(board.isNetworkDown(), true);
  });

  it("does not count one dead site many times", () => {
    const { fail, states } = watched();
    for (let i = 0; i < 50; i++) fail("dead.example");
    assert.deepEqual(states, []);
  });

  it("takes two of the biggest providers as proof enough, and no smaller one's customers", async () => {
    const small = watched();
    small.fail("ovh");
    small.fail("amazon");
    assert.deepEqual(small.states, []);
    const big = watched();
    big.fail("google");
    big.fail("microsoft365");
    await settled();
    assert.deepEqual(big.states, [true]);
  });

  it("counts nothing from before a mail server was last reached, however many are dead", () => {
    const { clock, fail, reach, states } = watched();
    for (let i = 0; i < 100; i++) {
      fail(`dead${i}.example`);
      if (i % 3 === 2) reach();
      clock.advance(1_000);
    }
    assert.deepEqual(states, []);
  });

  it("forgets failures that are older than the window", () => {
    const { clock, fail, states } = watched();
    for (const site of ["a", "b", "c"]) fail(site);
    clock.advance((windowS + 1) * 1000);
    fail("d");
    assert.deepEqual(states, []);
  });

  it("knows which ends of a dial say that nothing leaves from here", () => {
    assert.equal(suggestsCutOff("timeout", null), true);
    assert.equal(suggestsCutOff("unreachable", null), true);
    assert.equal(suggestsCutOff("refused", null), false);
    assert.equal(suggestsCutOff("refused", "ovh"), false);
    assert.equal(suggestsCutOff("refused", "google"), true);
    assert.equal(suggestsCutOff("closed", "google"), false);
  });
});

describe("trials while the network is down", () => {
  async function down() {
    const world = watched();
    for (const site of ["a", "bb", "ccc", "dddd"]) world.fail(site);
    await settled();
    // No other site is left to ask: the suspects themselves are dialled before the network counts as down.
    const suspects = world.dialled.splice(0, 4);
    assert.equal(new Set(suspects).size, 4);
    await world.clock.advanceAsync(0);
    const first = world.dialled.splice(0);
    return { ...world, first };
  }

  it("are made by the process itself, at once, again and again, until one is taken", async () => {
    const { clock, dialled, up, states, first } = await down();
    assert.deepEqual(first.sort(), ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"]);
    await clock.advanceAsync(trialEveryMs);
    assert.deepEqual(dialled.sort(), ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"]);
    assert.deepEqual(states, [true]);
    up.add("192.0.2.3");
    await clock.advanceAsync(trialEveryMs);
    assert.deepEqual(states, [true, false]);
    assert.equal(clock.pending, 0);
  });

  it("include what others would have dialled, in bounded number", async () => {
    const { clock, health, dialled, up, states } = await down();
    for (let i = 0; i < 1_000; i++) health.addCandidate(`direct 198.51.100.${i % 250}`);
    await clock.advanceAsync(trialEveryMs);
    assert.ok(dialled.length <= trialDials);
    up.add("198.51.100.249");
    health.addCandidate("direct 198.51.100.249");
    await clock.advanceAsync(trialEveryMs);
    assert.equal(states.at(-1), false);
  });

  it("reach everything remembered in the end", async () => {
    const { clock, health, dialled } = await down();
    for (let i = 0; i < sitesRemembered - 4; i++) health.addCandidate(`direct 198.51.100.${i}`);
    for (let i = 0; i < 40; i++) await clock.advanceAsync(trialEveryMs);
    assert.equal(new Set(dialled).size, sitesRemembered);
  });

  it("end when a probe in flight got through", async () => {
    const { clock, reach, states } = await down();
    clock.advance(1_000);
    reach();
    await clock.advanceAsync(trialEveryMs);
    assert.deepEqual(states, [true, false]);
  });

  it("end with the process", async () => {
    const { clock, health, dialled } = await down();
    health.stop();
    await clock.advanceAsync(trialEveryMs * 3);
    assert.deepEqual(dialled, []);
    assert.equal(clock.pending, 0);
  });
});

describe("several ways out", () => {
  it("fall and recover each by itself; the network is down when all in use are", async () => {
    const clock = createFakeClock();
    const board = createSharedBoard(1, 3);
    const changes: [way: string, down: boolean, all: boolean][] = [];
    const up = new Set<string>();
    const health = createNetworkHealth({
      clock,
      board,
      routes: ["a", "b", "direct"],
      routesInUse: ["a", "b"],
      dial: async (trial) => up.has(trial),
      onChange: (...change) => changes.push(change),
    });
    const fall = async (way: string) => {
      for (let i = 0; i < 4; i++) health.onFailed({ site: `s${i}`, address: `${way} 192.0.2.${i}` });
      await settled();
    };
    await fall("a");
    assert.deepEqual(changes, [["a", true, false]]);
    assert.deepEqual(
      [board.isRouteDown(0), board.isRouteDown(1), board.isNetworkDown()],
      [true, false, false],
    );
    await fall("b");
    assert.equal(board.isNetworkDown(), true);
    up.add("b 192.0.2.2");
    await clock.advanceAsync(trialEveryMs);
    assert.deepEqual(changes.slice(1), [
      ["b", true, true],
      ["b", false, false],
    ]);
    assert.deepEqual(
      [board.isRouteDown(0), board.isRouteDown(1), board.isNetworkDown()],
      [true, false, false],
    );
    health.stop();
  });
});

describe("board", () => {
  it("shows every thread the same state", () => {
    const board = createSharedBoard(4, 2);
    const other = openSharedBoard(board.shared);
    assert.deepEqual(
      [other.isNetworkDown(), other.isRouteDown(1), other.lastReachedMs(1)],
      [false, false, 0],
    );
    board.setNetworkDown(true);
    board.setRouteDown(1, true);
    board.noteReached(1, 1_767_225_600_123);
    assert.deepEqual(
      [other.isNetworkDown(), other.isRouteDown(1), other.lastReachedMs(1)],
      [true, true, 1_767_225_600_123],
    );
    assert.deepEqual([other.isRouteDown(0), other.lastReachedMs(0)], [false, 0], "ways are told apart");
  });

  it("keeps cancellations apart by slot", () => {
    const board = createSharedBoard(4, 3);
    for (const slot of [0, 1, 2, 3]) board.startTask(slot, 1);
    board.cancel(2);
    assert.deepEqual(
      [0, 1, 2, 3].map((slot) => board.isCancelled(slot)),
      [false, false, true, false],
    );
    board.startTask(2, 1);
    assert.equal(board.isCancelled(2), false);
  });

  it("distinguishes a halted task from a cancelled one, which remains cancelled", () => {
    const board = createSharedBoard(2, 1);
    board.startTask(0, 1);
    board.startTask(1, 1);
    board.finishEarly(0);
    board.cancel(1);
    board.finishEarly(1);
    assert.deepEqual(
      [0, 1].map((slot) => [board.isHalted(slot), board.isCancelled(slot)]),
      [
        [true, false],
        [true, true],
      ],
    );
  });

  it("shows that a thread has started a task, also where it was halted", () => {
    const board = createSharedBoard(2, 1);
    board.startTask(0, 1);
    board.startTask(1, 1);
    board.finishEarly(1);
    assert.deepEqual([board.isStarted(0), board.isStarted(1)], [false, false]);
    board.noteStarted(0, 5);
    board.noteStarted(1, 5);
    assert.deepEqual([board.isStarted(0), board.isHalted(0), board.isHalted(1)], [true, false, true]);
    board.startTask(0, 1);
    assert.equal(board.isStarted(0), false);
  });

  it("counts what is left of each task, also in its last slot", () => {
    const board = createSharedBoard(2, 1);
    board.startTask(0, 5);
    board.startTask(1, 3);
    const thread = openSharedBoard(board.shared);
    thread.countAnswer(1);
    thread.countAnswer(1);
    assert.deepEqual([board.remaining(0), board.remaining(1)], [5, 1]);
  });
});
