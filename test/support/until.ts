import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { LIMITS } from "../../src/config/limits/limits.ts";
import { DAY_MS } from "../../src/platform/time/clock.ts";

const EVERY_MS = 20;

/**
 * What `look` finds, asked until it is neither false nor null; for what another process or a timer brings about.
 * @throws AssertionError naming `what` when it has not come about within `withinMs`: far above what it takes.
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
 * Resolves when a second has passed: a question put from then on must be answered by what was changed before the call,
 * in every process, however long the answer takes.
 */
export async function afterASecond(): Promise<void> {
  const endMs = performance.now() + LIMITS.keys.confirmMs;
  await until("a second has passed", () => performance.now() > endMs);
}

/** Longer than any test takes on a loaded machine. */
const LAST_OF_DAY_MS = 90_000;

/** A test that counts units of one UTC day must not begin at its very end: then it begins with the next. */
export async function awayFromMidnight(): Promise<void> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS);
  if (leftMs < LAST_OF_DAY_MS) await wait(leftMs + 1_000);
}
