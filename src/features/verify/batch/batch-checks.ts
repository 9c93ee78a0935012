import { LIMITS } from "../../../config/limits/limits.ts";
import type { CheckPool, PendingBatch } from "../../../engine/threads/pool.ts";
import { type BatchMode, type CheckOutcome, isDeferred } from "../../../engine/threads/thread-tasks.ts";
import { AppError } from "../../../platform/errors.ts";
import type { Logger } from "../../../platform/log.ts";
import { type Clock, pause } from "../../../platform/time/clock.ts";
import type { CacheWrite, EvidenceCache } from "../cache/evidence-cache.ts";
import type { InFlightChecksDeps } from "../checks/in-flight-checks.ts";
import type { AskedRow, BatchWork } from "./batch-work.ts";
import type { DisposableRows } from "./disposable-rows.ts";

export interface BatchChecksDeps {
  clock: Clock;
  log: Logger;
  pool: Pick<CheckPool, "checkBatch">;
  cache: Pick<EvidenceCache, "storeMany">;
  keep: InFlightChecksDeps["keep"];
  disposables: Pick<DisposableRows, "learn">;
}

/** How a batch checks its rows: `atOnce` at a time, in order. */
export interface BatchCheckOptions {
  mode: BatchMode;
  atOnce: number;
}

/** Checks rows in the check pool, and caches the evidence. */
export interface BatchChecks {
  /** @param rows of one scope, at most LIMITS.check.batchAddresses. Those that get no answer until `work` is halted have none. */
  check(work: BatchWork, rows: readonly AskedRow[], manner: BatchCheckOptions): Promise<void>;
}

/** One attempt at rows. */
type Attempt = { died: false; overloaded: readonly AskedRow[] } | { died: true };

class PooledBatchChecks implements BatchChecks {
  readonly #deps: BatchChecksDeps;
  /** Resolves when no search for a culprit is running. */
  #search: Promise<void> = Promise.resolve();

  constructor(deps: BatchChecksDeps) {
    this.#deps = deps;
  }

  async check(work: BatchWork, rows: readonly AskedRow[], manner: BatchCheckOptions): Promise<void> {
    const giveUpAt = this.#deps.clock.monotonic() + LIMITS.bulk.rowDeadlineMs;
    let waiting = rows;
    while (waiting.length > 0 && !work.halted.aborted) {
      const tried = await this.#attempt(work, waiting, manner);
      if (tried.died) return this.#findCulprit(work, waiting, manner);
      waiting = tried.overloaded;
      if (waiting.length === 0 || this.#deps.clock.monotonic() >= giveUpAt) return;
      await pause(this.#deps.clock, LIMITS.bulk.retryMs, work.halted);
    }
  }

  #start(
    rows: readonly AskedRow[],
    { mode, atOnce }: BatchCheckOptions,
  ): PendingBatch | "overloaded" | "closed" {
    const addresses = rows.map(({ address }) => address.normalised);
    try {
      return this.#deps.pool.checkBatch(addresses, rows[0]?.scope ?? "unprobed", mode, atOnce);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return error.code === "overloaded" ? "overloaded" : "closed";
    }
  }

  async #attempt(work: BatchWork, rows: readonly AskedRow[], manner: BatchCheckOptions) {
    const batch = this.#start(rows, manner);
    if (batch === "closed") return { died: false, overloaded: [] } satisfies Attempt;
    if (batch === "overloaded") return { died: false, overloaded: rows } satisfies Attempt;
    work.join(batch, rows.length);
    let lines: CheckOutcome[];
    try {
      lines = await batch.outcomes;
    } catch (error) {
      this.#deps.log.error({ err: error, rows: rows.length }, "a batch of checks broke");
      return { died: true } satisfies Attempt;
    } finally {
      work.leave(batch);
    }
    return { died: false, overloaded: this.#conclude(work, rows, lines) } satisfies Attempt;
  }

  /** @returns the rows that a bound of the thread turned away */
  #conclude(work: BatchWork, rows: readonly AskedRow[], lines: readonly CheckOutcome[]): AskedRow[] {
    const overloaded: AskedRow[] = [];
    const deposits: CacheWrite[] = [];
    // They came together, and are answered with one text of their times.
    const storedAt = this.#deps.clock.now();
    for (const [i, row] of rows.entries()) {
      const line = lines[i] ?? null;
      if (line === "overloaded") overloaded.push(row);
      else if (line === "broken") giveUp(work, row);
      else if (isDeferred(line)) work.answer(row.at, line);
      else if (line !== null) {
        const { scope, address, cacheKey, redisKey } = row;
        const { ttlS, shared } = this.#deps.keep(scope, address, line);
        const entry = { evidence: line, storedAt, ttlS };
        deposits.push({ scope, cacheKey, entry, shared, redisKey });
        this.#deps.disposables.learn(row, entry);
        work.answer(row.at, { finding: { entry, cached: false } });
      }
    }
    this.#deps.cache.storeMany(deposits);
    return overloaded;
  }

  /**
   * The thread of these rows died. Halving the batch finds the row that kills threads. The other rows, and those of other
   * batches in the thread, did not cause it. One search runs at a time, so that a batch is not blamed for another one's
   * row.
   */
  async #findCulprit(work: BatchWork, rows: readonly AskedRow[], manner: BatchCheckOptions) {
    const mine = this.#search.then(() => this.#narrow(work, rows, manner));
    this.#search = mine.catch(() => {});
    await Promise.race([mine, aborted(work.halted)]);
  }

  async #narrow(work: BatchWork, rows: readonly AskedRow[], manner: BatchCheckOptions) {
    if (work.halted.aborted || rows.length === 0) return;
    // A single row is tried twice: another batch in the thread may have ended it.
    for (let tries = rows.length === 1 ? 2 : 1; tries > 0; tries--) {
      const tried = await this.#attempt(work, rows, manner);
      if (!tried.died || work.halted.aborted) return;
    }
    const [culprit, ...others] = rows;
    if (culprit === undefined) return;
    if (others.length === 0) return giveUp(work, culprit);
    const half = Math.ceil(rows.length / 2);
    await this.#narrow(work, rows.slice(0, half), manner);
    await this.#narrow(work, rows.slice(half), manner);
  }
}

export function createBatchChecks(deps: BatchChecksDeps): BatchChecks {
  return new PooledBatchChecks(deps);
}

function giveUp(work: BatchWork, row: AskedRow): void {
  work.answer(row.at, { finding: { entry: null, cached: false, failure: "internal_error" } });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
