import { LRUCache } from "lru-cache";
import type { Clock } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import type { BeliefNews, BeliefReport, ControlAnswer, Habit, Say, Sighting } from "./messages.ts";

/** A check thread's view of the sites that cannot be believed, and what it tells of what it sees. */
export interface Beliefs {
  /** What was learnt of the site; null: it is believed. */
  habitOf(site: string): Habit | null;
  /** Whether this check asks all the same: one in LIMITS.belief.exploreEvery, so that a habit that ends is noticed. */
  explores(site: string): boolean;
  /** Somebody was accepted there. */
  accepted(site: string): void;
  /** Somebody was refused there as unknown. Waits for others only while a postmaster is being asked. */
  refused(site: string, sighting: Sighting): Promise<Say>;
  /** Ends the control that was asked for, whatever happened to it. */
  controlled(site: string, domain: string, answer: ControlAnswer): Promise<Say>;
}

/** The thread's end of the line. */
export interface BeliefLine {
  report(report: BeliefReport): void;
  listen(heard: (news: BeliefNews) => void): void;
}

const BELIEVED: Say = { kind: "believed" };

/** Refusals in a row that the main thread was not told of; null: it is told of each. */
type Run = Sighting[] | null;

export function createBeliefs(clock: Clock, line: BeliefLine): Beliefs {
  const { quietRun, exploreEvery, sites, acceptedEveryMs } = LIMITS.belief;
  const habits = new Map<string, { habit: Habit; checks: number }>();
  const runs = new LRUCache<string, { run: Run }>({ max: sites });
  const acceptedAt = new LRUCache<string, number>({ max: sites });
  const asking = new Map<number, (say: Say) => void>();
  let nextId = 0;

  line.listen((news) => {
    if (news.kind === "said") {
      asking.get(news.id)?.(news.say);
      asking.delete(news.id);
    } else if (news.habit === null) {
      habits.delete(news.site);
      runs.delete(news.site);
    } else habits.set(news.site, { habit: news.habit, checks: 0 });
  });

  function answered(report: (id: number) => BeliefReport): Promise<Say> {
    const id = nextId++;
    return new Promise((resolve) => {
      asking.set(id, resolve);
      line.report(report(id));
    });
  }

  return {
    habitOf: (site) => habits.get(site)?.habit ?? null,
    explores(site) {
      const known = habits.get(site);
      if (known === undefined) return true;
      known.checks += 1;
      return known.checks % exploreEvery === 0;
    },
    accepted(site) {
      const nowMs = clock.monotonic();
      const doubted = habits.has(site) || runs.get(site)?.run === null;
      runs.delete(site);
      if (!doubted && nowMs - (acceptedAt.get(site) ?? Number.NEGATIVE_INFINITY) < acceptedEveryMs) return;
      acceptedAt.set(site, nowMs);
      line.report({ type: "accepted", site });
    },
    async refused(site, sighting) {
      const known = runs.get(site) ?? { run: [] };
      runs.set(site, known);
      const sightings = [...(known.run ?? []), sighting];
      if (known.run !== null && sightings.length < quietRun && !habits.has(site)) {
        known.run = sightings;
        return BELIEVED;
      }
      known.run = null;
      return answered((id) => ({ type: "refused", id, site, sightings }));
    },
    controlled: (site, domain, answer) =>
      answered((id) => ({ type: "controlled", id, site, domain, answer })),
  };
}
