import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { type BehaviourEvent, KnownBehaviours, type KnownBehavioursDeps } from "./known-behaviours.ts";
import type {
  BehaviourUpdate,
  LearnedBehaviour,
  PostmasterAnswer,
  RefusalRuling,
  RefusedAddress,
} from "./messages.ts";
import { AcceptedProbeTally, RefusalRun } from "./tallies.ts";

/**
 * Learns which sites give answers at RCPT that prove nothing.
 *
 * - `accepts_all`: catch-all probes at domains of LIMITS.learnedBehaviour.catchAllProbeDomains registrants were all accepted.
 * - `refuses_all`: so many addresses in a row were refused as unknown that chance is unlikely. Then `postmaster`, which every
 *   domain has to accept (RFC 5321 §4.5.1), is asked at LIMITS.learnedBehaviour.controls domains as a control. Refusals wait
 *   for the result, so that they make no address invalid. One accepted address shows that the site is honest.
 *
 * The owner of a domain decides on its answers, wherever it is hosted. Hence registrants are counted, never domains, and the
 * domains asked are drawn at random. For the site of a named provider nothing is learned: only our operator is notified.
 *
 * Learned behaviour is dropped at the first evidence against it, and then not learned again for
 * LIMITS.learnedBehaviour.controlEveryMs; else after LIMITS.learnedBehaviour.heldMs. Processes of an egress share it, while
 * the store can be reached; each process has its own counts.
 */
export interface BehaviourAuthority {
  onRefused(site: string, sightings: readonly RefusedAddress[]): RefusalRuling | Promise<RefusalRuling>;
  /** A control has ended; the next one, if any, is whose this one was. */
  onControlAnswered(site: string, answer: PostmasterAnswer): RefusalRuling;
  /** The check that was to ask the control has ended. */
  onControlAbandoned(site: string): void;
  onAccepted(site: string, domain: string): void;
  /** An address was refused there as unknown, perhaps without a `refused` report. */
  noteRefusal(site: string): void;
  /** A catch-all probe at a domain was answered. */
  onCatchAllProbe(site: string, domain: string, accepted: boolean): void;
  behaviourOf(site: string): LearnedBehaviour | null;
  /** Sites that something is known of. */
  readonly size: number;
  /** Sites by habit. */
  counts(): Record<LearnedBehaviour, number>;
  /** Calls back with all learned behaviour, and then with each change. @returns a function that ends it */
  attach(send: (news: BehaviourUpdate) => void): () => void;
  start(): void;
  stop(): void;
}

/** Evidence that would make learned behaviour, if the site were not a named provider's. */
export interface BehaviourSuspicion extends Pick<BehaviourEvent, "habit" | "basis"> {
  provider: string;
}

export interface BehaviourAuthorityDeps extends Omit<KnownBehavioursDeps, "forget"> {
  /** 0 to 1. */
  random(): number;
  /** Called at most once in LIMITS.learnedBehaviour.heldMs for a provider and habit. */
  onSuspect(suspicion: BehaviourSuspicion): void;
}

const BELIEVED: RefusalRuling = { kind: "believed" };
const REFUSES_ALL: RefusalRuling = { kind: "refuses_all" };

const { sites, heldMs, controlEveryMs, silenceRestMs, catchAllProbeKeptMs } = LIMITS.learnedBehaviour;

class SiteBehaviourAuthority implements BehaviourAuthority {
  readonly #deps: BehaviourAuthorityDeps;
  readonly #clock: Clock;
  readonly #known: KnownBehaviours;
  /** Sites whose control is in progress: they are not evicted. */
  readonly #controlling = new Map<string, RefusalRun>();
  readonly #runs = new LRUCache<string, RefusalRun>({ max: sites });
  readonly #catchAllTallies = new LRUCache<string, AcceptedProbeTally>({ max: sites });
  /** Domain of the last accepted address, and `Clock.monotonic` of it. */
  readonly #accepting = new LRUCache<string, { domain: string; atMs: number }>({ max: sites });
  readonly #suspectedAt = new LRUCache<string, number>({ max: sites });

  constructor(deps: BehaviourAuthorityDeps) {
    this.#deps = deps;
    this.#clock = deps.clock;
    const forget = {
      refusals: (site: string) => this.#runs.delete(site),
      acceptedProbes: (site: string) => this.#catchAllTallies.delete(site),
    };
    this.#known = new KnownBehaviours({ ...deps, forget });
  }

  behaviourOf(site: string): LearnedBehaviour | null {
    return this.#known.of(site);
  }

  get size(): number {
    return this.#known.size;
  }

  counts(): Record<LearnedBehaviour, number> {
    return this.#known.counts();
  }

  attach(send: (news: BehaviourUpdate) => void): () => void {
    return this.#known.attach(send);
  }

  start(): void {
    this.#known.start();
  }

  stop(): void {
    this.#known.stop();
  }

