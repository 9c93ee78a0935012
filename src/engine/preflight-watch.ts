import { LIMITS } from "../config/limits/limits.ts";
import type { KnownExchanger } from "../egress/self-check/exchangers.ts";
import type { RouteReport, SelfCheckUpdate } from "../egress/self-check/report.ts";
import { withHistory } from "../egress/self-check/report-history.ts";
import type { SelfCheckShare } from "../egress/self-check/share.ts";
import type { Clock, Timer } from "../platform/time/clock.ts";
import type { EgressRoute } from "../smtp/wire/egress-routes.ts";
import type { PreflightRun } from "./preflight.ts";

/**
 * Checks our sender identity at intervals, one egress route after the other, for as long as the process probes. The result
 * goes to the check threads: a refusal at RCPT over a route that is not in order makes no address invalid.
 *
 * One process of an egress with the same routes checks, and the others take its result. So mail servers are greeted by one
 * process only, and a process that starts has a result at once. If they cannot reach each other, each checks itself.
 */
export interface SelfCheckWatch {
  /**
   * Starts the first look in the background.
   * @returns when the results of other processes are known, or are known to be unavailable
   */
  start(): Promise<void>;
  stop(): void;
  /** The last report of each route, in the order of the routes. A route has none before its first look has ended. */
  reports(): RouteReport[];
}

export interface SelfCheckWatchDeps {
  clock: Clock;
  /** Milliseconds between two looks, more or less by LIMITS.selfCheck.jitter of it. */
  everyMs: number;
  /** 0 to 1. */
  random(): number;
  routes: readonly EgressRoute[];
  share: SelfCheckShare;
  startPreflight(): Promise<PreflightRun>;
  /** @param looking by them this process is about to look itself */
  onExchangers(exchangers: readonly KnownExchanger[], looking: boolean): void;
  /** @param before the report of the look before; null: this is the first */
  onReport(report: RouteReport, before: RouteReport | null): void;
  /** Called whenever it changes. */
  onUpdate(news: SelfCheckUpdate): void;
  /** Receives an error of our own; the last report remains in force. */
  onError(error: unknown): void;
}

const {
  jitter,
  routesAtOnce: waysAtOnce,
  leadMs,
  followMs,
  followFirstMs,
  readMs,
  retryMs: againMs,
  retries: againTimes,
} = LIMITS.selfCheck;

class RepeatedSelfCheck implements SelfCheckWatch {
  readonly #deps: SelfCheckWatchDeps;
  readonly #reports = new Map<string, RouteReport>();
  #published = JSON.stringify(updateOf([]));
  #exchangers = "";
  /** `Clock.monotonic` of this process' next look, and of the last report that was new. */
  #dueMs = 0;
  #reportedMs = 0;
  /** Looks in a row that were soon after the one before. */
  #soonCount = 0;
  #timer: Timer | null = null;
  #stopped = false;

  constructor(deps: SelfCheckWatchDeps) {
    this.#deps = deps;
  }

