import { setTimeout as wait } from "node:timers/promises";
import { DAY_MS } from "../../src/platform/time/clock.ts";

/** Longer than any test takes on a loaded machine. */
const LAST_OF_DAY_MS = 90_000;

/** A test that counts units of one UTC day must not begin at its very end: waits for the next day. */
export async function awayFromMidnight(): Promise<void> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS);
  if (leftMs < LAST_OF_DAY_MS) await wait(leftMs + 1_000);
}
