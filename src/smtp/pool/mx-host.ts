import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { runAfterCurrentCall } from "../../platform/time/ticks.ts";
import { Backlog } from "../session/backlog.ts";
import { mayBeCrowded, RefusedOpenings, saysCrowded } from "../session/crowding.ts";
import type { LearnedSiteLimits } from "../session/learned-site-limits.ts";
import { PipelineDepth } from "../session/pipeline-depth.ts";
import { PooledSession, type SessionOwner } from "../session/pooled-session.ts";
import { type RcptJob, sessionFailure } from "../session/rcpt-job.ts";
import { SessionGrowth } from "../session/session-growth.ts";
import type { SessionTraffic } from "../session/session-traffic.ts";
import type { SessionEnd } from "../wire/handshake.ts";
import type { SitePolicy } from "../wire/policy.ts";
import type { MxHostDeps } from "./mx-host-deps.ts";
import { OwedSessions } from "./owed-sessions.ts";

/**
 * One MX host (host, address, port, source, TLS policy): its backlog and the sessions that pull from it.
 *
 * A session runs through: room in the thread → slot of the cap → dial → ready → batches of up to `depth` jobs → idle → QUIT
 * → slot released. The first session of a host waits for its slot, which asks the holders to give one back. Further
 * sessions take a slot only where one is free, so that holders do not keep taking slots from each other.
 */
export class MxHost implements SessionOwner {
  policy: SitePolicy;
  readonly depth: PipelineDepth;
  readonly learned: LearnedSiteLimits;
  readonly traffic: SessionTraffic;
  readonly backlog = new Backlog();
  readonly clock: Clock;
  readonly site: string;
  readonly cap: string;
  readonly #deps: MxHostDeps;
  readonly #sessions = new Set<PooledSession>();
  /** Idle sessions, the longest idle first. */
  readonly #idle: PooledSession[] = [];
  readonly #growth = new SessionGrowth();
  /** The server offers STARTTLS but it fails. */
  #isTlsBroken = false;
  /** null until a session has seen the EHLO reply. */
  #pipelining: boolean | null = null;
  readonly #refused = new RefusedOpenings();
  /** Sessions that close to make room for a new one. */
  readonly #sessionsToReplace = new Set<PooledSession>();
  readonly #owed = new OwedSessions();
  #isPumpScheduled = false;
  #closed = false;
  #emptySince: number;

