import type { Clock, Timer } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Path } from "../../smtp/path.ts";
import type { Exchanger } from "./exchangers.ts";
import type { PreflightRun } from "./preflight.ts";
import type { HouseNews, WayReport } from "./report.ts";

/**
 * Looks at our own house again and again, way by way, for as long as the process probes. What it finds goes to the
 * check threads: what RCPT is answered by a way that is not in order condemns nobody.
 */
export interface HouseWatch {
  /** The first look begins at once; nobody waits for it. */
  start(): void;
  stop(): void;
  /** The last report of each way, in the order of the ways; none before its first look has ended. */
  reports(): WayReport[];
}

export interface HouseWatchDeps {
  clock: Clock;
  /** Milliseconds between two looks, more or less by LIMITS.house.jitter of it. */
  everyMs: number;
  /** 0 to 1. */
  random(): number;
  ways: readonly Path[];
  begin(): Promise<PreflightRun>;
  onExchangers(exchangers: readonly Exchanger[]): void;
  /** @param before the report of the look before; null: this is the first */
  onReport(report: WayReport, before: WayReport | null): void;
  /** Told whenever it changes. */
  onNews(news: HouseNews): void;
  /** A fault of ours; the report before goes on to count. */
  onError(error: unknown): void;
}

export function createHouseWatch(deps: HouseWatchDeps): HouseWatch {
  const { clock, everyMs, ways } = deps;
  const reports = new Map<string, WayReport>();
  let told = JSON.stringify(newsOf([]));
  let timer: Timer | null = null;
  let stopped = false;

  function note(report: WayReport): void {
    if (stopped) return;
    const before = reports.get(report.way) ?? null;
    reports.set(report.way, report);
    deps.onReport(report, before);
    const news = newsOf(inOrder());
    if (JSON.stringify(news) === told) return;
    told = JSON.stringify(news);
    deps.onNews(news);
  }

  const inOrder = () => ways.flatMap(({ name }) => reports.get(name) ?? []);

  async function look(): Promise<void> {
    try {
      const run = await deps.begin();
      if (stopped) return;
      deps.onExchangers(run.exchangers);
      const left = [...ways];
      const lookers = Array.from({ length: Math.min(LIMITS.house.waysAtOnce, ways.length) }, async () => {
        for (let way = left.shift(); way !== undefined && !stopped; way = left.shift())
          note(await run.look(way));
      });
      await Promise.all(lookers);
    } catch (error) {
      deps.onError(error);
    }
    if (stopped) return;
    const { jitter } = LIMITS.house;
    timer = clock.after(everyMs * (1 - jitter + 2 * jitter * deps.random()), () => void look());
  }

  return {
    start: () => void look(),
    stop() {
      stopped = true;
      timer?.cancel();
    },
    reports: inOrder,
  };
}

function newsOf(reports: readonly WayReport[]): HouseNews {
  const seen = reports.flatMap(({ way, address }): [string, string][] =>
    address === null ? [] : [[way, address]],
  );
  return {
    distrusted: reports.filter(({ trusted }) => !trusted).map(({ way }) => way),
    seenAs: Object.fromEntries(seen),
  };
}
