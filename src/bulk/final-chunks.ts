import type { Clock } from "../core/clock.ts";
import type { SpanDeps } from "../services/bulk/spans.ts";
import type { ChunkOfResults } from "../store/job-tasks.ts";
import { Interruption } from "./control.ts";

export interface FinalChunksDeps {
  /** See `finalChunksOf`. */
  readFinalChunks(jobId: string, after: number, limit: number): Promise<ChunkOfResults[] | null>;
  clock: Clock;
  /** Aborted: nobody wants them any more. */
  signal: AbortSignal;
  /** LIMITS.bulk.early says what each is. */
  bounds: { pollMs: number; pollShare: number; pollMaxMs: number; patienceMs: number; page: number };
  /** Told when who asks for chunks begins to wait for one, and when it has waited. */
  onWait?(waits: boolean): void;
}

/** The chunks of a job under way, as they become final. */
export interface FinalChunks {
  /**
   * As SpanDeps has it: waits while the next is not final.
   * @throws Interruption when the job is not under way any more, or the next was waited for in vain; the signal's reason
   */
  chunksOf: SpanDeps["chunksOf"];
  /** There may be more: a look at once. */
  wake(): void;
}

export function createFinalChunks({
  readFinalChunks: look,
  clock,
  signal,
  bounds,
  onWait,
}: FinalChunksDeps): FinalChunks {
  const { pollMs, pollShare, pollMaxMs, patienceMs, page } = bounds;
  let wake = () => {};
  let woken = false;

  function pause(pauseMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        timer.cancel();
        signal.removeEventListener("abort", end);
        woken = false;
        wake = () => {};
        resolve();
      };
      const timer = clock.after(pauseMs, end);
      signal.addEventListener("abort", end);
      wake = end;
      if (woken || signal.aborted) end();
    });
  }

  return {
    async chunksOf(jobId, after, limit) {
      const sinceMs = clock.monotonic();
      const most = Math.min(limit, page);
      let asked = most;
      for (;;) {
        signal.throwIfAborted();
        const found = await look(jobId, after, asked);
        if (found !== null && found.length > 0) onWait?.(false);
        if (found === null) throw new Interruption("the job is not under way any more");
        if (found.length > 0 && asked === most) return found;
        if (found.length > 0) {
          asked = most;
          continue;
        }
        const waitedMs = clock.monotonic() - sinceMs;
        if (waitedMs >= patienceMs)
          throw new Interruption(`no chunk behind ${after} became final in ${patienceMs} ms`);
        // While the next is not final it alone is looked at: of a job whose rows wait for their servers a page was read ten times a
        // second, chunks with their patches, to see that.
        asked = 1;
        onWait?.(true);
        await pause(Math.max(pollMs, Math.min(pollMaxMs, waitedMs * pollShare)));
      }
    },
    wake() {
      woken = true;
      wake();
    },
  };
}
