import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Event, NewEvents } from "../../../src/cli/account/webhooks-listen.ts";

const START_MS = Date.parse("2026-01-01T00:00:00Z");

function eventAt(id: string, seconds: number): Event {
  const timestamp = new Date(START_MS + seconds * 1_000).toISOString();
  return { id, type: "ping", timestamp, livemode: true, data: {} };
}

/** A list, newest first, that records how far it was read. */
function listOf(...events: Event[]) {
  const read: string[] = [];
  async function* all() {
    for (const event of events) {
      read.push(event.id);
      yield event;
    }
  }
  return { events: all(), read };
}

const idsOf = (events: readonly Event[]) => events.map(({ id }) => id);

describe("new events", () => {
  it("are those that come after the first look, oldest first, each once", async () => {
    const news = new NewEvents();
    const [old, first, second] = [eventAt("old", 0), eventAt("first", 5), eventAt("second", 6)];
    assert.deepEqual(await news.read(listOf(old).events), []);
    assert.deepEqual(idsOf(await news.read(listOf(second, first, old).events)), ["first", "second"]);
    assert.deepEqual(await news.read(listOf(second, first, old).events), []);
  });

  it("are all of them where there was none before", async () => {
    const news = new NewEvents();
    assert.deepEqual(await news.read(listOf().events), []);
    assert.deepEqual(idsOf(await news.read(listOf(eventAt("first", 0)).events)), ["first"]);
  });

  it("are found by the next look where one breaks off", async () => {
    const news = new NewEvents();
    const [old, first, second] = [eventAt("old", 0), eventAt("first", 5), eventAt("second", 6)];
    await news.read(listOf(old).events);
    async function* brokenOff() {
      yield second;
      throw new Error("the next page did not come");
    }
    await assert.rejects(news.read(brokenOff()), /did not come/);
    assert.deepEqual(idsOf(await news.read(listOf(second, first, old).events)), ["first", "second"]);
  });

  it("may appear behind newer ones, for a minute", async () => {
    const news = new NewEvents();
    await news.read(listOf(eventAt("seen", 100)).events);
    const [late, ancient] = [eventAt("late", 41), eventAt("ancient", 39)];
    assert.deepEqual(idsOf(await news.read(listOf(eventAt("seen", 100), late, ancient).events)), ["late"]);
  });

  it("are read no further back than need be, and are not missed in a pause", async () => {
    const news = new NewEvents();
    const history = [eventAt("c", 1_000), eventAt("b", 500), eventAt("a", 0)];
    const first = listOf(...history);
    await news.read(first.events);
    assert.deepEqual(first.read, ["c", "b"]);
    // Such as of a laptop that slept.
    const many = Array.from({ length: 300 }, (_, i) => eventAt(`m${i}`, 1_000 + 20 * (i + 1))).reverse();
    const second = listOf(...many, ...history);
    assert.equal((await news.read(second.events)).length, 300);
    assert.deepEqual(second.read.slice(-2), ["c", "b"]);
  });
});
