import { LIMITS } from "../../config/limits/limits.ts";
import { OpenQuestions } from "../../platform/open-questions.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { BreakerReport, BreakerUpdate, ProbeEnd, TrialEnd } from "./messages.ts";
import { type BreakerScope, breakerKey, keyOfScope } from "./scope.ts";

/**
 * The circuit breakers as a check thread sees them. When a site's replies show that *we* are blocked, further probes make
 * it worse and say nothing about recipients. The main thread has the breakers (`authority.ts`). Here is a copy of the open
 * ones, so that a probe costs one look-up, and a message only when a trial is due.
 */
export interface Breaker {
  /**
   * True when no breaker on that route is open or watched: every probe may go, and an accepted one need not be reported.
   * Then a guard is needed only for a block.
   */
  isClear(site: string, path: string, domain: string): boolean;
  /** The same for every domain of the site. */
  isClearForSite(site: string, path: string): boolean;
  guard(target: GuardedTarget): ProbeGuard;
}

export interface GuardedTarget {
  site: string;
  provider: string | null;
  /** Domain of the checked address. */
  domain: string;
}

/** One probe, from before it starts to its end. */
export interface ProbeGuard {
  /**
   * Whether the probe may use this route. The promise: a trial is due, and the main thread decides; true makes the probe
   * the trial.
   */
  mayProbe(path: string): boolean | Promise<boolean>;
  /** `open`: no probe may use this route now; `watched`: a probe was blocked there lately. */
  stateOf(path: string): "closed" | "watched" | "open";
  /** Time until a probe that was held back may go. */
  retryAfterMs(path: string): number;
  /** `Clock.monotonic` milliseconds until which the trial has to end; no trial: infinity. */
  readonly trialUntil: number;
  /** Follows each visit once. */
  end(end: ProbeEnd): void;
}

/** The line to the main thread. */
export interface BreakerPort {
  report(report: BreakerReport): void;
  listen(listener: (news: BreakerUpdate) => void): void;
}

export interface BreakerMirrorDeps {
  clock: Clock;
  port: BreakerPort;
  /** Called when a breaker opens: probes that wait for a session there are turned back. */
  holdBack(way: BreakerScope): void;
}

interface Trial {
  path: string;
  token: string;
}

type TrialAnswer = Extract<BreakerUpdate, { kind: "trial" }>;

const NONE: readonly string[] = [];

class BreakerMirror implements Breaker {
  readonly clock: Clock;
  readonly #deps: BreakerMirrorDeps;
  /** Open breakers, and when their trial may be requested. */
  readonly #open = new Map<string, { dueAt: number }>();
  readonly #watched = new Set<string>();
  readonly #trialRequests = new OpenQuestions<TrialAnswer>();
  readonly #asking = new Set<string>();