  noteRefusal(site: string): void {
    this.#catchAllTallies.delete(site);
    if (this.#known.of(site) === "accepts_all") this.#known.learn(site, null, 1);
  }

  onRefused(site: string, sightings: readonly RefusedAddress[]): RefusalRuling | Promise<RefusalRuling> {
    this.noteRefusal(site);
    if (this.#known.of(site) === "refuses_all") return REFUSES_ALL;
    const run = this.#controlling.get(site) ?? this.#runs.get(site) ?? new RefusalRun();
    this.#runs.set(site, run);
    const nowMs = this.#clock.monotonic();
    run.add(sightings, nowMs);
    const { waiting } = run;
    if (waiting !== null) return new Promise((resolve) => waiting.push(resolve));
    if (!run.isSuspicious || nowMs < run.pausedUntil || this.#known.isFallen(site)) return BELIEVED;
    return this.#control(site, run) ?? BELIEVED;
  }

  #control(site: string, run: RefusalRun): RefusalRuling | null {
    const domain = run.nextControl(this.#acceptingDomain(site), this.#deps.random);
    if (domain === null) return null;
    run.waiting ??= [];
    this.#controlling.set(site, run);
    return { kind: "control", domain };
  }

  /** Domain of the last accepted address, if it is recent; else null. */
  #acceptingDomain(site: string): string | null {
    const last = this.#accepting.get(site);
    return last !== undefined && this.#clock.monotonic() - last.atMs <= catchAllProbeKeptMs
      ? last.domain
      : null;
  }

  onControlAnswered(site: string, answer: PostmasterAnswer): RefusalRuling {
    const run = this.#controlling.get(site);
    if (run === undefined) return BELIEVED;
    const nowMs = this.#clock.monotonic();
    if (answer === "accepted" || run.acceptedMeanwhile) {
      this.#rest(site, nowMs + controlEveryMs);
      return this.#conclude(site, run, BELIEVED);
    }
    if (run.recordControl(answer)) {
      const formed = this.#form(site, "refuses_all", run.addresses);
      if (!formed) this.#rest(site, nowMs + controlEveryMs);
      return this.#conclude(site, run, formed ? REFUSES_ALL : BELIEVED);
    }
    const next = this.#control(site, run);
    if (next !== null) return next;
    // Too few postmasters answered. The counts are kept: they are soon asked again.
    run.pausedUntil = nowMs + silenceRestMs;
    return this.#conclude(site, run, BELIEVED);
  }

  onControlAbandoned(site: string): void {
    const run = this.#controlling.get(site);
    if (run !== undefined) this.#conclude(site, run, BELIEVED);
  }

  #conclude(site: string, run: RefusalRun, ruling: RefusalRuling): RefusalRuling {
    this.#controlling.delete(site);
    const { waiting } = run;
    run.forgetControls();
    for (const resolve of waiting ?? []) resolve(ruling);
    return ruling;
  }

  /** Drops the counts. Until `restsUntil` no postmaster is asked. */
  #rest(site: string, restsUntil: number): void {
    const fresh = new RefusalRun();
    fresh.pausedUntil = restsUntil;
    this.#runs.set(site, fresh);
  }

  onAccepted(site: string, domain: string): void {
    const nowMs = this.#clock.monotonic();
    this.#accepting.set(site, { domain, atMs: nowMs });
    const run = this.#controlling.get(site);
    if (run !== undefined) run.acceptedMeanwhile = true;
    const restsUntil = this.#runs.get(site)?.pausedUntil ?? Number.NEGATIVE_INFINITY;
    if (restsUntil > nowMs) this.#rest(site, restsUntil);
    else this.#runs.delete(site);
    if (this.#known.of(site) === "refuses_all") this.#known.learn(site, null, 1);
  }

  onCatchAllProbe(site: string, domain: string, accepted: boolean): void {
    if (!accepted) {
      this.noteRefusal(site);
      return;
    }
    const tally = this.#catchAllTallies.get(site) ?? new AcceptedProbeTally();
    this.#catchAllTallies.set(site, tally);
    tally.accepted(domain, this.#clock.monotonic());
    if (this.#known.of(site) === null && tally.acceptsAll && !this.#known.isFallen(site))
      this.#form(site, "accepts_all", tally.domains);
  }

  /** @returns false: the site is a named provider's, so nothing is learned and our operator is notified */
  #form(site: string, habit: LearnedBehaviour, basis: number): boolean {
    if (!this.#deps.isProvider(site)) {
      this.#known.learn(site, habit, basis);
      return true;
    }
    const key = `${habit} ${site}`;
    const nowMs = this.#clock.monotonic();
    if (nowMs - (this.#suspectedAt.get(key) ?? Number.NEGATIVE_INFINITY) < heldMs) return false;
    this.#suspectedAt.set(key, nowMs);
    this.#deps.onSuspect({ provider: site, habit, basis });
    return false;
  }
}

export function createBehaviourAuthority(deps: BehaviourAuthorityDeps): BehaviourAuthority {
  return new SiteBehaviourAuthority(deps);
}
