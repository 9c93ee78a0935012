import type { Answer, Connection, Outcome } from "../../bench/load/outcome.ts";
import { createPause } from "../../bench/load/pause.ts";
import type { LoopParts } from "../../bench/load/sender.ts";
import { Tally } from "../../bench/load/tally.ts";
import { createFakeClock } from "./fake-clock.ts";

export const result = (more: Partial<Answer> = {}): Answer => ({
  ...{ kind: "answer", status: 200, code: null, verdict: "valid", cached: true, retryAfterMs: null },
  ...more,
});

/** The answer of a connection to a request; `delayMs` null: never. */
type Reply = (path: string, sentMs: number) => { delayMs: number | null; outcome?: Outcome };

/** Fake connection and clock for a load loop: requests are recorded, and answered in the clock's time. */
export function createLoopFakes(
  reply: Reply,
  count: number,
  options: Partial<LoopParts> & { heeds?: boolean } = {},
) {
  const clock = createFakeClock();
  const tally = new Tally();
  const sentAtMs: number[] = [];
  let busiest = 0;
  let busy = 0;
  const connections: Connection[] = Array.from({ length: count }, () => {
    let closed = false;
    return {
      send(path, done) {
        sentAtMs.push(clock.monotonic());
        busiest = Math.max(busiest, ++busy);
        const { delayMs, outcome } = reply(path, clock.monotonic());
        if (delayMs === null) return;
        clock.after(delayMs, () => {
          busy -= 1;
          if (!closed) done(outcome ?? result());
        });
      },
      close() {
        closed = true;
      },
    };
  });
  let asked = 0;
  const parts: LoopParts = {
    ...{ clock, connections, tally, warmUpMs: 0, endMs: 1_000, requestsMax: 1e9, graceMs: 10_000 },
    traffic: { next: () => ({ kind: "new", path: `/${asked++}` }) },
    pause: createPause(options.heeds ?? false),
    ...options,
  };
  return { parts, clock, tally, sentAtMs, busiest: () => busiest };
}
