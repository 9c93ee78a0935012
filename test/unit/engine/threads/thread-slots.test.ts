import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createThreadSlots, type ThreadSlots } from "../../../../src/engine/threads/thread-slots.ts";
import { createFakeClock, type FakeClock } from "../../../support/fake-clock.ts";
import { createLocalSlots } from "../../../support/local-slots.ts";

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
    this.slots.release(SITE, true);
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

/** Has the thread take all slots; the clock moves before each, because at the start some are held back for other threads. */
async function fill(thread: BusyThread, clock: FakeClock): Promise<void> {
  for (let i = 0; i < MAX; i++) {
    const asked = thread.ask();
    clock.advance(LIMITS.slots.fairStartMs);
    assert.equal(await asked, true);
  }
}

describe("slots of the threads of a process", () => {
  it("passes slots from the thread that has all to one without, until they have as many", async () => {
    const { clock, local, rich, poor } = threads();
    await fill(rich, clock);
    const asked = await Promise.all(Array.from({ length: MAX }, () => poor.ask()));
    assert.equal(asked.filter(Boolean).length, MAX / 2);
    assert.deepEqual([rich.held, poor.held], [MAX / 2, MAX / 2]);
    assert.equal(local.stats().held, MAX);
  });

  it("takes no slot from a thread that has as many, or one more", async () => {
    const { clock, rich, poor } = threads();
    await fill(rich, clock);
    while (await poor.ask()) {}
    const notices = rich.toldWanted + poor.toldWanted;
    for (let i = 0; i < 5; i++) assert.deepEqual([await rich.ask(), await poor.ask()], [false, false]);
    assert.equal(rich.toldWanted + poor.toldWanted, notices);
    rich.giveBack();
    assert.equal(await poor.ask(), true);
    assert.equal(await rich.ask(), true, "six and four are two apart");
    assert.equal(await poor.ask(), false);
  });

  it("shares among three", async () => {
    const { clock, rich, poor, third } = threads();
    await fill(rich, clock);
    for (let i = 0; i < MAX; i++) {
      await poor.ask();
      await third.ask();
    }
    const held = [rich.held, poor.held, third.held].sort();
    assert.deepEqual(held, [3, 3, 4]);
  });

  it("asks for no more than is fair while slots are in transit", async () => {
    const { clock, rich, poor } = threads(false);
    await fill(rich, clock);
    const asking = Array.from({ length: MAX }, () => poor.ask());
    await new Promise(setImmediate);
    assert.equal(rich.toldWanted, MAX / 2);
    for (let i = 0; i < MAX / 2; i++) rich.giveBack();
    const granted = (await Promise.all(asking)).filter(Boolean).length;
    assert.equal(granted, MAX / 2);
  });

  it("refuses when no slot came in time, and gives later ones to later callers", async () => {
    const { clock, rich, poor } = threads(false);
    await fill(rich, clock);
    const asking = poor.ask();
    await new Promise(setImmediate);
    clock.advance(LIMITS.slots.handoverMs);
    assert.equal(await asking, false);
    rich.giveBack();
    assert.equal(await rich.ask(), true);
  });

  it("moves a slot to a thread that takes one over, though the other has no more than it needs", async () => {
    const { clock, local, rich, poor } = threads();
    await fill(rich, clock);
    assert.equal(await poor.slots.takeOver(SITE, MAX), true);
    assert.deepEqual([rich.held, rich.toldWanted, local.stats().held], [MAX - 1, 1, MAX]);
    rich.slots.close();
    assert.equal(local.stats().held, 1, "the slot is the other thread's");
    poor.slots.release(SITE);
    assert.equal(local.stats().held, 0);
  });

  it("takes nothing over where no other thread has a slot, or none gives one back in time", async () => {
    const { clock, rich, poor, third } = threads(false);
    assert.equal(await poor.slots.takeOver(SITE, MAX), false);
    await fill(poor, clock);
    assert.equal(await poor.slots.takeOver(SITE, MAX), false, "its own do not count");
    const asking = rich.slots.takeOver(SITE, MAX);
    clock.advance(LIMITS.slots.handoverMs);
    assert.equal(await asking, false);
    const refused = rich.slots.takeOver(SITE, MAX);
    for (let i = 1; i < MAX; i++) poor.slots.release(SITE, false);
    poor.held = 1;
    poor.slots.release(SITE, false);
    assert.equal(await refused, false, "the server had refused them");
    assert.equal(await poor.ask(), true);
    const last = rich.slots.takeOver(SITE, MAX);
    assert.equal(await third.slots.takeOver(SITE, MAX), false, "the only one is promised to another thread");
    poor.giveBack();
    assert.equal(await last, true);
  });

  it("frees what a thread held and was to get when it goes", async () => {
    const { clock, local, rich, poor, third } = threads(false);
    await fill(rich, clock);
    const asking = poor.ask();
    await new Promise(setImmediate);
    poor.slots.close();
    assert.equal(await asking, false);
    rich.giveBack();
    assert.equal(local.stats().held, MAX - 1);
    rich.slots.close();
    assert.equal(local.stats().held, 0);
    assert.equal(await third.ask(), true);
  });
});