  async start(): Promise<void> {
    const { clock } = this.#deps;
    let late: Timer | null = null;
    const patience = new Promise<void>((resolve) => {
      late = clock.after(readMs, resolve);
    });
    await Promise.race([this.#adopt(), patience]);
    (late as Timer | null)?.cancel();
    if (!this.#stopped) void this.#round();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  reports(): RouteReport[] {
    return this.#deps.routes.flatMap(({ name }) => this.#reports.get(name) ?? []);
  }

  async #round(): Promise<void> {
    const { clock } = this.#deps;
    let nextMs = this.#deps.everyMs;
    try {
      const leads = await this.#lead(Math.max(leadMs, this.#dueMs - clock.monotonic()));
      await this.#adopt();
      if (this.#stopped) return;
      // When this process leads next, its look is due at once.
      if (leads === "others") this.#dueMs = 0;
      if (leads !== "others" && this.#isDue(leads)) await this.#checkRoutes();
      nextMs = this.#untilNextRound();
    } catch (error) {
      this.#dueMs = clock.monotonic() + nextMs;
      this.#deps.onError(error);
    }
    if (this.#stopped) return;
    this.#timer = clock.after(nextMs, () => void this.#round());
  }

  /** `nobody`: the processes cannot reach each other, so each checks itself unless it has a recent report. */
  async #lead(ms: number): Promise<"me" | "others" | "nobody"> {
    try {
      return (await this.#deps.share.acquireLead(Math.ceil(ms))) ? "me" : "others";
    } catch {
      return "nobody";
    }
  }

  #isDue(leads: "me" | "nobody"): boolean {
    const nowMs = this.#deps.clock.monotonic();
    if (leads === "me" || this.#reports.size === 0) return nowMs >= this.#dueMs;
    return nowMs >= Math.max(this.#dueMs, this.#reportedMs + this.#deps.everyMs);
  }

  async #adopt(): Promise<void> {
    const look = await this.#deps.share.read().catch(() => null);
    if (look === null || this.#stopped) return;
    const exchangers = JSON.stringify(look.exchangers);
    if (exchangers !== this.#exchangers) this.#deps.onExchangers(look.exchangers, false);
    this.#exchangers = exchangers;
    for (const report of look.reports) {
      const mine = this.#reports.get(report.way);
      if (mine === undefined || mine.checkedAt < report.checkedAt) this.#keep(report);
    }
    this.#publishUpdate();
  }

  async #checkRoutes(): Promise<void> {
    const { routes: ways, share } = this.#deps;
    const run = await this.#deps.startPreflight();
    if (this.#stopped) return;
    this.#exchangers = JSON.stringify(run.exchangers);
    this.#deps.onExchangers(run.exchangers, true);
    const left = [...ways];
    const lookers = Array.from({ length: Math.min(waysAtOnce, ways.length) }, async () => {
      for (let way = left.shift(); way !== undefined && !this.#stopped; way = left.shift()) {
        await this.#checkRoute(run, way);
        if (left.length > 0) await this.#lead(leadMs);
      }
    });
    await Promise.all(lookers);
    if (this.#stopped) return;
    const nextMs = this.#untilNextLook();
    this.#dueMs = this.#deps.clock.monotonic() + nextMs;
    await this.#lead(nextMs);
    // While the store is away nothing is published: then each process looks itself.
    await share.publish({ v: 1, exchangers: [...run.exchangers], reports: this.reports() }).catch(() => {});
  }

  async #checkRoute(run: PreflightRun, way: EgressRoute): Promise<void> {
    const before = this.#reports.get(way.name) ?? null;
    const seen = await run.checkRoute(way, before?.addresses ?? []);
    if (this.#stopped) return;
    this.#keep(withHistory(seen, before, this.#deps.everyMs));
    this.#publishUpdate();
  }

  #keep(report: RouteReport): void {
    const before = this.#reports.get(report.way) ?? null;
    this.#reports.set(report.way, report);
    this.#reportedMs = this.#deps.clock.monotonic();
    this.#deps.onReport(report, before);
  }

  #publishUpdate(): void {
    const news = updateOf(this.reports());
    if (JSON.stringify(news) === this.#published) return;
    this.#published = JSON.stringify(news);
    this.#deps.onUpdate(news);
  }

  /** Sooner, a few times, where the state of something serious could not be found out. */
  #untilNextLook(): number {
    const unsure = this.reports().some(({ findings }) => findings.some(({ again }) => again === true));
    this.#soonCount = unsure ? this.#soonCount + 1 : 0;
    const { everyMs } = this.#deps;
    return this.#spread(unsure && this.#soonCount <= againTimes ? Math.min(againMs, everyMs) : everyMs);
  }

  /** Until its own look is due, or others may have found something. */
  #untilNextRound(): number {
    const theirsMs = this.#reports.size === 0 ? followFirstMs : followMs;
    const othersMs = this.#spread(Math.min(this.#deps.everyMs, theirsMs));
    const ownMs = this.#dueMs - this.#deps.clock.monotonic();
    return ownMs > 0 ? Math.min(ownMs, othersMs) : othersMs;
  }

  #spread(ms: number): number {
    return ms * (1 - jitter + 2 * jitter * this.#deps.random());
  }
}

export function createSelfCheckWatch(deps: SelfCheckWatchDeps): SelfCheckWatch {
  return new RepeatedSelfCheck(deps);
}

function updateOf(reports: readonly RouteReport[]): SelfCheckUpdate {
  const seen = reports.flatMap(({ way, address }): [string, string][] =>
    address === null ? [] : [[way, address]],
  );
  return {
    distrusted: reports.filter(({ trusted }) => !trusted).map(({ way }) => way),
    seenAs: Object.fromEntries(seen),
  };
}
