import { LRUCache } from "lru-cache";
import type { Clock, Timer } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Logger } from "../../core/log.ts";
import type { BeliefNews, ControlAnswer, Habit, Say, Sighting } from "./messages.ts";
import { RefusalRun, StrangerTally } from "./tallies.ts";

/**
 * Which sites cannot be believed at RCPT, learnt from what they answer.
 *
 * - `accepts_all`: strangers of LIMITS.belief.strangerDomains domains were asked there, and nearly all were accepted.
 * - `refuses_all`: so many were refused as unknown in a row that it may be no chance. Then a question is put that has to
 *   be answered well, `postmaster` (RFC 5321 §4.5.1), at up to LIMITS.belief.controls domains, while those who are refused
 *   meanwhile wait for the answer: nobody is condemned by a site that is being found out. One acceptance, of anybody, and
 *   the site is honest.
 *
 * A belief ends with the first evidence against it, and after LIMITS.belief.heldMs. Processes of an egress share theirs,
 * as far as the store can be reached; what they rest on stays in each.
 */
export interface BeliefAuthority {
  refused(site: string, sightings: readonly Sighting[]): Say | Promise<Say>;
  /** @param domain of the control that ended; the next one, if any, is whose this one was */
  controlled(site: string, domain: string, answer: ControlAnswer): Say;
  /** Whoever was to ask the control is gone. */
  abandoned(site: string): void;
  accepted(site: string): void;
  /** A stranger of a domain was answered about. */
  stranger(site: string, domain: string, accepted: boolean): void;
  habitOf(site: string): Habit | null;
  /** Sites that something is known of. */
  readonly size: number;
  /** Sites by habit. */
  counts(): Record<Habit, number>;
  /** Calls back with each belief there is, and with each that forms or falls. @returns ends it */
  attach(send: (news: BeliefNews) => void): () => void;
  start(): void;
  stop(): void;
}

/** A belief, or that one fell, as processes tell each other. Epoch milliseconds. */
export interface SharedBelief {
  site: string;
  habit: Habit | null;
  sinceMs: number;
  untilMs: number;
}

export interface BeliefStore {
  /** All that are not over. Rejects when the store does not answer. */
  load(): Promise<SharedBelief[]>;
  put(belief: SharedBelief): Promise<void>;
}

export interface BeliefEvent {
  site: string;
  habit: Habit;
  /** false: it fell. */
  formed: boolean;
  /** Addresses, or domains of strangers, that it rests on; 0: another process knows. */
  basis: number;
}

export interface BeliefAuthorityDeps {
  clock: Clock;
  log: Logger;
  store: BeliefStore;
  onChange(event: BeliefEvent): void;
}

const BELIEVED: Say = { kind: "believed" };
const REFUSES_ALL: Say = { kind: "refuses_all" };