describe("the start at a site where no thread has a slot", () => {
  function start(count: number) {
    const clock = createFakeClock();
    const local = createLocalSlots(clock);
    const shared = createThreadSlots(local, clock);
    const all = Array.from({ length: count }, () => new BusyThread((tell) => shared.attach(tell)));
    const [first = assert.fail(), second = first] = all;
    return { clock, local, first, second };
  }
  const askForAll = (thread: BusyThread) => Array.from({ length: MAX }, () => thread.ask());
  const turn = () => new Promise(setImmediate);

  it("gives each thread its share, though one came first and asked for all, and closes no connection for it", async () => {
    const { clock, first, second } = start(2);
    const asked = askForAll(first);
    await turn();
    asked.push(...askForAll(second));
    await turn();
    assert.deepEqual([first.held, second.held], [MAX / 2, MAX / 2]);
    clock.advance(LIMITS.slots.fairStartMs);
    assert.equal((await Promise.all(asked)).filter(Boolean).length, MAX);
    assert.equal(first.toldWanted + second.toldWanted, 0);
  });

  it("gives slots that others did not ask for to the thread that was held back, when the time is over", async () => {
    const { clock, first, second } = start(2);
    const asked = askForAll(first);
    assert.equal(await second.ask(), true);
    clock.advance(LIMITS.slots.fairStartMs - 1);
    await turn();
    assert.equal(first.held, MAX / 2);
    clock.advance(1);
    await Promise.all(asked);
    assert.deepEqual([first.held, second.held], [MAX - 1, 1]);
  });

  it("does not hold back a thread that is alone, or comes where another has a slot already", async () => {
    const alone = start(1);
    assert.ok((await Promise.all(askForAll(alone.first))).every(Boolean));
    const { clock, first, second } = start(2);
    assert.equal(await first.ask(), true);
    clock.advance(LIMITS.slots.fairStartMs);
    assert.equal((await Promise.all(askForAll(second))).filter(Boolean).length, MAX - 1);
  });

  it("does not hold back a thread without a connection to its host", async () => {
    const { first } = start(2);
    const pressing = { site: SITE, max: MAX, waitMs: 1_000 };
    assert.equal(await first.slots.acquire(pressing), true);
    void askForAll(first);
    await turn();
    assert.equal(first.held, MAX / 2 - 1, "it counts towards the share");
    assert.equal(await first.slots.acquire(pressing), true);
  });

  it("begins anew when all slots have come back", async () => {
    const { clock, first, second } = start(2);
    await fill(first, clock);
    while (first.held > 0) first.giveBack();
    const asked = askForAll(second);
    await turn();
    assert.equal(second.held, MAX / 2);
    clock.advance(LIMITS.slots.fairStartMs);
    await Promise.all(asked);
    assert.equal(second.held, MAX);
  });

  it("gives nothing to a thread that died while it was held back", async () => {
    const { clock, local, first } = start(2);
    const asked = askForAll(first);
    await turn();
    first.slots.close();
    clock.advance(LIMITS.slots.fairStartMs);
    assert.equal((await Promise.all(asked)).filter(Boolean).length, MAX / 2);
    assert.equal(local.stats().held, 0);
  });
});
