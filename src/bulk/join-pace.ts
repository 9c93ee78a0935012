import type { Clock } from "../core/clock.ts";

export interface JoinPaceDeps {
  /** Bytes of chunks in memory that the join has not come to. */
  heldBytes(): number;
  clock: Clock;
  /** LIMITS.bulk.early says what each is. */
  bounds: { behindBytes: number; behindMs: number };
}

/**
 * Has a job's chunks wait for the join beside them, where that is what is behind: on cores that are all busy each chunk takes
 * its time, and what the join no longer finds in memory it reads and unzips, on one core, when all chunks are done. Nobody waits
 * for a join that waits for chunks itself, has not begun, or took nothing for `behindMs`; and nobody for longer than that.
 */
export interface JoinPace {
  /** Resolves when the next chunk may begin; null: at once. Never rejects. */
  whenAllowed(): Promise<void> | null;
  /** Whether the join waits for a chunk to become final. */
  setWaiting(forChunk: boolean): void;
  /** Some of what is held was taken. */
  onTaken(): void;
  /** The join is over. */
  close(): void;
}

export function createJoinPace({ heldBytes, clock, bounds }: JoinPaceDeps): JoinPace {
  const waiting = new Set<() => void>();
  /** Until it has been given a chunk it has not begun. */
  let isWaiting = true;
  let isStuck = false;
  let takes = 0;
  let closed = false;

  const isBehind = () => !closed && !isWaiting && !isStuck && heldBytes() >= bounds.behindBytes;

  function admit(): void {
    if (waiting.size > 0 && !isBehind()) for (const begin of waiting) begin();
  }

  return {
    whenAllowed() {
      if (!isBehind()) return null;
      return new Promise((resolve) => {
        const begin = () => {
          waiting.delete(begin);
          timer.cancel();
          resolve();
        };
        const takesBefore = takes;
        const timer = clock.after(bounds.behindMs, () => {
          isStuck = takes === takesBefore;
          begin();
          admit();
        });
        waiting.add(begin);
      });
    },
    setWaiting(forChunk) {
      isWaiting = forChunk;
      admit();
    },
    onTaken() {
      takes += 1;
      isStuck = false;
      admit();
    },
    close() {
      closed = true;
      admit();
    },
  };
}
