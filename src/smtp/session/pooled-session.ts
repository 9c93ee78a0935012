import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { SessionEnd } from "../wire/handshake.ts";
import type { Backlog } from "./backlog.ts";
import type { BatchProgress, TransactionEnd } from "./batch.ts";
import { saysCrowded } from "./crowding.ts";
import { type RcptJob, type ServingSession, sessionFailure } from "./rcpt-job.ts";
import type { Session, SessionHandler } from "./session.ts";
import { isNearlyExhausted, isRecipientLimit, isSetUpExpensive, parseNamedLimit } from "./session-limits.ts";
import type { SessionTraffic } from "./session-traffic.ts";
import { isRejection, SessionUse, type SessionUseOwner } from "./session-use.ts";

/** The MX host as its sessions see it. */
export interface SessionOwner extends SessionUseOwner {
  readonly backlog: Backlog;
  readonly clock: Clock;
  readonly traffic: SessionTraffic;
  /** An opening was refused recently. */
  isCautious(now: number): boolean;
  /** @param now see `SessionHandler.onBatch` */
  onReady(session: PooledSession, now: number): void;
  /** A batch completed. */
  onBatchDone(session: PooledSession, now: number): void;
  /** The connection is closed. */
  onSessionClosed(session: PooledSession, end: SessionEnd): void;
  /** The server says that too many connections are open. */
  onCrowded(): void;
}

/** A quoted local part may hold sentences, which servers repeat without the quotes. */
const isQuoted = ({ mailbox }: RcptJob) => mailbox.address.startsWith('"');

/**
 * Shared and empty: V8 gives a growing array room for sixteen elements. With one address a write, that is most of a write's
 * garbage.
 */
const NO_JOBS: readonly RcptJob[] = [];

const takeAny = (backlog: Backlog) => backlog.take();

/** A session that returns fewer ends than transactions is our bug; its jobs must end all the same. */
const MISSING_END: TransactionEnd = {
  kind: "failure",
  stage: "rcpt",
  cause: "protocol",
  detail: "no end",
  blame: "own",
};

/** A session with the pool's counters: it takes jobs from the host's backlog and settles them. */
export class PooledSession implements SessionHandler, ServingSession {
  readonly openedAt: number;
  readyAt = 0;
  idleSince: number;
  isReady = false;
  /** Close after the current batch. */
  isRetiring = false;
  readonly #owner: SessionOwner;
  readonly #session: Session;
  readonly #use: SessionUse;
  #jobs = NO_JOBS;
  /** About the current batch. */
  #hasDeadlines = false;
  #expiredAt = 0;
  #writtenAt = 0;
  #pipelined = false;

  constructor(owner: SessionOwner, dial: (handler: SessionHandler) => Session) {
    this.#owner = owner;
    this.#use = new SessionUse(owner);
    this.openedAt = owner.clock.monotonic();
    this.idleSince = this.openedAt;
    this.#session = dial(this);
  }

  get stage() {
    return this.#session.stage;
  }

  get endpoint() {
    return this.#session.endpoint;
  }

  get connectedAt(): number {
    return this.#session.connectedAt;
  }

  get greetedAt(): number {
    return this.#session.greetedAt;
  }

  get securedAt(): number {
    return this.#session.securedAt;
  }

  get secure(): boolean {
    return this.#session.secure;
  }

  get pipelining(): boolean {
    return this.#session.capabilities.pipelining;
  }