  constructor(deps: BreakerMirrorDeps) {
    this.#deps = deps;
    this.clock = deps.clock;
    deps.port.listen((news) => this.#onUpdate(news));
  }

  isClear(site: string, path: string, domain: string): boolean {
    if (this.#open.size === 0 && this.#watched.size === 0) return true;
    const target = { site, domain, provider: null };
    return this.openKeys(target, path).length === 0 && !this.isWatched(target, path);
  }

  isClearForSite(site: string, path: string): boolean {
    const way = breakerKey(site, path);
    for (const key of [...this.#open.keys(), ...this.#watched])
      if (key === way || key.startsWith(`${way} `)) return false;
    return true;
  }

  guard(target: GuardedTarget): ProbeGuard {
    return new MirrorProbeGuard(this, target);
  }

  /** Keys of the open breakers that concern the target, the site's first. */
  openKeys({ site, domain }: GuardedTarget, path: string): readonly string[] {
    if (this.#open.size === 0) return NONE;
    return [breakerKey(site, path), breakerKey(site, path, domain)].filter((key) => this.#open.has(key));
  }

  /** Until the trial may be requested. */
  leftMs(key: string): number {
    if (this.#asking.has(key)) return LIMITS.breaker.trialWaitMs;
    return (this.#open.get(key)?.dueAt ?? 0) - this.clock.monotonic();
  }

  watch(key: string): void {
    this.#watched.add(key);
  }

  isWatched({ site, domain }: GuardedTarget, path: string): boolean {
    if (this.#watched.size === 0) return false;
    return this.#watched.has(breakerKey(site, path)) || this.#watched.has(breakerKey(site, path, domain));
  }

  report(report: BreakerReport): void {
    this.#deps.port.report(report);
  }

  /** Only one request at a time for a breaker. Other probes do not wait for the answer. */
  async requestTrial(key: string): Promise<TrialAnswer> {
    this.#asking.add(key);
    const answer = await this.#trialRequests.ask((id) => this.report({ type: "trial", id, key }));
    this.#asking.delete(key);
    return answer;
  }

  #onUpdate(news: BreakerUpdate): void {
    switch (news.kind) {
      case "open":
        this.#open.set(keyOfScope(news.way), { dueAt: this.clock.monotonic() + news.dueInMs });
        if (news.opened) this.#deps.holdBack(news.way);
        break;
      case "closed":
        this.#open.delete(keyOfScope(news.way));
        break;
      case "watched":
        this.watch(news.key);
        break;
      case "calm":
        this.#watched.delete(news.key);
        break;
      case "trial":
        this.#trialRequests.answer(news.id, news);
        break;
    }
  }

  /** The main thread's answer is valid until it reports the end of the trial. */
  postpone(key: string, dueInMs: number): void {
    const open = this.#open.get(key);
    if (open !== undefined) open.dueAt = this.clock.monotonic() + dueInMs;
  }
}

class MirrorProbeGuard implements ProbeGuard {
  trialUntil = Number.POSITIVE_INFINITY;
  readonly #mirror: BreakerMirror;
  readonly #target: GuardedTarget;
  readonly #trials = new Map<string, Trial>();

  constructor(mirror: BreakerMirror, target: GuardedTarget) {
    this.#mirror = mirror;
    this.#target = target;
  }

  stateOf(path: string): "closed" | "watched" | "open" {
    if (this.#mirror.openKeys(this.#target, path).length > 0) return "open";
    return this.#mirror.isWatched(this.#target, path) ? "watched" : "closed";
  }

  /** If the site's breaker and the domain's are both open, the site's trial is the trial of both. */
  mayProbe(path: string): boolean | Promise<boolean> {
    const keys = this.#mirror.openKeys(this.#target, path);
    const [key] = keys;
    if (key === undefined || keys.some((each) => this.#trials.has(each))) return true;
    return keys.every((each) => this.#mirror.leftMs(each) <= 0) && this.#seekTrial(key, path);
  }

  retryAfterMs(path: string): number {
    const keys = this.#mirror.openKeys(this.#target, path);
    const leftMs = Math.max(0, ...keys.map((key) => this.#mirror.leftMs(key)));
    return leftMs > 0 ? leftMs : LIMITS.breaker.trialWaitMs;
  }

  end(end: ProbeEnd): void {
    const { site, domain, provider } = this.#target;
    for (const { token, path } of this.#trials.values())
      this.#mirror.report({ type: "tried", token, end: trialEnd(end, path, domain) });
    if (end.kind !== "blocked" && end.kind !== "passed") return;
    const { path } = end;
    // The probe was in flight when the breaker opened: it answers its row, but only the trial decides now.
    if ([...this.#trials.values()].some((trial) => trial.path === path) || this.stateOf(path) === "open")
      return;
    if (end.kind === "passed") {
      if (this.stateOf(path) === "watched") this.#mirror.report({ type: "passed", site, path, domain });
      return;
    }
    const { early, rule, reply } = end;
    // The main thread will say so too.
    this.#mirror.watch(breakerKey(site, path));
    this.#mirror.report({ type: "blocked", block: { site, path, domain, provider, early, rule, reply } });
  }

  async #seekTrial(key: string, path: string): Promise<boolean> {
    const { token, free, dueInMs } = await this.#mirror.requestTrial(key);
    // The domain's own may be open still.
    if (free)
      return this.#mirror.openKeys(this.#target, path).every((each) => each === key) || this.mayProbe(path);
    if (token === null) {
      this.#mirror.postpone(key, dueInMs);
      return false;
    }
    this.#mirror.postpone(key, LIMITS.breaker.trialWaitMs);
    this.#trials.set(key, { path, token });
    this.trialUntil = this.#mirror.clock.monotonic() + LIMITS.breaker.trialMs;
    return true;
  }
}

/** The probe's result for the route whose trial it was: it may have continued over another route. */
function trialEnd(end: ProbeEnd, path: string, domain: string): TrialEnd {
  if (end.kind === "inconclusive" || end.kind === "ours") return { kind: end.kind };
  if (end.path !== path) return { kind: "inconclusive" };
  if (end.kind === "passed") return { kind: "passed" };
  return { kind: "blocked", domain, early: end.early, reply: end.reply };
}

export function createBreaker(deps: BreakerMirrorDeps): Breaker {
  return new BreakerMirror(deps);
}
