import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import type { Clock, Timer } from "../../platform/time/clock.ts";
import type {
  BehaviourUpdate,
  LearnedBehaviour,
  PostmasterAnswer,
  RefusalRuling,
  RefusedAddress,
} from "./messages.ts";
import { AcceptedProbeTally, RefusalRun } from "./tallies.ts";

/**
 * Which sites cannot be believed at RCPT, learnt from what they answer.
 *
 * - `accepts_all`: strangers of LIMITS.learnedBehaviour.strangerDomains registrants were accepted there, and nobody was refused.
 * - `refuses_all`: so many were refused as unknown in a row that it may be no chance. Then a question is put that has to
 *   be answered well, `postmaster` (RFC 5321 §4.5.1), at LIMITS.learnedBehaviour.controls domains, while those who are refused
 *   meanwhile wait for the answer: nobody is condemned by a site that is being found out. One acceptance, of anybody, and
 *   the site is honest.
 *
 * Whoever owns domains can make them answer as he likes, wherever they are hosted. Hence registrants are counted, never
 * domains; the domains asked are drawn; and of a named provider nothing is believed, its operator is told.
 *
 * A belief ends with the first evidence against it, after which none forms for LIMITS.learnedBehaviour.controlEveryMs, and after
 * LIMITS.learnedBehaviour.heldMs. Processes of an egress share theirs, as far as the store can be reached; what they rest on stays
 * in each.
 */
export interface BehaviourAuthority {
  onRefused(site: string, sightings: readonly RefusedAddress[]): RefusalRuling | Promise<RefusalRuling>;
  /** A control has ended; the next one, if any, is whose this one was. */
  onControlAnswered(site: string, answer: PostmasterAnswer): RefusalRuling;
  /** Whoever was to ask the control is gone. */
  onControlAbandoned(site: string): void;
  onAccepted(site: string, domain: string): void;
  /** Somebody was refused there as unknown, of whom `refused` may not tell. */
  noteRefusal(site: string): void;
  /** A stranger of a domain was answered about. */
  onCatchAllProbe(site: string, domain: string, accepted: boolean): void;
  behaviourOf(site: string): LearnedBehaviour | null;
  /** Sites that something is known of. */
  readonly size: number;
  /** Sites by habit. */
  counts(): Record<LearnedBehaviour, number>;
  /** Calls back with each belief there is, and with each that forms or falls. @returns ends it */
  attach(send: (news: BehaviourUpdate) => void): () => void;
  start(): void;
  stop(): void;
}

/** A belief, or that one fell, as processes tell each other. Epoch milliseconds. */
export interface SharedBehaviour {
  site: string;
  habit: LearnedBehaviour | null;
  sinceMs: number;
  untilMs: number;
}

export interface BehaviourStore {
  /** All that are not over. Rejects when the store does not answer. */
  load(): Promise<SharedBehaviour[]>;
  put(belief: SharedBehaviour): Promise<void>;
}

export interface BehaviourEvent {
  site: string;
  habit: LearnedBehaviour;
  /** false: it fell. */
  isLearned: boolean;
  /** Addresses, or domains of strangers, that it rests on; 0: another process knows. */
  basis: number;
}

/** A named provider has all that makes a habit, were it anybody else. */
export interface BehaviourSuspicion extends Pick<BehaviourEvent, "habit" | "basis"> {
  provider: string;
}

export interface BehaviourAuthorityDeps {
  clock: Clock;
  log: Logger;
  store: BehaviourStore;
  /** Whether a site is a provider with a name. */
  isProvider(site: string): boolean;
  /** 0 to 1. */
  random(): number;
  /** At most once in LIMITS.learnedBehaviour.heldMs for a provider and habit. */
  onSuspect(suspicion: BehaviourSuspicion): void;
  onChange(event: BehaviourEvent): void;
}

const BELIEVED: RefusalRuling = { kind: "believed" };
const REFUSES_ALL: RefusalRuling = { kind: "refuses_all" };

