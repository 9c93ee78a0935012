import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createBoard, type NetworkState, openBoard } from "../../../src/check/board.ts";
import { createNetworkHealth } from "../../../src/check/network-health.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

function watched() {
  const clock = createFakeClock();
  const states: NetworkState[] = [];
  return { clock, states, health: createNetworkHealth(clock, (state) => states.push(state)) };
}

describe("network health", () => {
  it("calls the network down when several sites fail and none succeeds", () => {
    const { health, states } = watched();
    for (const site of ["a", "b", "c"]) health.failed(site, null);
    assert.deepEqual(states, ["suspected"]);
    health.failed("d", null);
    assert.deepEqual(states, ["suspected", "down"]);
  });

  it("does not count one dead site many times", () => {
    const { health, states } = watched();
    for (let i = 0; i < 50; i++) health.failed("dead.example", null);
    assert.deepEqual(states, ["suspected"]);
  });

  it("takes two known providers as proof enough", () => {
    const { health, states } = watched();
    health.failed("google", "google");
    health.failed("microsoft", "microsoft");
    assert.equal(states.at(-1), "down");
  });

  it("forgets failures that are older than the window", () => {
    const { clock, health, states } = watched();
    for (const site of ["a", "b", "c"]) health.failed(site, null);
    clock.advance(LIMITS.network.windowMs + 1);
    health.failed("d", null);
    assert.deepEqual(states, ["suspected"]);
  });

  it("is fine again after one success, and starts to count anew", () => {
    const { health, states } = watched();
    for (const site of ["a", "b", "c", "d"]) health.failed(site, null);
    health.connected();
    assert.equal(states.at(-1), "fine");
    health.failed("e", null);
    assert.equal(states.at(-1), "suspected");
  });

  it("remembers a bounded number of sites", () => {
    const { health, states } = watched();
    for (let i = 0; i < 10_000; i++) health.failed(`site-${i}`, null);
    assert.deepEqual(states, ["suspected", "down"]);
  });
});

describe("board", () => {
  it("shows every thread the same network state", () => {
    const board = createBoard(4);
    const other = openBoard(board.shared);
    assert.equal(other.network(), "fine");
    board.setNetwork("down");
    assert.equal(other.network(), "down");
  });

  it("grants one trial in a period, whoever asks", () => {
    const board = createBoard(4);
    const other = openBoard(board.shared);
    assert.equal(board.takeTrial(100, 3), true);
    assert.equal(other.takeTrial(100, 3), false);
    assert.equal(other.takeTrial(102, 3), false);
    assert.equal(other.takeTrial(103, 3), true);
    assert.equal(board.takeTrial(103, 3), false);
  });

  it("keeps cancellations apart by slot", () => {
    const board = createBoard(4);
    board.setCancelled(2, true);
    assert.deepEqual(
      [0, 1, 2, 3].map((slot) => board.isCancelled(slot)),
      [false, false, true, false],
    );
    board.setCancelled(2, false);
    assert.equal(board.isCancelled(2), false);
  });
});
