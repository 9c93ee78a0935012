import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import { PassingSet } from "../core/passing-set.ts";
import { endOfCall } from "../core/turns.ts";
import { Backlog } from "./backlog.ts";
import { mayBeCrowded, saysCrowded } from "./crowding.ts";
import { Depth } from "./depth.ts";
import { Growth } from "./growth.ts";
import type { SessionEnd } from "./handshake.ts";
import { failed, type Job } from "./job.ts";
import type { SiteLessons } from "./lessons.ts";
import type { SitePolicy, TlsPolicy } from "./policy.ts";
import { PooledSession, type SessionOwner } from "./pooled-session.ts";
import type { Session, SessionHandler } from "./session.ts";
import type { SlotSource } from "./slots.ts";
import type { Traffic } from "./traffic.ts";

export interface MxHostDeps {
  site: string;
  /** Key of the slots that its connections take. */
  cap: string;
  /** Name of the egress route to the address. */
  path: string;
  policy: SitePolicy;
  clock: Clock;
  slots: SlotSource;
  /** Bound of sessions per thread: `take` is false when there is no room; `give` follows each one granted. */
  room: { take(host: MxHost): boolean; give(): void };
  dial(tls: TlsPolicy, handler: SessionHandler): Session;
  /** What the site's servers have taught so far; its other hosts share it. */
  lessons: SiteLessons;
  /** Where what its sessions write counts. */
  traffic: Traffic;
  onOpened(): void;
  /** The server has no room for as many connections as there are. */
  onCrowded(): void;
  onClosed(end: SessionEnd, wasReady: boolean): void;
}

/**
 * One MX host (host, address, port, source, TLS policy): its backlog and the sessions that pull from it.
 *
 * A session comes to life as: room in the thread → slot of the cap → dial → ready → batches of up to `depth` jobs →
 * idle → QUIT → slot released. The first session of a host waits for its slot and so presses those who hold one;
 * further ones take a slot only where one is free, so that holders do not take turns at robbing each other.
 */
export class MxHost implements SessionOwner {
  policy: SitePolicy;
  readonly depth: Depth;
  readonly lessons: SiteLessons;
  readonly traffic: Traffic;
  readonly backlog = new Backlog();
  readonly clock: Clock;
  readonly site: string;
  readonly cap: string;
  readonly #deps: MxHostDeps;
  readonly #sessions = new PassingSet<PooledSession>();
  /** The longest idle one first. */
  readonly #idle: PooledSession[] = [];
  readonly #growth = new Growth();
  /** STARTTLS is offered but broken here. */
  #plain = false;
  /** null while no session has got far enough to be told. */
  #pipelining: boolean | null = null;
  /** Since when openings have been refused for too many connections while none worked here; null: they are not. */
  #crowdedSince: number | null = null;
  /** With what, while the next opening is not yet tried. */
  #crowdedBy: SessionEnd | null = null;
  /** Sessions that leave so that a new one can come. */
  readonly #makingWay = new Set<PooledSession>();
  /** Sessions to give up for others that wait for a slot. */
  #owed = 0;
  /** Of those, such as need not have served for long. */
  #owedSoon = 0;
  #pumping = false;
  #closed = false;
  #emptySince: number;