export function createBehaviourAuthority(deps: BehaviourAuthorityDeps): BehaviourAuthority {
  const { clock, log, store } = deps;
  const {
    sites,
    behaviours: beliefsMax,
    heldMs,
    controlEveryMs,
    silenceRestMs,
    syncEveryMs,
  } = LIMITS.learnedBehaviour;
  const beliefs = new Map<string, SharedBehaviour>();
  /** A site whose control is under way stays until it has ended. */
  const controlling = new Map<string, RefusalRun>();
  const runs = new LRUCache<string, RefusalRun>({ max: sites });
  const catchAllTallies = new LRUCache<string, AcceptedProbeTally>({ max: sites });
  /** Where somebody was accepted last, and `Clock.monotonic` of it. */
  const accepting = new LRUCache<string, { domain: string; atMs: number }>({ max: sites });
  /** `Clock.monotonic` until when no belief forms, since one fell. */
  const fallen = new LRUCache<string, number>({ max: sites });
  const suspectedAt = new LRUCache<string, number>({ max: sites });
  const listeners = new Set<(news: BehaviourUpdate) => void>();
  let timer: Timer | null = null;

  function habitOf(site: string): LearnedBehaviour | null {
    const known = beliefs.get(site);
    return known !== undefined && known.untilMs > clock.now() ? known.habit : null;
  }

  function set(belief: SharedBehaviour, basis: number): void {
    const { site, habit } = belief;
    const before = habitOf(site);
    beliefs.delete(site);
    beliefs.set(site, belief);
    if (beliefs.size > beliefsMax) for (const oldest of [...beliefs.keys()].slice(0, 1)) end(oldest);
    if (before === habit) return;
    runs.delete(site);
    if (habit === null) {
      catchAllTallies.delete(site);
      fallen.set(site, clock.monotonic() + controlEveryMs);
    }
    for (const send of listeners) send({ kind: "habit", site, habit });
    if (before !== null) deps.onChange({ site, habit: before, isLearned: false, basis });
    if (habit !== null) deps.onChange({ site, habit, isLearned: true, basis });
  }

  /** Over, or no room for it: nobody else is told. */
  function end(site: string): void {
    const habit = beliefs.get(site)?.habit ?? null;
    beliefs.delete(site);
    catchAllTallies.delete(site);
    if (habit === null) return;
    for (const send of listeners) send({ kind: "habit", site, habit: null });
    deps.onChange({ site, habit, isLearned: false, basis: 0 });
  }

  function learn(site: string, habit: LearnedBehaviour | null, basis: number): void {
    const sinceMs = clock.now();
    const belief = { site, habit, sinceMs, untilMs: sinceMs + heldMs };
    set(belief, basis);
    store.put(belief).catch((error: unknown) => log.debug({ err: error }, "a belief could not be shared"));
  }

  /** @returns false: it is a named provider's, whose operator is told instead */
  function form(site: string, habit: LearnedBehaviour, basis: number): boolean {
    if (!deps.isProvider(site)) {
      learn(site, habit, basis);
      return true;
    }
    const key = `${habit} ${site}`;
    const nowMs = clock.monotonic();
    if (nowMs - (suspectedAt.get(key) ?? Number.NEGATIVE_INFINITY) < heldMs) return false;
    suspectedAt.set(key, nowMs);
    deps.onSuspect({ provider: site, habit, basis });
    return false;
  }

  function isFallen(site: string): boolean {
    return (fallen.get(site) ?? Number.NEGATIVE_INFINITY) > clock.monotonic();
  }

  /** Where somebody was accepted of late. */
  function acceptingDomain(site: string): string | null {
    const known = accepting.get(site);
    return known !== undefined &&
      clock.monotonic() - known.atMs <= LIMITS.learnedBehaviour.catchAllProbeKeptMs
      ? known.domain
      : null;
  }

  function control(site: string, run: RefusalRun): RefusalRuling | null {
    const domain = run.nextControl(acceptingDomain(site), deps.random);
    if (domain === null) return null;
    run.waiting ??= [];
    controlling.set(site, run);
    return { kind: "control", domain };
  }

  function conclude(site: string, run: RefusalRun, say: RefusalRuling): RefusalRuling {
    controlling.delete(site);
    const { waiting } = run;
    run.forgetControls();
    for (const resolve of waiting ?? []) resolve(say);
    return say;
  }

  function refuses(site: string): void {
    catchAllTallies.delete(site);
    if (habitOf(site) === "accepts_all") learn(site, null, 1);
  }

  /** What was counted counts no more, and until then no postmaster is asked. */
  function rest(site: string, restsUntil: number): void {
    const fresh = new RefusalRun();
    fresh.pausedUntil = restsUntil;
    runs.set(site, fresh);
  }

  function isNews({ site, habit, sinceMs }: SharedBehaviour): boolean {
    if (habit !== null && (deps.isProvider(site) || isFallen(site))) return false;
    return sinceMs > (beliefs.get(site)?.sinceMs ?? Number.NEGATIVE_INFINITY);
  }

  async function sync(): Promise<void> {
    for (const [site, { untilMs }] of beliefs) if (untilMs <= clock.now()) end(site);
    try {
      for (const theirs of await store.load()) if (isNews(theirs)) set(theirs, 0);
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
    behaviourOf: habitOf,
    noteRefusal: refuses,
    onRefused(site, sightings) {
      refuses(site);
      if (habitOf(site) === "refuses_all") return REFUSES_ALL;
      const run = controlling.get(site) ?? runs.get(site) ?? new RefusalRun();
      runs.set(site, run);
      run.add(sightings, clock.monotonic());
      const { waiting } = run;
      if (waiting !== null) return new Promise((resolve) => waiting.push(resolve));
      if (!run.isSuspicious || clock.monotonic() < run.pausedUntil || isFallen(site)) return BELIEVED;
      return control(site, run) ?? BELIEVED;
    },
    onControlAnswered(site, answer) {
      const run = controlling.get(site);
      if (run === undefined) return BELIEVED;
      const nowMs = clock.monotonic();
      if (answer === "accepted" || run.acceptedMeanwhile) {
        rest(site, nowMs + controlEveryMs);
        return conclude(site, run, BELIEVED);
      }
      if (run.recordControl(answer)) {
        const formed = form(site, "refuses_all", run.addresses);
        if (!formed) rest(site, nowMs + controlEveryMs);
        return conclude(site, run, formed ? REFUSES_ALL : BELIEVED);
      }
      const next = control(site, run);
      if (next !== null) return next;
      // Too few of them spoke. What was counted still counts: they are soon asked again.
      run.pausedUntil = nowMs + silenceRestMs;
      return conclude(site, run, BELIEVED);
    },
    onControlAbandoned(site) {
      const run = controlling.get(site);
      if (run !== undefined) conclude(site, run, BELIEVED);
    },
    onAccepted(site, domain) {
      accepting.set(site, { domain, atMs: clock.monotonic() });
      const run = controlling.get(site);
      if (run !== undefined) run.acceptedMeanwhile = true;
      const restsUntil = runs.get(site)?.pausedUntil ?? Number.NEGATIVE_INFINITY;
      if (restsUntil > clock.monotonic()) rest(site, restsUntil);
      else runs.delete(site);
      if (habitOf(site) === "refuses_all") learn(site, null, 1);
    },
    onCatchAllProbe(site, domain, accepted) {
      if (!accepted) return refuses(site);
      const tally = catchAllTallies.get(site) ?? new AcceptedProbeTally();
      catchAllTallies.set(site, tally);
      tally.accepted(domain, clock.monotonic());
      if (habitOf(site) === null && tally.acceptsAll && !isFallen(site))
        form(site, "accepts_all", tally.domains);
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
