import { randomUUID } from "node:crypto";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import { type Clock, pause, type Timer } from "../../platform/time/clock.ts";
import type { Verdict } from "../../verification/verdict/table.ts";
import type { UsageCounts, UsageFlush, UsageRow, UsageStore } from "./usage-sql.ts";

/**
 * Counts answered live verifications by team and day, for reports; the quota ledger charges independently. Counts are kept
 * in memory and written together every LIMITS.usage.flushEveryMs: a killed process loses its counts since the last flush.
 *
 * The database remembers the number of each process's last flush. So a flush whose response was lost is sent again and
 * counts once. Rows that a flush leaves out, of teams being deleted, go into the next; they are lost if this process ends
 * first.
 */
export interface UsageCounter {
  /**
   * Counts one answer to a single verification. No I/O, and no allocation after a team's first in a second.
   * @param day of its reserved unit
   */
  count(teamId: string, day: string, verdict: Verdict, cached: boolean): void;
  /**
   * Writes everything counted before the call, except for teams being deleted. Rejects when it fails; the counts stay to be
   * written.
   */
  flush(): Promise<void>;
  start(): void;
  /** Writes the remaining counts, in several attempts. Never rejects. */
  drain(): Promise<void>;
}

function add(counts: UsageCounts | undefined, verdict: Verdict, cached: boolean): void {
  if (counts === undefined) return;
  counts.single += 1;
  counts[verdict] += 1;
  if (cached) counts.cached += 1;
}

export interface UsageCounterDeps {
  store: Pick<UsageStore, "record">;
  clock: Clock;
  log: Logger;
}

const COUNTS = [
  "single",
  "bulk",
  "cached",
  "valid",
  "invalid",
  "risky",
  "unknown",
] as const satisfies (keyof UsageCounts)[];

class BufferedUsageCounter implements UsageCounter {
  readonly #deps: UsageCounterDeps;
  readonly #writer = randomUUID();
  #revision = 0;
  /** Counts by day, then by team. */
  #counted = new Map<string, Map<string, UsageCounts>>();
  #teamDays = 0;
  /** Flushes that were sent, oldest first. The database may have them or not. */
  readonly #sent: UsageFlush[] = [];
  #writing: Promise<void> | undefined;
  #failing = false;
  #timer: Timer | undefined;

  constructor(deps: UsageCounterDeps) {
    this.#deps = deps;
  }

  async flush(): Promise<void> {
    // A write in progress may have been assembled before the last count.
    await this.#writing?.catch(() => undefined);
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  start(): void {
    this.#timer = this.#deps.clock.after(LIMITS.usage.flushEveryMs, () => {
      this.start();
      // A write that takes longer than the interval is not queued again.
      if (this.#writing === undefined) void this.#tryFlush();
    });
  }

  count(teamId: string, day: string, verdict: Verdict, cached: boolean): void {
    add(this.#countsOf(teamId, day), verdict, cached);
  }

  async drain(): Promise<void> {
    this.#timer?.cancel();
    for (let attempt = 1; !(await this.#tryFlush()); attempt++) {
      if (attempt === LIMITS.usage.drainAttempts) return;
      await pause(this.#deps.clock, LIMITS.usage.drainPauseMs);
    }
  }

  #open(teamId: string, day: string): UsageCounts | undefined {
    if (this.#teamDays >= LIMITS.usage.teamDays) return undefined;
    this.#teamDays += 1;
    const counts = { single: 0, bulk: 0, cached: 0, valid: 0, invalid: 0, risky: 0, unknown: 0 };
    const ofDay = this.#counted.get(day) ?? new Map<string, UsageCounts>();
    ofDay.set(teamId, counts);
    this.#counted.set(day, ofDay);
    return counts;
  }

  /** undefined: there are too many. */
  #countsOf(teamId: string, day: string): UsageCounts | undefined {
    return this.#counted.get(day)?.get(teamId) ?? this.#open(teamId, day);
  }

  /** Moves the counts into flushes, in pieces. */
  #seal(): void {
    const { rowsPerFlush } = LIMITS.usage;
    const rows: UsageRow[] = [];
    for (const [day, teams] of this.#counted)
      for (const [teamId, counts] of teams) rows.push({ teamId, day, ...counts });
    this.#counted = new Map();
    this.#teamDays = 0;
    for (let i = 0; i < rows.length; i += rowsPerFlush) {
      this.#revision += 1;
      this.#sent.push({
        writer: this.#writer,
        revision: this.#revision,
        rows: rows.slice(i, i + rowsPerFlush),
      });
    }
  }

  #keep({ teamId, day, ...more }: UsageRow): void {
    const counts = this.#countsOf(teamId, day);
    if (counts === undefined) return;
    for (const name of COUNTS) counts[name] += more[name];
  }

  async #send(): Promise<void> {
    for (let flush = this.#sent[0]; flush !== undefined; flush = this.#sent[0]) {
      const leftOut = new Set(await this.#deps.store.record(flush));
      this.#sent.shift();
      for (const row of flush.rows) if (leftOut.has(row.teamId)) this.#keep(row);
    }
  }

  /**
   * A failed flush is sent again first, unchanged. Only then is the next one assembled, so that the waiting counts stay
   * bounded.
   */
  async #write(): Promise<void> {
    await this.#send();
    this.#seal();
    await this.#send();
  }

  /** True when all is written. */
  async #tryFlush(): Promise<boolean> {
    try {
      await this.flush();
      if (this.#failing) this.#deps.log.info("usage is written again");
      this.#failing = false;
      return true;
    } catch (error) {
      if (!this.#failing) this.#deps.log.warn({ err: error }, "cannot write usage");
      this.#failing = true;
      return false;
    }
  }
}

export function createUsageCounter(deps: UsageCounterDeps): UsageCounter {
  return new BufferedUsageCounter(deps);
}
