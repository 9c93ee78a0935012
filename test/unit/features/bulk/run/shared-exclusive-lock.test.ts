import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import {
  createSharedExclusiveLock,
  type Release,
} from "../../../../../src/features/bulk/run/shared-exclusive-lock.ts";

/** Asks for turns by name; `!` alone. */
function fixture() {
  const turns = createSharedExclusiveLock();
  const at = new Map<string, Release>();
  return {
    ask(name: string): void {
      void turns.acquire(name.endsWith("!")).then((end) => at.set(name, end));
    },
    end(name: string): void {
      at.get(name)?.();
      at.delete(name);
    },
    opened: turns.whenOpen,
    async now(): Promise<string[]> {
      await turn();
      return [...at.keys()];
    },
  };
}

describe("turns", () => {
  it("are many at once, or one alone, in the order of asking", async () => {
    const { ask, end, now } = fixture();
    for (const name of ["a", "b", "c!", "d", "e", "f!", "g!"]) ask(name);
    assert.deepEqual(await now(), ["a", "b"]);
    end("a");
    assert.deepEqual(await now(), ["b"]);
    end("b");
    assert.deepEqual(await now(), ["c!"]);
    end("c!");
    assert.deepEqual(await now(), ["d", "e"]);
    end("e");
    end("d");
    assert.deepEqual(await now(), ["f!"]);
    end("f!");
    assert.deepEqual(await now(), ["g!"]);
    ask("h");
    assert.deepEqual(await now(), ["g!"]);
    end("g!");
    assert.deepEqual(await now(), ["h"]);
  });

  it("say so while no other can have one, and when that is over", async () => {
    const { ask, end, now, opened } = fixture();
    assert.equal(opened(), null);
    for (const name of ["a", "b!", "c", "d!"]) ask(name);
    assert.deepEqual(await now(), ["a"]);
    let isOpen = false;
    void opened()?.then(() => {
      isOpen = true;
    });
    for (const name of ["a", "b!", "c"]) {
      assert.ok(opened() !== null);
      end(name);
      await now();
      assert.equal(isOpen, false, name);
    }
    end("d!");
    await now();
    assert.ok(isOpen && opened() === null);
  });
});
