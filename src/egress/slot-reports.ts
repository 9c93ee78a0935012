import { LIMITS } from "../config/limits/limits.ts";
import type { Logger } from "../platform/log.ts";
import type { Clock } from "../platform/time/clock.ts";
import type { SiteSlots } from "./site-slots.ts";
import type { SlotAnswer, SlotLeases, SlotStatement } from "./slot-leases.ts";

export interface SlotReportsDeps {
  leases: SlotLeases;
  clock: Clock;
  log: Logger;
  onAnswer(site: SiteSlots, statement: SlotStatement, answer: SlotAnswer): void;
  /** The store did not answer, so it grants no request. Called for each failed attempt to reconnect, too. */
  onLost(): void;
  /** The store answers again and knows all that is held. */
  onRestored(): void;
}

/**
 * Reports the slots of this process to the store. Sites that changed in a tick are stated at its end in one call; a site is
 * never in two calls at once, since the older statement might arrive last. While the store does not answer, the process
 * states only all it holds, every LIMITS.slots.storeRetryMs, until that succeeds.
 */
export class SlotReports {
  readonly #deps: SlotReportsDeps;
  readonly #changed = new Set<SiteSlots>();
  #flushing = false;
  #isStoreDown = false;
  #isReconnecting = false;
  #askAgainAt = 0;
  #closed = false;

  constructor(deps: SlotReportsDeps) {
    this.#deps = deps;
  }

  get isStoreDown(): boolean {
    return this.#isStoreDown;
  }

  /** True when a report of `site` to the store is due, or being sent. */
  isPending(site: SiteSlots): boolean {
    return site.isReporting || this.#changed.has(site);
  }

  /** `site` is reported to the store at the end of the present tick; while the store is away, when it is back. */
  markChanged(site: SiteSlots): void {
    if (this.#closed || (this.#isStoreDown && !this.#isReconnecting)) return;
    this.#changed.add(site);
    this.#flushSoon();
  }

  /** When alone and it is time, tries to come back with `sites`: all that there are. */
  reconnect(sites: Iterable<SiteSlots>): void {
    if (!this.#isStoreDown || this.#isReconnecting || this.#deps.clock.monotonic() < this.#askAgainAt) return;
    this.#isReconnecting = true;
    void this.#reconnect([...sites].filter((site) => !site.isReporting)).finally(() => {
      this.#isReconnecting = false;
    });
  }

  /** States that no slot of `sites` is held any more, as the last report. Never rejects. */
  async close(sites: Iterable<SiteSlots>): Promise<void> {
    this.#closed = true;
    const now = this.#deps.clock.monotonic();
    const nothing = [...sites].map((site) => ({ ...site.statement(now, false), held: 0 }));
    await Promise.allSettled(inCalls(nothing).map((statements) => this.#deps.leases.report(statements)));
  }

  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(() => {
      this.#flushing = false;
      if (this.#isStoreDown || this.#closed) return;
      const ready = [...this.#changed].filter((site) => !site.isReporting);
      for (const sites of inCalls(ready)) void this.#report(sites, true);
    });
  }

  /** @returns whether the store answered */
  async #report(sites: readonly SiteSlots[], mayAsk: boolean): Promise<boolean> {
    const sentAt = this.#deps.clock.monotonic();
    const told = sites.map((site) => {
      this.#changed.delete(site);
      site.isReporting = true;
      return { site, statement: site.statement(sentAt, mayAsk) };
    });
    const answers = await this.#reportOrNull(told.map(({ statement }) => statement));
    for (const { site } of told) site.isReporting = false;
    if (this.#closed) return false;
    if (answers === null) {
      this.#deps.onLost();
      return false;
    }
    for (const [i, { site, statement }] of told.entries()) {
      site.reportedAt = sentAt;
      const answer = answers[i];
      if (answer) this.#deps.onAnswer(site, statement, answer);
    }
    if (this.#changed.size > 0) this.#flushSoon();
    return true;
  }

  /**
   * Reports a second time after a time-out. A process that stood still finds its timer over before it has read the answer.
   * Eight workers that started on two cores fell back to their own slots one after the other, and opened connections above
   * the caps. The same statement again does no harm, and undoes what the missed answer granted. The other holders are
   * notified only once, since each gives up a slot for it.
   */
  async #reportTwice(statements: SlotStatement[]): Promise<SlotAnswer[]> {
    const { leases, clock } = this.#deps;
    const askedAt = clock.monotonic();
    try {
      return await leases.report(statements);
    } catch (error) {
      const wasMissed = clock.monotonic() - askedAt >= LIMITS.slots.missedMs;
      if (!wasMissed || this.#isStoreDown || this.#closed) throw error;
      return await leases.report(statements.map((statement) => ({ ...statement, announce: false })));
    }
  }

  async #reportOrNull(statements: SlotStatement[]): Promise<SlotAnswer[] | null> {
    try {
      return await this.#reportTwice(statements);
    } catch (error) {
      if (!this.#isStoreDown && !this.#closed)
        this.#deps.log.warn({ err: error }, "connection slots are kept by this process alone: Redis is away");
      this.#isStoreDown = true;
      this.#changed.clear();
      this.#askAgainAt = this.#deps.clock.monotonic() + LIMITS.slots.storeRetryMs;
      return null;
    }
  }

  async #reconnect(sites: SiteSlots[]): Promise<void> {
    for (const some of sites.length > 0 ? inCalls(sites) : [[]]) {
      if (!(await this.#report(some, false))) return;
    }
    this.#isStoreDown = false;
    this.#deps.log.info("connection slots are shared again: Redis answers");
    if (this.#changed.size > 0) this.#flushSoon();
    this.#deps.onRestored();
  }
}

function inCalls<T>(all: readonly T[]): T[][] {
  const { sitesPerCall } = LIMITS.slots;
  return Array.from({ length: Math.ceil(all.length / sitesPerCall) }, (_, i) =>
    all.slice(i * sitesPerCall, (i + 1) * sitesPerCall),
  );
}
