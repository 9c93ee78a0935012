import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";

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

/** A test that counts units of one UTC day must not begin at its very end: then it begins with the next. */
export async function awayFromMidnight(marginMs = 90_000): Promise<void> {
  const leftMs = 86_400_000 - (Date.now() % 86_400_000);
  if (leftMs < marginMs) await wait(leftMs + 1_000);
}
