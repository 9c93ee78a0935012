import type { SharedBoard } from "./shared-board.ts";

/**
 * How long checks of requests wait for our own CPU: until the turn in which they were asked for posts them to a thread, from
 * there until that thread begins them, and from when an answer is posted until the main thread hears it. What name and mail
 * servers take is no part of it.
 */
export interface CheckWaits {
  /** So many checks were posted, `ms` after the first of them was asked for. */
  onSent(checks: number, ms: number): void;
  /** So many answers were heard, `ms` after they were posted. */
  onReceived(checks: number, ms: number): void;
  /** A thread took posted checks with it: which of them it had begun is not known. */
  onThreadLost(): void;
  /** All three waits of a check, on the average since this was asked last, in milliseconds; 0 where none waited. */
  takeMeanMs(): number;
}

/** Of one kind of wait since it was taken last. */
class WaitMean {
  #count = 0;
  #sumMs = 0;

  add(count: number, ms: number): void {
    this.#count += count;
    this.#sumMs += count * Math.max(0, ms);
  }

  take(): number {
    const mean = this.#count === 0 ? 0 : this.#sumMs / this.#count;
    this.#count = 0;
    this.#sumMs = 0;
    return mean;
  }
}

export function createCheckWaits(board: Pick<SharedBoard, "started">, now: () => number): CheckWaits {
  const posting = new WaitMean();
  const hearing = new WaitMean();
  /** Posted and, as far as is known, not begun. */
  let unbegun = 0;
  let seen = board.started();
  /** When something was begun last, or nothing waited to be. */
  let movedMs = now();

  /** Of a thread that begins nothing, what waits for it has waited since it last did. */
  function threadWait(): number {
    const { checks, waitedTenths } = board.started();
    const begun = (checks - seen.checks) >>> 0;
    const tenths = (waitedTenths - seen.waitedTenths) >>> 0;
    seen = { checks, waitedTenths };
    unbegun = Math.max(0, unbegun - begun);
    if (begun === 0 && unbegun > 0) return now() - movedMs;
    movedMs = now();
    return begun === 0 ? 0 : tenths / 10 / begun;
  }

  return {
    onSent(checks, ms) {
      if (unbegun === 0) movedMs = now();
      unbegun += checks;
      posting.add(checks, ms);
    },
    onReceived: (checks, ms) => hearing.add(checks, ms),
    onThreadLost() {
      unbegun = 0;
    },
    takeMeanMs: () => posting.take() + threadWait() + hearing.take(),
  };
}
