import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import type { Clock, Timer } from "../../platform/time/clock.ts";
import type { Credentials } from "../identity/credentials.ts";

export interface LastUsed {
  /** Remembers that the key was used; written later. Beyond LIMITS.keys.lastUsedBatch waiting keys it is forgotten. */
  note(keyId: string): void;
  /** Writes pending updates. Never rejects: a failed update is written the next time. */
  flush(): Promise<void>;
  start(): void;
  stop(): void;
}

/** How long a use waits to be written with others. */
const FLUSH_EVERY_MS = 5_000;

/** `last_used_at` of keys, without work for requests: uses are collected, and written in one statement now and then. */
export function createLastUsed(deps: { credentials: Credentials; clock: Clock; log: Logger }): LastUsed {
  let waiting = new Set<string>();
  let timer: Timer | undefined;

  function note(keyId: string): void {
    if (waiting.size < LIMITS.keys.lastUsedBatch) waiting.add(keyId);
  }

  async function flush(): Promise<void> {
    if (waiting.size === 0) return;
    const batch = waiting;
    waiting = new Set();
    try {
      await deps.credentials.touch([...batch]);
    } catch (error) {
      deps.log.debug({ err: error }, "cannot note when keys were used");
      for (const keyId of batch) note(keyId);
    }
  }

  function schedule(): void {
    timer = deps.clock.after(FLUSH_EVERY_MS, () => {
      void flush();
      schedule();
    });
  }

  return {
    note,
    flush,
    start: schedule,
    stop() {
      timer?.cancel();
    },
  };
}
