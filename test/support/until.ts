import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { LIMITS } from "../../src/config/limits/limits.ts";

const EVERY_MS = 20;

/**
 * Calls `look` until it returns neither false nor null, and returns that; for results of another process or of a timer.
 * @throws AssertionError naming `what` after `withinMs`, which is far above the time needed
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | false | null> | T | false | null,
  withinMs = 30_000,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== false && found !== null) return found;
    if (performance.now() > deadline) assert.fail(`did not come about within ${withinMs} ms: ${what}`);
    await wait(EVERY_MS);
  }
}

/**
 * Resolves after a second: every process must answer questions from then on by changes made before the call, however
 * long the answer takes.
 */
export async function afterASecond(): Promise<void> {
  const endMs = performance.now() + LIMITS.keys.confirmMs;
  await until("a second has passed", () => performance.now() > endMs);
}
