import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createThreadSlots, type ThreadSlots } from "../../../src/check/thread-slots.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createLocalSlots } from "../../support/local-slots.ts";

const SITE = "site";
const MAX = 10;
const further = { site: SITE, max: MAX, waitMs: 0 };

/** A thread that has use for as many connections as it can get, and gives one back when it is wanted. */
class BusyThread {
  readonly slots: ThreadSlots;
  held = 0;
  asked = 0;
  toldWanted = 0;

  constructor(attach: (tellWanted: (site: string) => void) => ThreadSlots, obeys = true) {
    this.slots = attach(() => {
      this.toldWanted += 1;
      if (obeys) this.giveBack();
    });
  }

  giveBack(): void {
    if (this.held === 0) return;
    this.held -= 1;
    this.slots.release(SITE);
  }

  async ask(): Promise<boolean> {
    this.asked += 1;
    const granted = await this.slots.acquire(further);
    if (granted) this.held += 1;
    return granted;
  }
}

function threads(obeys = true) {
  const clock = createFakeClock();
  const local = createLocalSlots(clock);
  const shared = createThreadSlots(local, clock);
  const thread = () => new BusyThread((tell) => shared.attach(tell), obeys);
  return { clock, local, rich: thread(), poor: thread(), third: thread() };
}

async function fill(thread: BusyThread): Promise<void> {
  for (let i = 0; i < MAX; i++) assert.equal(await thread.ask(), true);
}

describe("slots of the threads of a process", () => {
  it("passes slots from the thread that has all to one that has none, until they have as many", async () => {
    const { local, rich, poor } = threads();
    await fill(rich);
    const asked = await Promise.all(Array.from({ length: MAX }, () => poor.ask()));
    assert.equal(asked.filter(Boolean).length, MAX / 2);
    assert.deepEqual([rich.held, poor.held], [MAX / 2, MAX / 2]);
    assert.equal(local.stats().held, MAX);
  });

  it("does not turn round who has as many, or one more", async () => {
    const { rich, poor } = threads();
    await fill(rich);
    while (await poor.ask()) {}
    const told = rich.toldWanted + poor.toldWanted;
    for (let i = 0; i < 5; i++) assert.deepEqual([await rich.ask(), await poor.ask()], [false, false]);
    assert.equal(rich.toldWanted + poor.toldWanted, told);
    rich.giveBack();
    assert.equal(await poor.ask(), true);
    assert.equal(await rich.ask(), true, "six and four are two apart");
    assert.equal(await poor.ask(), false);
  });

  it("shares among three", async () => {
    const { rich, poor, third } = threads();
    await fill(rich);
    for (let i = 0; i < MAX; i++) {
      await poor.ask();
      await third.ask();
    }
    const held = [rich.held, poor.held, third.held].sort();
    assert.deepEqual(held, [3, 3, 4]);
  });

  it("asks for no more than is fair while slots are on their way", async () => {
    const { rich, poor } = threads(false);
    await fill(rich);
    const asking = Array.from({ length: MAX }, () => poor.ask());
    await new Promise(setImmediate);
    assert.equal(rich.toldWanted, MAX / 2);
    for (let i = 0; i < MAX / 2; i++) rich.giveBack();
    const granted = (await Promise.all(asking)).filter(Boolean).length;
    assert.equal(granted, MAX / 2);
  });

  it("says no when none came in time, and gives what comes later to whoever asks then", async () => {
    const { clock, rich, poor } = threads(false);
    await fill(rich);
    const asking = poor.ask();
    await new Promise(setImmediate);
    clock.advance(LIMITS.slots.handoverMs);
    assert.equal(await asking, false);
    rich.giveBack();
    assert.equal(await rich.ask(), true);
  });

  it("frees what a thread held and was to get when it goes", async () => {
    const { local, rich, poor, third } = threads(false);
    await fill(rich);
    const asking = poor.ask();
    await new Promise(setImmediate);
    poor.slots.gone();
    assert.equal(await asking, false);
    rich.giveBack();
    assert.equal(local.stats().held, MAX - 1);
    rich.slots.gone();
    assert.equal(local.stats().held, 0);
    assert.equal(await third.ask(), true);
  });
});
