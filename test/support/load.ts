import type { Answer } from "./service.ts";

/** One request of a load. Times are monotonic milliseconds. */
export interface Sample {
  beganMs: number;
  endedMs: number;
  /** null: no answer came, as when the connection was refused or cut. */
  status: number | null;
  /** Of a problem. */
  code: string | null;
}

export interface Load {
  /** Requests that have ended, in that order. */
  readonly samples: readonly Sample[];
  /** Sends no more, and resolves when the last has ended. */
  stop(): Promise<readonly Sample[]>;
}

/** Keeps `concurrency` requests in flight, each `ask`ed when another has ended. */
export function startLoad(concurrency: number, ask: () => Promise<Answer>): Load {
  const samples: Sample[] = [];
  let stopping = false;

  async function one(): Promise<void> {
    const beganMs = performance.now();
    const answer = await ask().catch(() => null);
    const code = answer === null ? null : ((answer.body.code as string | undefined) ?? null);
    samples.push({ beganMs, endedMs: performance.now(), status: answer?.status ?? null, code });
    // A refused connection takes no time at all: let others have their turn.
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

/** How many samples had each status and code, e.g. `{ "200": 12, "503 unavailable": 3 }`. */
export function tally(samples: readonly Pick<Sample, "status" | "code">[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, code } of samples) {
    const name = code === null ? String(status) : `${status} ${code}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/**
 * What was answered, but for 429 `rate_limited`: an address that goes on with a refused credential is refused itself before
 * long. Its load is to come from an address of its own (`X-Forwarded-For`), or it limits what else the test sends.
 */
export function answersBesideLimit(samples: readonly Sample[]): string[] {
  return Object.keys(tally(samples)).filter((how) => how !== "429 rate_limited");
}
