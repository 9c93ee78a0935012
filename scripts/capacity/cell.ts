import { IDLE_S } from "./formula.ts";
import type { SiteClass } from "./scenario.ts";
import { shouldRetire } from "./session.ts";

/** A connection, as far as it is used up. */
export interface SimulatedSession {
  served: number;
  refused: number;
}

/** What a write holds. */
export interface Write {
  strangers: number;
  returning: number;
  fresh: number;
}

/**
 * One site as one process sees it by one source address: rows that wait, and connections. A write is filled as
 * `smtp/pooled-session` fills it, the depth grows as `smtp/pipeline-depth` has it. Times are seconds of the simulation.
 */
export class Cell {
  readonly site: SiteClass;
  readonly connections: number;
  /** Asked about for the first time. */
  fresh = 0;
  /** Were put off, and are asked again. */
  returning = 0;
  /** Go first. */
  strangers = 0;
  open = 0;
  opening = 0;
  /** Waits for the next tokens, or for a place of its process. */
  isWaiting = false;
  #depth = 1;
  #tokens = 0;
  #tokensAtS = 0;
  readonly #idle: { session: SimulatedSession; sinceS: number }[] = [];

  constructor(site: SiteClass, connections: number) {
    this.site = site;
    this.connections = connections;
  }

  /** What waits for a connection. */
  get waiting(): number {
    return this.fresh + this.returning + this.strangers;
  }

  get depth(): number {
    return this.site.pipelining ? this.#depth : 1;
  }

  /** Rows that wait are more than its connections take at once, twice: the next is put off (`check/site-queues`). */
  get isLong(): boolean {
    return this.waiting >= 2 * this.connections * this.site.depth;
  }

  /** The session that was used last; null: none is idle. */
  reuse(nowS: number): SimulatedSession | null {
    this.#closeIdle(nowS);
    return this.#idle.pop()?.session ?? null;
  }

  rest(session: SimulatedSession, nowS: number): void {
    this.#idle.push({ session, sinceS: nowS });
  }

  mayOpen(nowS: number): boolean {
    this.#closeIdle(nowS);
    return this.open < this.connections && this.waiting > this.opening * this.depth;
  }

  /** Transactions that may follow in the session before a limit of it could be met. */
  roomIn({ served, refused }: SimulatedSession): number {
    const { transactionsPerSession, rejectionsPerSession } = this.site;
    return Math.min(transactionsPerSession - served, rejectionsPerSession - refused);
  }

  /** It leaves before the next write. */
  isOver(session: SimulatedSession): boolean {
    if (this.roomIn(session) <= 0) return true;
    return this.waiting >= this.depth && shouldRetire(this.site, session, this.depth);
  }

  /** Takes what goes out in one write, strangers first; null: nothing may, or nothing waits. */
  take(session: SimulatedSession, most: number, nowS: number): Write | null {
    const count = Math.min(this.roomIn(session), this.depth, this.waiting, most, this.#granted(nowS));
    if (count <= 0) return null;
    const strangers = Math.min(count, this.strangers);
    const returning = Math.min(count - strangers, this.returning);
    const fresh = count - strangers - returning;
    this.strangers -= strangers;
    this.returning -= returning;
    this.fresh -= fresh;
    if (this.site.perHour > 0) this.#tokens -= count;
    return { strangers, returning, fresh };
  }

  /** A write of so many was answered. */
  worked(count: number): void {
    if (count * 2 >= this.#depth) this.#depth = Math.min(this.#depth + 1, this.site.depth);
  }

  /** Until the site bears one more; 0: it does now. */
  waitS(nowS: number): number {
    if (this.#granted(nowS) >= 1) return 0;
    return Math.max(1e-6, ((1 - this.#tokens) * 3_600) / this.site.perHour);
  }

  #closeIdle(nowS: number): void {
    while (this.#idle[0] && nowS - this.#idle[0].sinceS >= IDLE_S) {
      this.#idle.shift();
      this.open--;
    }
  }

  /** What may come at once: two seconds' worth. */
  get #burst(): number {
    return Math.max(1, this.site.perHour / 1_800);
  }

  #granted(nowS: number): number {
    if (this.site.perHour === 0) return Number.POSITIVE_INFINITY;
    const came = ((nowS - this.#tokensAtS) * this.site.perHour) / 3_600;
    this.#tokens = Math.min(this.#burst, this.#tokens + came);
    this.#tokensAtS = nowS;
    return Math.floor(this.#tokens);
  }
}