  /** True when the next transaction would hit a limit of the server, or the session should close. */
  get isExhausted(): boolean {
    return this.isRetiring || (this.#use.served > 0 && this.#use.remaining() <= 0);
  }

  /** Takes a batch and writes it. @param now `clock.monotonic()` @returns false when there was nothing to take. */
  dispatch(now: number): boolean {
    const special = this.#owner.backlog.hasSpecial ? this.#takeSpecial(now) : undefined;
    const jobs = special === undefined ? this.#takeBatch(now) : [special];
    if (jobs.length === 0) {
      this.idleSince = now;
      return false;
    }
    this.#hasDeadlines = false;
    for (const job of jobs) {
      if (job.deadlineAt !== Number.POSITIVE_INFINITY) this.#hasDeadlines = true;
      job.onTaken(now, this);
    }
    this.#expiredAt = now;
    const careful = special?.isLockStep === true;
    this.#jobs = jobs;
    this.#writtenAt = now;
    this.#pipelined = !careful && this.pipelining;
    this.#session.run(jobs, careful, now);
    return true;
  }

  /** A job that is written alone: in lock step, or first on a new session. */
  #takeSpecial(now: number): RcptJob | undefined {
    const isNew = this.#use.served === 0;
    const careful = this.#takeOne(now, (backlog) => backlog.takeForLockStep(isNew));
    return careful ?? (isNew ? this.#takeOne(now, (backlog) => backlog.takeForNewSession()) : undefined);
  }

  #takeOne(now: number, take: (backlog: Backlog) => RcptJob | undefined): RcptJob | undefined {
    for (;;) {
      const job = take(this.#owner.backlog);
      if (job === undefined || this.#maySend(job, now)) return job;
    }
  }

  #takeBatch(now: number): readonly RcptJob[] {
    const room = this.#writeCapacity(now);
    if (room === 1) {
      const job = this.#takeOne(now, takeAny);
      return job === undefined ? NO_JOBS : [job];
    }
    const jobs: RcptJob[] = [];
    while (jobs.length < room) {
      const job = this.#owner.backlog.take();
      if (job === undefined) break;
      if (this.#maySend(job, now)) jobs.push(job);
    }
    return jobs;
  }

  /**
   * Ends jobs past their deadline and cancelled jobs without waiting for the server's reply to them. Where no job has a
   * deadline (bulk rows), it runs once in `LIMITS.smtp.patientSweepMs`.
   * @param includePatient run now even then
   */
  expire(now: number, includePatient: boolean): void {
    if (!includePatient && !this.#hasDeadlines && now - this.#expiredAt < LIMITS.smtp.patientSweepMs) return;
    this.#expiredAt = now;
    for (const job of this.#jobs) {
      if (job.cancelled()) job.settle(sessionFailure(this.stage, "cancelled", "cancelled"), this.secure, now);
      else if (job.deadlineAt <= now)
        job.settle(sessionFailure(this.stage, "timeout", "deadline"), this.secure, now);
    }
  }

  quit(): void {
    this.#session.quit();
  }

  destroy(end: SessionEnd): void {
    this.#session.destroy();
    const now = this.#owner.clock.monotonic();
    for (const job of this.#jobs) job.settle(end, this.secure, now);
    this.#jobs = NO_JOBS;
  }

  onReady(): void {
    this.isReady = true;
    this.readyAt = this.#owner.clock.monotonic();
    this.#use.onGreeted(this.#session.mta, this.readyAt);
    this.#owner.onReady(this, this.readyAt);
  }

  onBatch(ends: readonly TransactionEnd[], late: BatchProgress | null, now: number): void {
    if (this.#use.learnFromBatch(ends, late, now)) this.isRetiring = true;
    this.#settleJobs(ends, now);
    this.#use.extend(now);
    if (this.#use.remaining() <= 0 || this.#shouldRetire(now)) this.isRetiring = true;
    this.#owner.onBatchDone(this, now);
  }

  /**
   * The session is further than any before it and replies become late: leave at once, since each reply of the write may be
   * as late.
   */
  onLate(progress: BatchProgress): boolean {
    return this.#use.isBeyondKnown(progress) && !this.#use.isSlow;
  }

  onClosed(end: SessionEnd, unfinished: readonly TransactionEnd[], progress: BatchProgress): void {
    if (unfinished.length > 0) {
      const now = this.#owner.clock.monotonic();
      this.#learnFromEnd(end, progress, now);
      this.#settleJobs(unfinished, now);
    }
    this.#owner.onSessionClosed(this, end);
  }

  /**
   * A new session would carry more, and there is enough work for it. Not where the site's servers taught us a limit,
   * because sessions must retry it now and then; nor where opening is slow or may be refused.
   */
  #shouldRetire(now: number): boolean {
    const { backlog, depth, learned: lessons } = this.#owner;
    if (!isNearlyExhausted(this.#use.rejections, this.#use.maxRejections(), depth.current)) return false;
    if (!this.pipelining || lessons.limits.hasHitLimit || backlog.length < depth.current) return false;
    const [setUpMs, roundTripMs] = [this.readyAt - this.openedAt, now - this.#writtenAt];
    return (
      !isSetUpExpensive(setUpMs, roundTripMs, this.#use.served, this.#use.rejections) &&
      !this.#owner.isCautious(now)
    );
  }

  /** Number of transactions that may be written now: never so many that they could exceed a limit. */
  #writeCapacity(now: number): number {
    if (!this.#session.capabilities.pipelining) return 1;
    const { depth, depthMax } = this.#owner;
    const left = Math.min(this.#use.remaining(), depthMax);
    if (left <= depth.current) return Math.max(1, left);
    return Math.min(left, depth.take(now));
  }

  /** The session ended during a batch: because of a limit, too many connections, or this very write. */
  #learnFromEnd(end: SessionEnd, progress: BatchProgress, now: number): void {
    const written = this.#jobs.length;
    const isTrusted = !this.#jobs.some(isQuoted);
    if (isTrusted && saysCrowded(end)) {
      this.#owner.onCrowded();
      this.#owner.depth.recordBreak(written, true, now);
      return;
    }
    const reply = end.kind === "reply" ? end.reply : progress.refused;
    const reason = isTrusted && reply !== null ? parseNamedLimit(reply) : null;
    this.#use.learnFromEnd(progress, written, reason, now);
  }

  #maySend(job: RcptJob, now: number): boolean {
    if (job.cancelled())
      job.settle(sessionFailure("mail", "cancelled", "cancelled before MAIL"), this.secure, now);
    else if (job.deadlineAt <= now)
      job.settle(sessionFailure("mail", "timeout", "deadline"), this.secure, now);
    else if (job.mailbox.utf8 && !this.#session.capabilities.smtputf8)
      job.settle(sessionFailure("mail", "smtputf8_missing", "SMTPUTF8 is not offered"), this.secure, now);
    return !job.isSettled;
  }

  #settleJobs(ends: readonly TransactionEnd[], now: number): void {
    const jobs = this.#jobs;
    let back = NO_JOBS;
    let again = NO_JOBS;
    this.#jobs = NO_JOBS;
    let answered = 0;
    for (let index = 0; index < jobs.length; index++) {
      const job = jobs[index] as RcptJob;
      const end = ends[index] ?? MISSING_END;
      if (end.kind === "reply") answered++;
      if (end.kind === "reply" && end.reply.code < 300) {
        // Nearly all ends are replies.
        job.settle(end, this.secure, now);
        continue;
      }
      if (isRejection(end)) this.#use.rejections++;
      const crowded = !isQuoted(job) && saysCrowded(end);
      if (crowded) this.#retireAsCrowded();
      const blame = end.kind === "failure" ? end.blame : "own";
      if (blame === "not_reached" && job.mayRequeue()) back = [...back, job];
      else if (blame !== "own" && job.mayRetryInLockStep()) this.#owner.backlog.addForLockStep(job);
      else if (crowded && job.mayRetryAfterCrowding()) again = [...again, job];
      else if (this.#isStale(end, index) && job.mayRetry()) this.#owner.backlog.addForNewSession(job);
      else job.settle(end, this.secure, now);
    }
    this.#use.served += jobs.length;
    this.#count(jobs.length, answered, now);
    this.#owner.backlog.putBack(back);
    for (const job of again) this.#owner.backlog.retry(job);
  }

  #count(transactions: number, answered: number, now: number): void {
    const { traffic } = this.#owner;
    traffic.transactions += transactions;
    if (answered > 0) traffic.answered.observe((now - this.#writtenAt) / 1_000, answered);
    if (!this.#pipelined) return;
    traffic.writes++;
    traffic.groups += transactions;
  }

  /** This session is one connection too many: the working sessions take over its jobs. */
  #retireAsCrowded(): void {
    this.isRetiring = true;
    this.#owner.onCrowded();
  }

  /**
   * The end is about a session that had served others before, not about the recipient: closed, 421, silence, or a recipient
   * limit. On the first transaction of a session it is about the recipient.
   */
  #isStale(end: TransactionEnd, index: number): boolean {
    if (this.#use.served + index === 0) return false;
    if (end.kind === "reply") return isRecipientLimit(end.reply) || end.reply.code === 421;
    return end.blame !== "not_reached" && (end.cause === "closed" || end.cause === "timeout");
  }
}