  constructor(deps: MxHostDeps) {
    this.#deps = deps;
    this.clock = deps.clock;
    this.site = deps.site;
    this.cap = deps.cap;
    this.policy = deps.policy;
    this.learned = deps.learned;
    this.traffic = deps.traffic;
    this.depth = new PipelineDepth(deps.learned.depth);
    this.#emptySince = deps.clock.monotonic();
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  get idle(): number {
    return this.#idle.length;
  }

  get depthMax(): number {
    return Math.min(this.policy.pipelineDepthMax, LIMITS.smtp.pipelineDepthMax);
  }

  /** Transactions that one write of a session takes: the policy's maximum until the server shows otherwise. */
  get expectedDepth(): number {
    if (this.#pipelining === false) return 1;
    return this.depth.expected(this.depthMax);
  }

  enqueue(job: RcptJob): void {
    const refusal = this.#refused.end;
    if (job.isInteractive && refusal !== null && this.#sessions.size === 0) {
      const now = this.clock.monotonic();
      if (this.#growth.pending === 0 && !this.#growth.mayOpen(now, false)) {
        job.settle(refusal, false, now);
        return;
      }
    }
    if (job.urgent) this.backlog.putBack([job]);
    else this.backlog.add(job);
    this.schedulePump();
  }

  /** Runs at the end of the current tick, so that jobs which arrive together go out together. */
  schedulePump(): void {
    if (this.#isPumpScheduled) return;
    this.#isPumpScheduled = true;
    runAfterCurrentCall(this.#pumpNow);
  }

  readonly #pumpNow = (): void => {
    this.#isPumpScheduled = false;
    this.#pump();
  };

  /** Closes one idle session. @returns false when no session is idle */
  quitIdleSession(): boolean {
    const session = this.#idle.shift();
    session?.quit();
    return session !== undefined;
  }

  /**
   * Promises one session, opening ones included, to be closed once it is free. @returns false when all are promised
   * already.
   */
  oweSession(isSoon: boolean): boolean {
    return this.#owed.add(isSoon, this.#sessions.size);
  }

  /**
   * Handles deadlines, cancellations and idle sessions. Called every `LIMITS.smtp.sweepMs`.
   * @param includePatient checks all waiting jobs: a drain must not wait for cancelled bulk rows
   * @returns false when this host need not be remembered
   */
  sweep(now: number, includePatient: boolean): boolean {
    // Most hosts take this path: a thread remembers the hosts of the last minutes, and most have no work.
    if (this.isEmpty()) return now - this.#emptySince < LIMITS.smtp.hostMemoryMs;
    this.#prune(now, includePatient);
    for (const session of this.#sessions) session.expire(now, includePatient);
    while (this.#idle[0] && now - this.#idle[0].idleSince >= LIMITS.smtp.idleSessionMs)
      this.quitIdleSession();
    if (this.backlog.length > 0 && this.#canMakeProgress(now)) this.schedulePump();
    if (!this.isEmpty()) this.#emptySince = now;
    return now - this.#emptySince < LIMITS.smtp.hostMemoryMs;
  }

  /** Ends the jobs that wait here for `routeName`, about `domain` unless it is ""; transactions already sent go on. */
  holdBack(routeName: string, domain: string): void {
    this.backlog.holdBack(routeName, domain, this.clock.monotonic());
    // If each route has its own cap, all sessions use the host's route.
    if (routeName === this.#deps.routeName || this.cap !== this.site) return;
    // Jobs admitted for our own route would otherwise still leave by `routeName`, on sessions to another address of the
    // host.
    for (const session of this.#sessions)
      if (session.stage === "connect" || session.endpoint.path === routeName) session.isRetiring = true;
  }

  isEmpty(): boolean {
    return this.backlog.length === 0 && this.#sessions.size === 0 && this.#growth.acquiring === 0;
  }

  close(): void {
    this.#closed = true;
    this.#idle.length = 0;
    const end = sessionFailure("connect", "cancelled", "the pool is closing");
    this.backlog.fail(end, false, this.clock.monotonic());
    for (const session of [...this.#sessions]) {
      session.destroy(end);
      this.#dropSession(session, end);
    }
  }

  isCautious(now: number): boolean {
    return this.#growth.isCautious(now);
  }

  onReady(session: PooledSession, now: number): void {
    this.#growth.onOpened(now);
    this.#pipelining = session.pipelining;
    this.#refused.forget();
    this.#deps.onOpened();
    this.#dispatchNext(session, now);
  }

  onBatchDone(session: PooledSession, now: number): void {
    this.#retireIfOwed(session, now);
    if (!session.isRetiring && this.#mustReplaceSession(false)) this.#replaceSession(session);
    this.#dispatchNext(session, now);
  }

  onCrowded(): void {
    this.#growth.onCrowded(this.clock.monotonic(), this.#workingSessions > 1);
    this.#deps.onCrowded();
  }

  onSessionClosed(session: PooledSession, end: SessionEnd): void {
    const at = this.#idle.indexOf(session);
    if (at >= 0) this.#idle.splice(at, 1);
    if (!session.isReady && this.#fallsBackToPlain(end)) {
      this.#growth.opening--;
      this.#sessions.delete(session);
      this.#dial();
      return;
    }
    // Report this before the slot is released: the slot counts among the connections that are too many.
    if (!session.isReady && this.#isCrowdedBy(end)) this.#deps.onCrowded();
    this.#dropSession(session, end);
    if (!session.isReady) this.#openFailed(end, session.secure);
    this.schedulePump();
  }

  /** A session that closes anyway settles one that is owed to others. */
  #retireIfOwed(session: PooledSession, now: number): void {
    if (this.#owed.count === 0) return;
    if (!session.isRetiring && !this.#owed.isDueFrom(now - session.openedAt)) return;
    this.#owed.settle();
    session.isRetiring = true;
  }

  #dispatchNext(session: PooledSession, now: number): void {
    if (session.isRetiring) session.quit();
    else if (!session.dispatch(now)) this.#keepIdle(session);
    if (this.backlog.length > 0 && this.#canMakeProgress(now)) this.schedulePump();
  }

  /** Nothing to do: closes the session when others wait for the slot, else keeps it for the next job. */
  #keepIdle(session: PooledSession): void {
    if (this.#owed.count === 0) {
      this.#idle.push(session);
      return;
    }
    this.#owed.settle();
    session.isRetiring = true;
    session.quit();
  }

  /** Usually sessions are busy and no further one can be opened, so a pump after each answer would find no work. */
  #canMakeProgress(now: number): boolean {
    return this.#idle.length > 0 || this.backlog.waitingForNewSession > 0 || this.#wantsSession(now);
  }

  #pump(): void {
    if (this.#closed) return;
    const now = this.clock.monotonic();
    while (this.#idle.length > 0 && this.backlog.readyForAnySession > 0) {
      const session = this.#idle.pop();
      if (session?.isExhausted) session.quit();
      else if (session && !session.dispatch(now)) this.#idle.push(session);
    }
    while (this.#wantsSession(now) && this.#deps.room.take(this)) {
      this.#acquire(this.#sessions.size === 0 && this.#growth.acquiring === 0);
    }
    while (this.#mustReplaceSession(true)) {
      const session = this.#idle.shift();
      if (session === undefined) return;
      this.#replaceSession(session);
      session.quit();
    }
  }

  /** More jobs need a new session than sessions are opening, and the present sessions leave no room for another. */
  #mustReplaceSession(idle: boolean): boolean {
    if (this.backlog.waitingForNewSession <= this.#sessionsToReplace.size + this.#growth.pending)
      return false;
    return this.#isFull() || this.#growth.isStuck(this.clock.monotonic(), idle);
  }

  #replaceSession(session: PooledSession): void {
    session.isRetiring = true;
    this.#sessionsToReplace.add(session);
  }

  #wantsSession(now: number): boolean {
    if (this.#isFull() || this.backlog.length <= this.#growth.pending * this.depth.current) return false;
    return this.#growth.mayOpen(now, this.#sessions.size > 0);
  }

  #isFull(): boolean {
    return this.#sessions.size + this.#growth.acquiring >= this.policy.maxConnections;
  }

  #acquire(mayWait: boolean): void {
    this.#growth.acquiring++;
    const since = this.clock.monotonic();
    this.#deps.slots.acquire(this.cap, this.policy.maxConnections, mayWait ? LIMITS.smtp.slotWaitMs : 0).then(
      (granted) => this.#onSlotResult(granted, mayWait, since),
      () => this.#onSlotResult(false, mayWait, since),
    );
  }

  #onSlotResult(granted: boolean, mayWait: boolean, since: number): void {
    if (granted) {
      this.#onSlotGranted();
      return;
    }
    const now = this.clock.monotonic();
    this.#growth.onSlotRefused(now);
    this.#deps.room.give();
    if (!mayWait || this.#sessions.size > 0) {
      if (this.backlog.waitingForNewSession > 0) this.schedulePump();
      return;
    }
    const end = sessionFailure("connect", "no_slot", "no connection slot of the site became free");
    this.backlog.fail(end, false, now, since);
    this.schedulePump();
  }

  #onSlotGranted(): void {
    this.#growth.onSlotGranted();
    // Do not dial for cancelled jobs.
    this.#prune(this.clock.monotonic(), true);
    if (this.#closed || this.backlog.length === 0) this.#release();
    else this.#dial();
  }

  #release(hasWorked = false): void {
    this.#deps.slots.release(this.cap, hasWorked);
    this.#deps.room.give();
    this.#growth.onSlotReleased();
  }

  #dial(): void {
    this.#growth.opening++;
    const tls = this.#isTlsBroken ? "never" : this.policy.tls;
    this.#sessions.add(new PooledSession(this, (handler) => this.#deps.dial(tls, handler)));
  }

  /**
   * True when the host is retried without TLS: with opportunistic TLS a failed handshake costs one new connection in clear
   * text, on the same slot.
   */
  #fallsBackToPlain(end: SessionEnd): boolean {
    if (end.kind !== "failure" || end.stage !== "starttls" || end.cause === "protocol") return false;
    if (this.policy.tls !== "opportunistic" || this.#isTlsBroken || this.#closed) return false;
    this.#isTlsBroken = true;
    return true;
  }

  /** Sessions past their handshake. A session that is being dropped still counts. */
  get #workingSessions(): number {
    return this.#sessions.size - this.#growth.opening;
  }

  #isCrowdedBy(end: SessionEnd): boolean {
    return saysCrowded(end) || (this.#workingSessions > 0 && mayBeCrowded(end));
  }

  #openFailed(end: SessionEnd, secure: boolean): void {
    const working = this.#sessions.size - (this.#growth.opening - 1);
    const now = this.clock.monotonic();
    if (!this.#growth.onOpenFailed(now, working)) return;
    // The excess connections may be ours: to other hosts of the site, from other threads or processes.
    const refusedMs = saysCrowded(end) ? this.#refused.add(end, now) : null;
    if (refusedMs === null) {
      this.backlog.fail(end, secure, now);
      return;
    }
    this.#growth.pause(now, refusedMs);
    this.#takeOver(end, secure, now);
  }

  /**
   * The connections that are too many may be those of our other threads. When a request waits, one of them is closed and
   * this host dials instead. Where there is none, the requests get the server's reply.
   */
  #takeOver(end: SessionEnd, secure: boolean, now: number): void {
    if (!this.backlog.hasInteractive) return;
    if (!this.#refused.countTakeOver() || !this.#deps.room.take(this)) {
      this.backlog.failInteractive(end, secure, now);
      return;
    }
    this.#growth.acquiring++;
    const refuse = () => {
      this.#growth.acquiring--;
      this.#deps.room.give();
      this.backlog.failInteractive(end, secure, this.clock.monotonic());
    };
    this.#deps.slots
      .takeOver(this.cap, this.policy.maxConnections)
      .then((taken) => (taken ? this.#onSlotGranted() : refuse()), refuse);
  }

  #dropSession(session: PooledSession, end: SessionEnd): void {
    this.#sessions.delete(session);
    const madeWay = this.#sessionsToReplace.delete(session);
    if (madeWay) this.#growth.onSessionReplaced();
    if (this.#owed.count > 0 && (madeWay || !session.isRetiring)) this.#owed.settle();
    this.#owed.limitTo(this.#sessions.size);
    this.#deps.onClosed(end, session.isReady);
    this.#release(session.isReady);
  }

  #prune(now: number, includePatient: boolean): void {
    let opening: PooledSession | undefined;
    let working = false;
    for (const session of this.#sessions) {
      if (session.isReady) working = true;
      else opening = session;
    }
    // If sessions work, jobs that expired were waiting for our cap, not for the server.
    if (opening === undefined || working) this.backlog.expire(now, "connect", "no_slot", includePatient);
    else this.backlog.expire(now, opening.stage, "timeout", includePatient);
  }
}
