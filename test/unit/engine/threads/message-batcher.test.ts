import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { MessageChannel } from "node:worker_threads";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { MessageBatcher, receiveBatches } from "../../../../src/engine/threads/message-batcher.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("messages between a thread and the main one", () => {
  it("go together that were sent in one turn, and come one by one in their order", async () => {
    const { port1, port2 } = new MessageChannel();
    const mailbag = new MessageBatcher<string>(port1);
    const heard: string[] = [];
    let events = 0;
    receiveBatches<string>(port2, (message) => heard.push(message));
    port2.on("message", () => {
      events += 1;
    });
    try {
      for (const message of ["a", "b", "c"]) mailbag.send(message);
      await once(port2, "message");
      await turn();
      assert.deepEqual([heard, events], [["a", "b", "c"], 1]);
      mailbag.send("d");
      await once(port2, "message");
      assert.deepEqual([heard, events], [["a", "b", "c", "d"], 2]);
    } finally {
      port1.close();
    }
  });

  it("are delayed for a moment to be batched where no caller waits for them, and keep their order", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { port1, port2 } = new MessageChannel();
    const mailbag = new MessageBatcher<string>(port1);
    const heard: string[] = [];
    receiveBatches<string>(port2, (message) => heard.push(message));
    try {
      mailbag.sendLater("a");
      mailbag.sendLater("b");
      t.mock.timers.tick(LIMITS.check.gatherMs - 1);
      await turn();
      mailbag.send("c");
      mailbag.sendLater("d");
      await once(port2, "message");
      await turn();
      assert.deepEqual(heard, ["a", "b", "c", "d"], "they go along with one that somebody waits for");
      mailbag.sendLater("e");
      t.mock.timers.tick(LIMITS.check.gatherMs);
      await once(port2, "message");
      assert.equal(heard.at(-1), "e");
    } finally {
      port1.close();
    }
  });

  it("go once where the moment's company comes just as the moment is over", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { port1, port2 } = new MessageChannel();
    const mailbag = new MessageBatcher<string>(port1);
    const bags: string[][] = [];
    port2.on("message", (bag: string[]) => bags.push(bag));
    try {
      mailbag.sendLater("a");
      mailbag.send("b");
      t.mock.timers.tick(LIMITS.check.gatherMs);
      mailbag.send("c");
      await once(port2, "message");
      mailbag.sendLater("d");
      t.mock.timers.tick(LIMITS.check.gatherMs);
      mailbag.send("e");
      while (bags.flat().length < 5) await once(port2, "message");
      for (let turns = 0; turns < 5; turns++) await turn();
      assert.deepEqual(bags, [["a", "b", "c"], ["d"], ["e"]]);
    } finally {
      port1.close();
    }
  });

  it("are delivered one by one, each after all callbacks of the previous one", async () => {
    const { port1, port2 } = new MessageChannel();
    const mailbag = new MessageBatcher<number>(port1);
    const story: string[] = [];
    receiveBatches<number>(port2, async (message) => {
      story.push(`heard ${message}`);
      for (let i = 0; i < message; i++) await null;
      story.push(`done ${message}`);
    });
    try {
      for (const message of [30, 3, 0]) mailbag.send(message);
      await once(port2, "message");
      mailbag.send(7);
      await once(port2, "message");
      await turn();
      const inOrder = [30, 3, 0, 7].flatMap((message) => [`heard ${message}`, `done ${message}`]);
      assert.deepEqual(story, inOrder);
    } finally {
      port1.close();
    }
  });
});