export function createBeliefAuthority(deps: BeliefAuthorityDeps): BeliefAuthority {
  const { clock, log, store } = deps;
  const { sites, beliefs: beliefsMax, heldMs, controlEveryMs, syncEveryMs } = LIMITS.belief;
  const beliefs = new Map<string, SharedBelief>();
  /** A site whose control is under way stays until it has ended. */
  const controlling = new Map<string, RefusalRun>();
  const runs = new LRUCache<string, RefusalRun>({ max: sites });
  const strangers = new LRUCache<string, StrangerTally>({ max: sites });
  const listeners = new Set<(news: BeliefNews) => void>();
  let timer: Timer | null = null;

  function habitOf(site: string): Habit | null {
    const known = beliefs.get(site);
    return known !== undefined && known.untilMs > clock.now() ? known.habit : null;
  }

  function set(belief: SharedBelief, basis: number): void {
    const { site, habit } = belief;
    const before = habitOf(site);
    beliefs.delete(site);
    beliefs.set(site, belief);
    if (beliefs.size > beliefsMax) for (const oldest of [...beliefs.keys()].slice(0, 1)) end(oldest);
    if (before === habit) return;
    runs.delete(site);
    if (habit === null) strangers.delete(site);
    for (const send of listeners) send({ kind: "habit", site, habit });
    if (before !== null) deps.onChange({ site, habit: before, formed: false, basis });
    if (habit !== null) deps.onChange({ site, habit, formed: true, basis });
  }

  /** Over, or no room for it: nobody else is told. */
  function end(site: string): void {
    const habit = beliefs.get(site)?.habit ?? null;
    beliefs.delete(site);
    strangers.delete(site);
    if (habit === null) return;
    for (const send of listeners) send({ kind: "habit", site, habit: null });
    deps.onChange({ site, habit, formed: false, basis: 0 });
  }

  function learn(site: string, habit: Habit | null, basis: number): void {
    const sinceMs = clock.now();
    const belief = { site, habit, sinceMs, untilMs: sinceMs + heldMs };
    set(belief, basis);
    store.put(belief).catch((error: unknown) => log.debug({ err: error }, "a belief could not be shared"));
  }

  function control(site: string, run: RefusalRun): Say {
    const domain = run.nextControl();
    if (domain === null) return BELIEVED;
    run.waiting ??= [];
    controlling.set(site, run);
    return { kind: "control", domain };
  }

  function conclude(site: string, run: RefusalRun, say: Say): Say {
    controlling.delete(site);
    for (const resolve of run.waiting ?? []) resolve(say);
    run.waiting = null;
    return say;
  }

  /** What was counted counts no more, and until then no postmaster is asked. */
  function rest(site: string, restsUntil: number): void {
    const fresh = new RefusalRun();
    fresh.restsUntil = restsUntil;
    runs.set(site, fresh);
  }

  async function sync(): Promise<void> {
    for (const [site, { untilMs }] of beliefs) if (untilMs <= clock.now()) end(site);
    try {
      for (const theirs of await store.load())
        if (theirs.sinceMs > (beliefs.get(theirs.site)?.sinceMs ?? Number.NEGATIVE_INFINITY)) set(theirs, 0);
    } catch (error) {
      log.debug({ err: error }, "beliefs of other processes could not be read");
    }
  }

  function tick(): void {
    timer = clock.after(syncEveryMs, () => {
      void sync().finally(() => timer !== null && tick());
    });
  }

  return {
    habitOf,
    refused(site, sightings) {
      if (habitOf(site) === "refuses_all") return REFUSES_ALL;
      const run = controlling.get(site) ?? runs.get(site) ?? new RefusalRun();
      runs.set(site, run);
      run.add(sightings);
      const { waiting } = run;
      if (waiting !== null) return new Promise((resolve) => waiting.push(resolve));
      if (!run.isSuspicious || clock.monotonic() < run.restsUntil) return BELIEVED;
      return control(site, run);
    },
    controlled(site, domain, answer) {
      const run = controlling.get(site);
      if (run === undefined) return BELIEVED;
      if (answer !== "refused" || run.acceptedMeanwhile) {
        rest(site, clock.monotonic() + controlEveryMs);
        return conclude(site, run, BELIEVED);
      }
      run.refusedControl(domain);
      const next = control(site, run);
      if (next.kind === "control") return next;
      learn(site, "refuses_all", run.addresses);
      return conclude(site, run, REFUSES_ALL);
    },
    abandoned(site) {
      const run = controlling.get(site);
      if (run !== undefined) conclude(site, run, BELIEVED);
    },
    accepted(site) {
      const run = controlling.get(site);
      if (run !== undefined) run.acceptedMeanwhile = true;
      const restsUntil = runs.get(site)?.restsUntil ?? Number.NEGATIVE_INFINITY;
      if (restsUntil > clock.monotonic()) rest(site, restsUntil);
      else runs.delete(site);
      if (habitOf(site) === "refuses_all") learn(site, null, 1);
    },
    stranger(site, domain, accepted) {
      const tally = strangers.get(site) ?? new StrangerTally();
      strangers.set(site, tally);
      tally.add(domain, accepted, clock.monotonic());
      const habit = habitOf(site);
      if (habit === null && tally.acceptsAll) learn(site, "accepts_all", tally.domains);
      // Who learnt it elsewhere falls with the first stranger that is refused here.
      if (habit === "accepts_all" && !accepted && !tally.acceptsAll) learn(site, null, 1);
    },
    get size() {
      return beliefs.size;
    },
    counts() {
      const counts = { accepts_all: 0, refuses_all: 0 };
      for (const site of beliefs.keys()) {
        const habit = habitOf(site);
        if (habit !== null) counts[habit] += 1;
      }
      return counts;
    },
    attach(send) {
      listeners.add(send);
      for (const site of beliefs.keys()) {
        const habit = habitOf(site);
        if (habit !== null) send({ kind: "habit", site, habit });
      }
      return () => listeners.delete(send);
    },
    start() {
      tick();
      void sync();
    },
    stop() {
      timer?.cancel();
      timer = null;
    },
  };
}
