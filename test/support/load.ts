import type { Answer } from "./service.ts";

/** One request of a load. Times are monotonic milliseconds. */
export interface Sample {
  beganMs: number;
  endedMs: number;
  /** null: no answer came, as when the connection was refused or cut. */
  status: number | null;
  /** `code` of the problem body; null without one. */
  code: string | null;
}

export interface Load {
  /** Requests that have ended, in that order. */
  readonly samples: readonly Sample[];
  /** Sends no more; resolves when the last request has ended. */
  stop(): Promise<readonly Sample[]>;
}

/** Keeps `concurrency` requests in flight: calls `ask` again whenever one has ended. */
export function startLoad(concurrency: number, ask: () => Promise<Answer>): Load {
  const samples: Sample[] = [];
  let stopping = false;

  async function one(): Promise<void> {
    const beganMs = performance.now();
    const answer = await ask().catch(() => null);
    const code = answer === null ? null : ((answer.body.code as string | undefined) ?? null);
    samples.push({ beganMs, endedMs: performance.now(), status: answer?.status ?? null, code });
    // A refused connection ends at once: pause, so that this loop does not starve the others.
    if (answer === null) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  async function work(): Promise<void> {
    while (!stopping) await one();
  }

  const workers = Array.from({ length: concurrency }, work);
  return {
    samples,
    async stop() {
      stopping = true;
      await Promise.all(workers);
      return samples;
    },
  };
}

/** Number of samples by status and code, e.g. `{ "200": 12, "503 unavailable": 3 }`. */
export function tally(samples: readonly Pick<Sample, "status" | "code">[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, code } of samples) {
    const name = code === null ? String(status) : `${status} ${code}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/**
 * The distinct answers other than 429 `rate_limited`: a client address that keeps sending a refused credential is soon
 * refused itself. Such a load must come from an address of its own (`X-Forwarded-For`), or it limits the test's other
 * requests.
 */
export function answersBesideLimit(samples: readonly Sample[]): string[] {
  return Object.keys(tally(samples)).filter((how) => how !== "429 rate_limited");
}
