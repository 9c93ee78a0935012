import type { SharedBoard } from "../../egress/shared-board.ts";

/**
 * How long batches of checks wait for our own CPU: from the request until a thread starts them, and from the posting of an
 * answer until the main thread receives it. The time of name and mail servers does not count.
 */
export interface CheckWaits {
  /** A batch was sent to a thread. */
  onSent(): void;
  /** Answers to `batches` batches were received, `ms` after they were posted. */
  onReceived(batches: number, ms: number): void;
  /** Reports batches that were lost or cancelled before a thread had started them. */
  onNeverStarted(batches: number): void;
  /** Both waits of a batch, on average since the last call, in milliseconds; 0 without waits. */
  takeMeanMs(): number;
}

/** Mean of one kind of wait since it was last taken. */
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
  const receiving = new WaitMean();
  /** Sent and, as far as is known, not started. */
  let unstarted = 0;
  let seen = board.started();
  /** When something was last started, or nothing waited to be. */
  let movedMs = now();

  /** If no thread starts a batch, batches have waited since the last start. */
  function threadWait(): number {
    const { tasks, waitedTenths } = board.started();
    const begun = (tasks - seen.tasks) >>> 0;
    const tenths = (waitedTenths - seen.waitedTenths) >>> 0;
    seen = { tasks, waitedTenths };
    unstarted = Math.max(0, unstarted - begun);
    if (begun === 0 && unstarted > 0) return now() - movedMs;
    movedMs = now();
    return begun === 0 ? 0 : tenths / 10 / begun;
  }

  return {
    onSent() {
      if (unstarted === 0) movedMs = now();
      unstarted += 1;
    },
    onReceived: (batches, ms) => receiving.add(batches, ms),
    onNeverStarted(batches) {
      unstarted = Math.max(0, unstarted - batches);
    },
    takeMeanMs: () => threadWait() + receiving.take(),
  };
}
