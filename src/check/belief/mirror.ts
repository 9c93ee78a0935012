import { LRUCache } from "lru-cache";
import type { Clock } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import type { BeliefNews, BeliefReport, ControlAnswer, Habit, Say, Sighting } from "./messages.ts";
import { registrantOf } from "./tallies.ts";

/** A check thread's view of the sites that cannot be believed, and what it tells of what it sees. */
export interface Beliefs {
  /** What was learnt of the site; null: it is believed. */
  habitOf(site: string): Habit | null;
  /**
   * Whether this check asks all the same, so that a habit that ends is noticed: one in LIMITS.belief.exploreEvery. Of a site
   * that refuses everybody also the first at each domain: were it the domains of some that it refuses, the others are heard.
   */
  explores(site: string, domain: string): boolean;
  /** Somebody of the domain was accepted there. */
  accepted(site: string, domain: string): void;
  /** Somebody was refused there as unknown. A promise only while so many are that a postmaster may have to be asked. */
  refused(site: string, sighting: Sighting): Say | Promise<Say>;
  /** Ends the control that was asked for, whatever happened to it. */
  controlled(site: string, domain: string, answer: ControlAnswer): Promise<Say>;
}

/** The thread's end of the line. */
export interface BeliefLine {
  report(report: BeliefReport): void;
  /** The same of what nobody waits for: a moment later, never behind a later report. */
  note(report: BeliefReport): void;
  listen(heard: (news: BeliefNews) => void): void;
}

const BELIEVED: Say = { kind: "believed" };

/** Refusals in a row that the main thread was not told of; null: it is told of each. */
type Run = readonly (Sighting & { atMs: number })[] | null;

const NOBODY: NonNullable<Run> = [];

/** What is known of a site that refused somebody; `Clock.monotonic` of when the main thread was told so last. */
interface Refusing {
  run: Run;
  refusesAtMs: number;
}

/** With one more, and without those from before `sinceMs`. Written out: spread and `filter` cost 1 us more. */
function extended(
  run: NonNullable<Run>,
  { address, domain }: Sighting,
  atMs: number,
  sinceMs: number,
): (Sighting & { atMs: number })[] {
  const longer: (Sighting & { atMs: number })[] = [];
  for (const one of run) if (one.atMs >= sinceMs) longer.push(one);
  longer.push({ address, domain, atMs });
  return longer;
}

export function createBeliefs(clock: Clock, line: BeliefLine): Beliefs {
  const { quietRun, exploreEvery, exploreDomains, sites, acceptedEveryMs, runMs } = LIMITS.belief;
  const habits = new Map<string, { habit: Habit; checks: number; explored: Set<string> }>();
  // Only refusals fill it: were accepting sites in it too, a list of many small ones would push out each run before it is told of.
  const refusing = new LRUCache<string, Refusing>({ max: sites });
  const acceptedAt = new LRUCache<string, number>({ max: sites });
  const asking = new Map<number, (say: Say) => void>();
  let nextId = 0;

  line.listen((news) => {
    if (news.kind === "said") {
      asking.get(news.id)?.(news.say);
      asking.delete(news.id);
    } else if (news.habit === null) {
      habits.delete(news.site);
      refusing.delete(news.site);
    } else habits.set(news.site, { habit: news.habit, checks: 0, explored: new Set() });
  });

  function answered(report: (id: number) => BeliefReport): Promise<Say> {
    const id = nextId++;
    return new Promise((resolve) => {
      asking.set(id, resolve);
      line.report(report(id));
    });
  }

  /** What it has surely heard a moment ago the main thread is not told again. */
  function isAcceptedDue(site: string): boolean {
    const nowMs = clock.monotonic();
    if (nowMs - (acceptedAt.get(site) ?? Number.NEGATIVE_INFINITY) < acceptedEveryMs) return false;
    acceptedAt.set(site, nowMs);
    return true;
  }

  return {
    habitOf: (site) => habits.get(site)?.habit ?? null,
    explores(site, domain) {
      const known = habits.get(site);
      if (known === undefined) return true;
      known.checks += 1;
      const registrant = registrantOf(domain);
      const { explored } = known;
      const isNew =
        known.habit === "refuses_all" && !explored.has(registrant) && explored.size < exploreDomains;
      if (isNew) explored.add(registrant);
      return isNew || known.checks % exploreEvery === 0;
    },
    accepted(site, domain) {
      const known = refusing.get(site);
      const doubted = known?.run === null || habits.has(site);
      // Emptied rather than deleted, which would cost more than all else here where every tenth row is refused.
      if (known !== undefined) known.run = NOBODY;
      if (doubted) {
        isAcceptedDue(site);
        line.report({ type: "accepted", site, domain });
      } else if (isAcceptedDue(site)) line.note({ type: "accepted", site, domain });
    },
    refused(site, sighting) {
      let known = refusing.get(site);
      if (known === undefined) {
        known = { run: NOBODY, refusesAtMs: Number.NEGATIVE_INFINITY };
        refusing.set(site, known);
      }
      const atMs = clock.monotonic();
      const run = extended(known.run ?? NOBODY, sighting, atMs, atMs - runMs);
      if (known.run !== null && run.length < quietRun && !habits.has(site)) {
        known.run = run;
        const isDue = atMs - known.refusesAtMs >= acceptedEveryMs;
        if (isDue) known.refusesAtMs = atMs;
        if (isDue) line.note({ type: "refuses", site });
        return BELIEVED;
      }
      known.run = null;
      const sightings = run.map(({ address, domain }) => ({ address, domain }));
      return answered((id) => ({ type: "refused", id, site, sightings }));
    },
    controlled: (site, domain, answer) =>
      answered((id) => ({ type: "controlled", id, site, domain, answer })),
  };
}
