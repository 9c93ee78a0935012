import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import { OpenQuestions } from "../../platform/open-questions.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type {
  BehaviourReport,
  BehaviourUpdate,
  LearnedBehaviour,
  PostmasterAnswer,
  RefusalRuling,
  RefusedAddress,
} from "./messages.ts";
import { registrantOf } from "./tallies.ts";

/** A check thread's view of the sites whose answers prove nothing, and its reports about sites. */
export interface SiteBehaviours {
  /** The learned behaviour of the site; null: its answers are believed. */
  behaviourOf(site: string): LearnedBehaviour | null;
  /**
   * True when this check must probe nevertheless, so that the end of a behaviour is noticed: one check in
   * LIMITS.learnedBehaviour.exploreEvery. At a site that refuses every address also the first check of each domain: if the
   * site refuses some domains only, addresses of the others are accepted.
   */
  shouldExplore(site: string, domain: string): boolean;
  /** An address of the domain was accepted there. */
  onAccepted(site: string, domain: string): void;
  /**
   * Reports an address that was refused as unknown. Returns a promise only if so many refusals may require asking a
   * postmaster.
   */
  onRefused(site: string, sighting: RefusedAddress): RefusalRuling | Promise<RefusalRuling>;
  /** Ends the control that was asked for, whatever happened to it. */
  onControlAnswered(site: string, domain: string, answer: PostmasterAnswer): Promise<RefusalRuling>;
}

/** The thread's end of the line. */
export interface BehaviourPort {
  report(report: BehaviourReport): void;
  /** Sends a report that no check waits for: a moment later, never behind a later report. */
  reportLater(report: BehaviourReport): void;
  listen(heard: (news: BehaviourUpdate) => void): void;
}

const BELIEVED: RefusalRuling = { kind: "believed" };

/** Refusals in a row that were not reported to the main thread; null: each one is reported. */
type Run = readonly (RefusedAddress & { atMs: number })[] | null;

const EMPTY_RUN: NonNullable<Run> = [];

/** State of a site that refused an address; `refusesAtMs` is `Clock.monotonic` of the last `refuses` report. */
interface RefusingSite {
  run: Run;
  refusesAtMs: number;
}

/** The list with one more entry, without those before `sinceMs`. Written as a loop: spread and `filter` cost 1 us more. */
function extended(
  run: NonNullable<Run>,
  { address, domain }: RefusedAddress,
  atMs: number,
  sinceMs: number,
): (RefusedAddress & { atMs: number })[] {
  const longer: (RefusedAddress & { atMs: number })[] = [];
  for (const one of run) if (one.atMs >= sinceMs) longer.push(one);
  longer.push({ address, domain, atMs });
  return longer;
}

const { quietRun, exploreEvery, exploreDomains, sites, acceptedEveryMs, runMs } = LIMITS.learnedBehaviour;

export function createSiteBehaviours(clock: Clock, port: BehaviourPort): SiteBehaviours {
  return new SiteBehaviourMirror(clock, port);
}

class SiteBehaviourMirror implements SiteBehaviours {
  readonly #clock: Clock;
  readonly #port: BehaviourPort;
  readonly #learned = new Map<string, { habit: LearnedBehaviour; checks: number; explored: Set<string> }>();
  // Only refusals fill it: with accepting sites in it too, a list of many small ones would push out each run before it is reported.
  readonly #refusing = new LRUCache<string, RefusingSite>({ max: sites });
  readonly #acceptedAt = new LRUCache<string, number>({ max: sites });
  readonly #questions = new OpenQuestions<RefusalRuling>();

  constructor(clock: Clock, port: BehaviourPort) {
    this.#clock = clock;
    this.#port = port;
    port.listen((news) => this.#onUpdate(news));
  }

  behaviourOf(site: string): LearnedBehaviour | null {
    return this.#learned.get(site)?.habit ?? null;
  }

  shouldExplore(site: string, domain: string): boolean {
    const known = this.#learned.get(site);
    if (known === undefined) return true;
    known.checks += 1;
    const registrant = registrantOf(domain);
    const { explored } = known;
    const isNew =
      known.habit === "refuses_all" && !explored.has(registrant) && explored.size < exploreDomains;
    if (isNew) explored.add(registrant);
    return isNew || known.checks % exploreEvery === 0;
  }

  onAccepted(site: string, domain: string): void {
    const known = this.#refusing.get(site);
    const doubted = known?.run === null || this.#learned.has(site);
    // Emptied rather than deleted, which would cost more than all else here where every tenth row is refused.
    if (known !== undefined) known.run = EMPTY_RUN;
    if (doubted) {
      this.#isAcceptedDue(site);
      this.#port.report({ type: "accepted", site, domain });
    } else if (this.#isAcceptedDue(site)) this.#port.reportLater({ type: "accepted", site, domain });
  }

  onRefused(site: string, sighting: RefusedAddress): RefusalRuling | Promise<RefusalRuling> {
    let known = this.#refusing.get(site);
    if (known === undefined) {
      known = { run: EMPTY_RUN, refusesAtMs: Number.NEGATIVE_INFINITY };
      this.#refusing.set(site, known);
    }
    const atMs = this.#clock.monotonic();
    const run = extended(known.run ?? EMPTY_RUN, sighting, atMs, atMs - runMs);
    if (known.run !== null && run.length < quietRun && !this.#learned.has(site)) {
      known.run = run;
      const isDue = atMs - known.refusesAtMs >= acceptedEveryMs;
      if (isDue) known.refusesAtMs = atMs;
      if (isDue) this.#port.reportLater({ type: "refuses", site });
      return BELIEVED;
    }
    known.run = null;
    const sightings = run.map(({ address, domain }) => ({ address, domain }));
    return this.#ask((id) => ({ type: "refused", id, site, sightings }));
  }

  onControlAnswered(site: string, domain: string, answer: PostmasterAnswer): Promise<RefusalRuling> {
    return this.#ask((id) => ({ type: "controlled", id, site, domain, answer }));
  }

  #onUpdate(news: BehaviourUpdate): void {
    if (news.kind === "said") {
      this.#questions.answer(news.id, news.say);
    } else if (news.habit === null) {
      this.#learned.delete(news.site);
      this.#refusing.delete(news.site);
    } else this.#learned.set(news.site, { habit: news.habit, checks: 0, explored: new Set() });
  }

  #ask(report: (id: number) => BehaviourReport): Promise<RefusalRuling> {
    return this.#questions.ask((id) => this.#port.report(report(id)));
  }

  /** False: an accepted address was reported to the main thread a moment ago. */
  #isAcceptedDue(site: string): boolean {
    const nowMs = this.#clock.monotonic();
    if (nowMs - (this.#acceptedAt.get(site) ?? Number.NEGATIVE_INFINITY) < acceptedEveryMs) return false;
    this.#acceptedAt.set(site, nowMs);
    return true;
  }
}