  constructor(deps: MxHostDeps) {
    this.#deps = deps;
    this.clock = deps.clock;
    this.site = deps.site;
    this.cap = deps.cap;
    this.policy = deps.policy;
    this.lessons = deps.lessons;
    this.traffic = deps.traffic;
    this.depth = new Depth(deps.lessons.depth);
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

  /** Transactions in one write that a session is good for: the most allowed until the server shows otherwise. */
  get promisedDepth(): number {
    if (this.#pipelining === false) return 1;
    return this.depth.promised(this.depthMax);
  }

  enqueue(job: Job): void {
    if (job.hurried && this.#crowdedBy !== null && this.#sessions.size === 0) {
      const now = this.clock.monotonic();
      if (!this.#growth.allows(now, false)) {
        job.settle(this.#crowdedBy, false, now);
        return;
      }
    }
    if (job.urgent) this.backlog.putBack([job]);
    else this.backlog.add(job);
    this.pumpSoon();
  }

  /** At the end of the present turn, so that jobs which come together go out together. */
  pumpSoon(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    endOfCall(this.#pumpNow);
  }

  readonly #pumpNow = (): void => {
    this.#pumping = false;
    this.#pump();
  };

  /** Gives one idle session back. @returns false when none is idle. */
  giveIdle(): boolean {
    const session = this.#idle.shift();
    session?.quit();
    return session !== undefined;
  }

  /** Gives one session back once it is free, also one that opens. @returns false when there is none left to give. */
  oweOne(soon: boolean): boolean {
    if (this.#owed >= this.#sessions.size) return false;
    this.#owed++;
    if (soon) this.#owedSoon++;
    return true;
  }

  /**
   * Deadlines, cancellations, idle sessions. Called every `LIMITS.smtp.sweepMs`.
   * @param everybody all who wait are looked at: who goes does not wait for patient rows that nobody waits for
   * @returns false when nothing of this host is worth remembering any more.
   */
  sweep(now: number, everybody: boolean): boolean {
    // Most hosts: a thread knows those of the last minutes, and nothing is under way at them.
    if (this.isEmpty()) return now - this.#emptySince < LIMITS.smtp.hostMemoryMs;
    this.#prune(now, everybody);
    for (const session of this.#sessions.items) session.expire(now, everybody);
    while (this.#idle[0] && now - this.#idle[0].idleSince >= LIMITS.smtp.idleSessionMs) this.giveIdle();
    if (this.backlog.length > 0 && this.#couldPump(now)) this.pumpSoon();
    if (!this.isEmpty()) this.#emptySince = now;
    return now - this.#emptySince < LIMITS.smtp.hostMemoryMs;
  }

  /** Who waits here to go out by `path`, about `domain` if it is not "", is turned back; what was sent goes on. */
  holdBack(path: string, domain: string): void {
    this.backlog.holdBack(path, domain, this.clock.monotonic());
    // Where each route has a cap of its own, no session leaves by another than the host's.
    if (path === this.#deps.path || this.cap !== this.site) return;
    // Jobs that were let in by our own route would go on leaving by `path` on sessions to another address of the host.
    for (const session of this.#sessions.items)
      if (session.stage === "connect" || session.endpoint.path === path) session.spent = true;
  }

  isEmpty(): boolean {
    return this.backlog.length === 0 && this.#sessions.size === 0 && this.#growth.acquiring === 0;
  }

  close(): void {
    this.#closed = true;
    this.#idle.length = 0;
    const end = failed("connect", "cancelled", "the pool closes");
    this.backlog.fail(end, false, this.clock.monotonic());
    for (const session of [...this.#sessions.items]) {
      session.destroy(end);
      this.#letGo(session, end);
    }
  }

  isWary(now: number): boolean {
    return this.#growth.isWary(now);
  }

  onReady(session: PooledSession, now: number): void {
    this.#growth.opened(now);
    this.#pipelining = session.pipelining;
    this.#crowdedSince = null;
    this.#crowdedBy = null;
    this.#deps.onOpened();
    this.#next(session, now);
  }

  onFree(session: PooledSession, now: number): void {
    this.#payDebt(session, now);
    if (!session.spent && this.#mustMakeWay(false)) this.#makeWay(session);
    this.#next(session, now);
  }

  onCrowded(): void {
    this.#growth.crowded(this.clock.monotonic(), this.#working > 1);
    this.#deps.onCrowded();
  }

  onGone(session: PooledSession, end: SessionEnd): void {
    const at = this.#idle.indexOf(session);
    if (at >= 0) this.#idle.splice(at, 1);
    if (!session.ready && this.#fallsBackToPlain(end)) {
      this.#growth.opening--;
      this.#sessions.delete(session);
      this.#dial();
      return;
    }
    // Told before the slot is given back: it counts among those that are too many.
    if (!session.ready && this.#isCrowdedBy(end)) this.#deps.onCrowded();
    this.#letGo(session, end);
    if (!session.ready) this.#openFailed(end, session.secure);
    this.pumpSoon();
  }

  /** A session that is closed anyway pays for the one that others wait for. */
  #payDebt(session: PooledSession, now: number): void {
    if (this.#owed === 0) return;
    const served = now - session.openedAt >= LIMITS.smtp.slotTenureMs;
    if (!session.spent && !served && this.#owedSoon === 0) return;
    this.#payOne();
    session.spent = true;
  }

  #next(session: PooledSession, now: number): void {
    if (session.spent) session.quit();
    else if (!session.dispatch(now)) this.#rest(session);
    if (this.backlog.length > 0 && this.#couldPump(now)) this.pumpSoon();
  }

  /** Nothing to do: back with it where somebody waits for the slot, else it is kept for the next. */
  #rest(session: PooledSession): void {
    if (this.#owed === 0) {
      this.#idle.push(session);
      return;
    }
    this.#payOne();
    session.spent = true;
    session.quit();
  }

  #payOne(): void {
    this.#owed--;
    if (this.#owedSoon > 0) this.#owedSoon--;
  }

  /** Nearly always sessions are at work, no further one is to be had now, and a pump for each answer would find nothing to do. */
  #couldPump(now: number): boolean {
    return this.#idle.length > 0 || this.backlog.forFresh > 0 || this.#wantsAnother(now);
  }

  #pump(): void {
    if (this.#closed) return;
    const now = this.clock.monotonic();
    while (this.#idle.length > 0 && this.backlog.forAny > 0) {
      const session = this.#idle.pop();
      if (session?.isExhausted) session.quit();
      else if (session && !session.dispatch(now)) this.#idle.push(session);
    }
    while (this.#wantsAnother(now) && this.#deps.room.take(this)) {
      this.#acquire(this.#sessions.size === 0 && this.#growth.acquiring === 0);
    }
    while (this.#mustMakeWay(true)) {
      const session = this.#idle.shift();
      if (session === undefined) return;
      this.#makeWay(session);
      session.quit();
    }
  }

  /** More jobs wait for a new session than are on the way, and there is no room for one beside those that are here. */
  #mustMakeWay(idle: boolean): boolean {
    if (this.backlog.forFresh <= this.#makingWay.size + this.#growth.coming) return false;
    return this.#isFull() || this.#growth.isStuck(this.clock.monotonic(), idle);
  }

  #makeWay(session: PooledSession): void {
    session.spent = true;
    this.#makingWay.add(session);
  }

  #wantsAnother(now: number): boolean {
    if (this.#isFull() || this.backlog.length <= this.#growth.coming * this.depth.now) return false;
    return this.#growth.allows(now, this.#sessions.size > 0);
  }

  #isFull(): boolean {
    return this.#sessions.size + this.#growth.acquiring >= this.policy.maxConnections;
  }

  #acquire(press: boolean): void {
    this.#growth.acquiring++;
    const since = this.clock.monotonic();
    this.#deps.slots.acquire(this.cap, this.policy.maxConnections, press ? LIMITS.smtp.slotWaitMs : 0).then(
      (granted) => this.#acquired(granted, press, since),
      () => this.#acquired(false, press, since),
    );
  }

  #acquired(granted: boolean, press: boolean, since: number): void {
    const now = this.clock.monotonic();
    if (granted) {
      this.#growth.slotGranted();
      // Nobody is called for those whom nobody waits for.
      this.#prune(now, true);
      if (this.#closed || this.backlog.length === 0) this.#release();
      else this.#dial();
      return;
    }
    this.#growth.slotRefused(now);
    this.#deps.room.give();
    if (!press || this.#sessions.size > 0) {
      if (this.backlog.forFresh > 0) this.pumpSoon();
      return;
    }
    const end = failed("connect", "no_slot", "no connection slot of the site came free");
    this.backlog.fail(end, false, now, since);
    this.pumpSoon();
  }

  #release(): void {
    this.#deps.slots.release(this.cap);
    this.#deps.room.give();
    this.#growth.slotReleased();
  }

  #dial(): void {
    this.#growth.opening++;
    const tls = this.#plain ? "never" : this.policy.tls;
    this.#sessions.add(new PooledSession(this, (handler) => this.#deps.dial(tls, handler)));
  }

  /** With opportunistic TLS a broken handshake costs one new connection in clear, on the same slot. */
  #fallsBackToPlain(end: SessionEnd): boolean {
    if (end.kind !== "failure" || end.stage !== "starttls" || end.cause === "protocol") return false;
    if (this.policy.tls !== "opportunistic" || this.#plain || this.#closed) return false;
    this.#plain = true;
    return true;
  }

  /** Sessions through their handshake; one that is just being let go counts as what it was. */
  get #working(): number {
    return this.#sessions.size - this.#growth.opening;
  }

  #isCrowdedBy(end: SessionEnd): boolean {
    return saysCrowded(end) || (this.#working > 0 && mayBeCrowded(end));
  }

  #openFailed(end: SessionEnd, secure: boolean): void {
    const working = this.#sessions.size - (this.#growth.opening - 1);
    const now = this.clock.monotonic();
    if (!this.#growth.openFailed(now, working)) return;
    // The connections that are too many may be ours: to other hosts of the site, of other threads or processes.
    if (saysCrowded(end)) this.#crowdedSince ??= now;
    const crowdedMs = now - (this.#crowdedSince ?? now);
    if (saysCrowded(end) && crowdedMs < LIMITS.learnt.crowdedPatienceMs) {
      this.#growth.pause(now, crowdedMs);
      this.#crowdedBy = end;
      this.backlog.failHurried(end, secure, now);
    } else this.backlog.fail(end, secure, now);
  }

  #letGo(session: PooledSession, end: SessionEnd): void {
    this.#sessions.delete(session);
    const madeWay = this.#makingWay.delete(session);
    if (madeWay) this.#growth.madeWay();
    if (this.#owed > 0 && (madeWay || !session.spent)) this.#payOne();
    this.#owed = Math.min(this.#owed, this.#sessions.size);
    this.#owedSoon = Math.min(this.#owedSoon, this.#owed);
    this.#deps.onClosed(end, session.ready);
    this.#release();
  }

  #prune(now: number, everybody: boolean): void {
    let opening: PooledSession | undefined;
    let working = false;
    for (const session of this.#sessions.items) {
      if (session.ready) working = true;
      else opening = session;
    }
    // Where sessions work, who waited too long waited for our cap, not for their server.
    if (opening === undefined || working) this.backlog.expire(now, "connect", "no_slot", everybody);
    else this.backlog.expire(now, opening.stage, "timeout", everybody);
  }
}
